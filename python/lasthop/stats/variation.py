"""The variation of a rate, at any time scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise


def rate_variation(totals: Sequence[float], per_interval: int = 1) -> float:
    """Return the coefficient of variation of a rate: standard deviation over mean of the amounts per interval.

    `totals` are samples of a running total at equal times; an interval has `per_interval` samples, so that one series
    serves every multiple of its own time scale. An incomplete interval at the end is ignored. The deviation is that of
    the population (divided by n), as in Landström 2008, chapter 5. Raises ValueError if there are fewer than two
    intervals, or the mean is 0.
    """
    if per_interval < 1:
        raise ValueError("an interval is one sample long or more")
    steps = totals[::per_interval]
    added = [after - before for before, after in pairwise(steps)]
    if len(added) < 2:
        raise ValueError("a variation needs two intervals or more")
    mean = math.fsum(added) / len(added)
    if mean <= 0:
        raise ValueError("a rate of nothing has no variation")
    return math.sqrt(math.fsum((value - mean) ** 2 for value in added) / len(added)) / mean
