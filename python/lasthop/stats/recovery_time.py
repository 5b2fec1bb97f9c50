"""How long a sender takes to be itself again after an outage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

SHARE: Final = 0.9
"""The share of the rate before the outage that counts as back."""

STEADY_WINDOWS: Final = 10
"""For so many windows the rate has to stay there."""

LEAST_ARRIVALS: Final = 20
"""A window had so many arrivals before the outage at least, that one packet more or less is not a tenth of it."""


def time_to_recover(times: Sequence[float], amounts: Sequence[float], round_trip: float) -> float | None:
    """Return the seconds from the end of the longest silence until the receiver gets new data at the former rate again.

    `times` are those at which packets reached the receiver, in order, and `amounts` what was new in each: copies of what
    had arrived count nothing, so that a sender that goes back N has not recovered before it is done. The outage is the
    longest time between two arrivals, and its end the second of them: of a sudden delay, when the delayed packet comes.

    The rate is what arrives within a window: a round trip of the empty path, or as long as the last 20 arrivals before the
    outage took, if that is longer. It was, before, what had come in the window that ends with the last arrival. It is back
    from an arrival on, if no window that begins within the next ten of them has less than 90 % of that; the window of the
    first arrival begins with it, the others behind theirs. What had queued up during the outage makes a rate of its own, for
    which the ten windows wait. It is the receiver's rate that is looked at, not a congestion window, for every transport has
    one and nobody need tell it.

    None where the rate does not come back before the data end, or too little came before the outage.
    """
    at, new = np.asarray(times, dtype=float), np.asarray(amounts, dtype=float)
    if len(at) <= LEAST_ARRIVALS:
        return None
    first = int(np.argmax(np.diff(at))) + 1
    if first <= LEAST_ARRIVALS:
        return None
    last = first - 1
    window = max(round_trip, float(at[last] - at[last - LEAST_ARRIVALS]))
    total = np.concatenate([[0.0], np.cumsum(new)])

    def arrived_by(moments: np.ndarray) -> np.ndarray:
        return np.asarray(total[np.searchsorted(at, moments + TICK, side="right")])

    before = float(total[first] - arrived_by(at[last : last + 1] - window)[0])
    if before <= 0:
        return None
    # The windows that end before the data do, in order: that of the first arrival, then those behind each.
    whole = at[first:] + window <= at[-1] + TICK
    starts = at[first:][whole]
    if not len(starts):
        return None
    rates = arrived_by(starts + window) - arrived_by(starts)
    rates[0] += new[first]
    return _first_steady(starts, rates >= SHARE * before * (1 - ROUNDING), STEADY_WINDOWS * window)


def _first_steady(starts: np.ndarray, back: np.ndarray, steady: float) -> float | None:
    """Return how long after the first of `starts` the first comes that nothing contradicts for so long."""
    short = starts[~back]
    for start in starts[back]:
        behind = short[np.searchsorted(short, start) :]
        if not len(behind) or behind[0] > start + steady:
            return float(start - starts[0])
    return None


ROUNDING: Final = 1e-9

TICK: Final = 1e-9
"""Times are nanoseconds."""
