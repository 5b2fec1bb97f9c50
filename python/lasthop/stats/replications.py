"""The summary of one measure over replications: the numbers that every measured row carries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lasthop.stats.intervals import mean_interval, median_interval
from lasthop.stats.quantiles import quantile


@dataclass(frozen=True, slots=True)
class Spread:
    """The number of values, their quartiles, extremes, median and mean, with 95 % confidence intervals.

    `ci95` (of the median) and `mean_ci95` are None if all values are equal or there is only one: an interval of zero
    width would claim that the next run must be equal too.
    """

    n: int
    median: float
    q25: float
    q75: float
    ci95: tuple[float, float] | None
    minimum: float
    maximum: float
    mean: float
    mean_ci95: tuple[float, float] | None


def spread(values: Sequence[float]) -> Spread:
    """Summarise the replications of one measure. Raises ValueError if there is no value, or one of them is NaN."""
    if any(math.isnan(value) for value in values):
        raise ValueError("a replication has no number (NaN)")
    ordered = sorted(values)
    differ = bool(ordered) and ordered[0] < ordered[-1]
    return Spread(
        n=len(ordered),
        median=quantile(ordered, 0.50),
        q25=quantile(ordered, 0.25),
        q75=quantile(ordered, 0.75),
        ci95=median_interval(ordered) if differ else None,
        minimum=ordered[0],
        maximum=ordered[-1],
        # Of the ordered values, so that the order of the replications does not change the last bit.
        mean=math.fsum(ordered) / len(ordered),
        mean_ci95=mean_interval(ordered) if differ else None,
    )
