"""Quantiles by one stated rule."""

from __future__ import annotations

import math
from collections.abc import Sequence

QUANTILE_RULE = "linear interpolation between order statistics (type 7 of Hyndman and Fan, 1996)"


def quantile(ordered: Sequence[float], p: float) -> float:
    """Return the `p` quantile (0 to 1) of values in ascending order.

    Hyndman and Fan (1996), type 7: position p·(n − 1) between the order statistics, the rule of NumPy, R and
    spreadsheets; the median of an even number of values is the mean of the middle two. Raises ValueError if there is
    no value.
    """
    if not ordered:
        raise ValueError("a quantile needs at least one value")
    position = p * (len(ordered) - 1)
    below = math.floor(position)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    # Rounding must not give a value above the neighbour.
    return min(low + (high - low) * (position - below), high)
