"""Confidence intervals: distribution-free for the median, and Student's t for the mean.

Elapsed times of TCP transfers are clustered (one timeout more or less), so an interval that assumes a normal
distribution would be wrong; that of the median does not. Utilisations, loss rates and shares of many flows are sums,
and documents give the mean of their replications with the interval of Student's t.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import cache

from lasthop.stats.quantiles import quantile


def median_interval(ordered: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Return the order statistics that enclose the median with at least `confidence`, lower bound first.

    The number of values below the median is binomial(n, 1/2), so the k-th smallest and k-th largest enclose it with
    probability 1 − 2·P(B < k) (David and Nagaraja, Order Statistics, §7.1). k is the largest that keeps the confidence.
    With fewer than six values no k reaches 95 %, and the interval is from the smallest to the largest. Raises
    ValueError if there is no value.
    """
    n = len(ordered)
    if n == 0:
        raise ValueError("an interval needs at least one value")
    tail = (1 - confidence) / 2
    below, k = 0.0, 0
    while k < (n - 1) // 2 + 1:
        below += math.comb(n, k) / 2**n
        if below > tail:
            break
        k += 1
    rank = max(k, 1)
    return ordered[rank - 1], ordered[n - rank]


def two_medians_interval(ordered: Sequence[float], runs: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval for the median of `runs` further values of the population that `ordered` is a sample of.

    The share of a population below the median of n values has a standard deviation of 1/(2·√n) about one half, so the
    shares below two medians differ by √(1/n + 1/runs)/2 (David and Nagaraja, Order Statistics, §7.1 and §7.2). The
    interval is between the quantiles of `ordered` at one half minus and plus that difference times the normal deviate
    of `confidence`. Raises ValueError if either side has no value.
    """
    if not ordered or runs < 1:
        raise ValueError("an interval needs at least one value on each side")
    deviate = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    reach = min(0.5, deviate * 0.5 * math.sqrt(1 / len(ordered) + 1 / runs))
    return quantile(ordered, 0.5 - reach), quantile(ordered, 0.5 + reach)


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the interval that holds the mean of the population with `confidence`; None for fewer than two values.

    Mean ± t·s/√n with Student's t of n − 1 degrees of freedom (Jain, The Art of Computer Systems Performance
    Analysis, §13.2): exact for normal values, and asymptotically for others.
    """
    n = len(values)
    if n < 2:
        return None
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    reach = student_t(n - 1, confidence) * deviation / math.sqrt(n)
    return mean - reach, mean + reach


@cache
def student_t(freedom: int, confidence: float) -> float:
    """Return the two-sided quantile of Student's t: |T| < t with probability `confidence`, for `freedom` degrees."""
    low, high = 0.0, math.pi / 2
    # The probability is a closed, increasing function of the angle whose tangent is t/√freedom: bisection finds it.
    for _ in range(60):
        middle = (low + high) / 2
        if _within_angle(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _within_angle(angle: float, freedom: int) -> float:
    """Return A(t|ν) of Abramowitz and Stegun, equations 26.7.3 and 26.7.4, for the angle of t."""
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term, total = math.cos(angle) if odd else 1.0, 0.0
    for place in range(freedom // 2):
        total += term
        term *= square * (2 * place + 1 + odd) / (2 * place + 2 + odd)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
