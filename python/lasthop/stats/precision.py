"""Whether replications have told a measure closely enough."""

from __future__ import annotations

from lasthop.stats.replications import Spread

FEWEST = 6
"""Under six values no rank interval of the median reaches 95 % (see `intervals`)."""


def is_narrow(found: Spread, within: float) -> bool:
    """Return whether the 95 % interval of the median reaches no further than `within` times the median, to both sides.

    Fewer than six replications never do: their interval has less than 95 %. Six that are all the same do.
    """
    low, high = found.ci95 or (found.median, found.median)
    reach = max(found.median - low, high - found.median)
    return found.n >= FEWEST and reach <= within * abs(found.median)
