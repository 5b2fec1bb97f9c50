"""Confidence intervals that assume nothing of the distribution.

Elapsed times of TCP transfers come in clumps (a timeout more, a timeout less), so an interval that leans on the
normal distribution would be wrong just where it matters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def median_interval(ordered: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Return the order statistics that hold the median with at least `confidence`.

    The number of values below the median is binomial(n, 1/2), so the k-th smallest and k-th largest enclose it with
    probability 1 − 2·P(B < k) (David and Nagaraja, Order Statistics, §7.1). Of all k the largest that keeps the
    confidence is taken. Under six values no k reaches 95 %: then the interval is all there is, smallest to largest.
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
