"""Whether the replications of a measure are precise enough."""

from __future__ import annotations

from lasthop.stats.replications import Spread

FEWEST = 6
"""Least number of values for which an interval of the median reaches 95 % (see `intervals`)."""


def is_narrow(found: Spread, within: float) -> bool:
    """Return whether both bounds of the median's 95 % interval are within the share `within` of the median.

    False for fewer than six replications, whose interval has less than 95 %. True for six or more equal ones.
    """
    low, high = found.ci95 or (found.median, found.median)
    reach = max(found.median - low, high - found.median)
    return found.n >= FEWEST and reach <= within * abs(found.median)
