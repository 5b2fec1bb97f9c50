"""Fairness between connections."""

from __future__ import annotations

import math
from collections.abc import Sequence


def jain_index(throughputs: Sequence[float]) -> float:
    """Return Jain's fairness index, (Σx)² / (n·Σx²): 1 for equal throughputs, 1/n if one connection has all.

    Jain, Chiu and Hawe, DEC-TR-301 (1984), equation 1. All zero counts as equal. Raises ValueError if there is no
    throughput, or a negative one.
    """
    # Scaled by the largest, so that squares of rates neither underflow nor overflow.
    shares = _shares_of_the_largest(throughputs)
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


def max_min_index(throughputs: Sequence[float]) -> float:
    """Return the smallest throughput over the max-min fair one, the mean: 1 for equal throughputs, 0 for starvation.

    Max-min fairness gives all connections of one bottleneck the mean (RFC 5166, section 2.3). All zero counts as equal.
    Raises ValueError as `jain_index` does.
    """
    shares = _shares_of_the_largest(throughputs)
    return min(shares) * len(shares) / sum(shares)


def product_index(throughputs: Sequence[float]) -> float:
    """Return the geometric mean over the arithmetic mean: 1 for equal throughputs, 0 if a connection has nothing.

    The n-th root of the product measure (RFC 5166, section 2.3) over that of equal throughputs with the same sum. All
    zero counts as equal. Raises ValueError as `jain_index` does.
    """
    shares = _shares_of_the_largest(throughputs)
    if min(shares) == 0:
        return 0.0
    return math.exp(sum(math.log(share) for share in shares) / len(shares)) * len(shares) / sum(shares)


def _shares_of_the_largest(throughputs: Sequence[float]) -> list[float]:
    if not throughputs:
        raise ValueError("fairness needs at least one throughput")
    if any(value < 0 for value in throughputs):
        raise ValueError("a throughput cannot be negative")
    largest = max(throughputs)
    return [value / largest if largest > 0 else 1.0 for value in throughputs]
