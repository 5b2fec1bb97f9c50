"""Quantiles by one stated rule, and the numbers that every measured row carries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lasthop.stats.intervals import mean_interval, median_interval

QUANTILE_RULE = "linear interpolation between order statistics (type 7 of Hyndman and Fan, 1996)"


def quantile(ordered: Sequence[float], p: float) -> float:
    """Return the `p` quantile (0 to 1) of values that are already in ascending order.

    Hyndman and Fan (1996), type 7: position p·(n − 1) between the order statistics, the rule of NumPy, R and
    spreadsheets; the median of an even number of values is the mean of the middle two.
    """
    if not ordered:
        raise ValueError("a quantile needs at least one value")
    position = p * (len(ordered) - 1)
    below = math.floor(position)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    # Rounding must not carry the value past its neighbour.
    return min(low + (high - low) * (position - below), high)


@dataclass(frozen=True, slots=True)
class Spread:
    """The median and the mean of some values with what says how far to trust them.

    `ci95` and `mean_ci95` are None where all values are the same, or there is one: an interval without width would
    claim that the next run must be the same too, which no sample can.
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
    """Summarise replications of one measure. Needs at least one value, none of them NaN."""
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
        # Of the ordered values, so that the order of replications does not matter to the last bit.
        mean=math.fsum(ordered) / len(ordered),
        mean_ci95=mean_interval(ordered) if differ else None,
    )
