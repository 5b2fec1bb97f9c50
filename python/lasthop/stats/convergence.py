"""The time at which flows have converged to even shares."""

from __future__ import annotations

from collections.abc import Sequence

from lasthop.stats.fairness import jain_index


def convergence_time(times: Sequence[float], totals: Sequence[Sequence[float]], fairness: float = 0.9) -> float | None:
    """Return the first of `times` after which every interval has at least the fairness index `fairness` (Jain).

    `totals` has a sequence for each flow: its running total at each of `times`. Returns the start of the first such
    interval, or None if the last interval is less fair or all intervals are empty. Raises ValueError if a flow does not
    have a total for each time.
    """
    if any(len(flow) != len(times) for flow in totals):
        raise ValueError("each flow has a total for each time")
    found: float | None = None
    for place in range(len(times) - 2, -1, -1):
        added = [flow[place + 1] - flow[place] for flow in totals]
        if not any(added) or jain_index(added) < fairness:
            break
        found = times[place]
    return found
