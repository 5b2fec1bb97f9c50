"""When flows have come to share evenly."""

from __future__ import annotations

from collections.abc import Sequence

from lasthop.stats.fairness import jain_index


def convergence_time(times: Sequence[float], totals: Sequence[Sequence[float]], fairness: float = 0.9) -> float | None:
    """Return the first of `times` from which on every interval is shared at least as evenly as `fairness` (Jain).

    `totals` has for each flow its running total at each of the times. The answer is where the first such interval
    begins; None where the last interval is still uneven, or none has anything in it.
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
