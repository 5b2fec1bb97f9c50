"""How long a sender takes until it is itself again after an outage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SHARE: Final = 0.9
"""The share of the rate before the outage that counts as back."""

STEADY_WINDOWS: Final = 10
"""For so many windows the rate has to stay there."""

LEAST_ARRIVALS: Final = 20
"""A window had so many arrivals before the outage at least, that one packet more or less is not a tenth of it."""


def time_to_recover(times: Sequence[float], amounts: Sequence[float], round_trip: float) -> float | None:
    """Return the seconds from the end of the longest silence until new data arrive at the former rate again.

    `times` are those at which packets reached the receiver, in order, and `amounts` what was new in each. Copies of
    what had arrived count nothing, so a sender that goes back N has not recovered before it is done with that. The
    outage is the longest time between two arrivals, and ends with the second: after a sudden delay, the delayed packet.

    The rate is what arrives within a window: a round trip of the empty path, or as long as the last 20 arrivals before
    the outage took, if that is longer. What it was is told by the window that ends with the last arrival before. It is
    back from an arrival on if no window that begins there, or within ten windows behind, has less than 90 % of that.
    What had queued up during the outage arrives at a rate that is not the sender's: hence the ten windows.

    This is the rate of the receiver and not a congestion window, since every transport has one and nobody need tell it.
    None where the rate does not come back while there are data, or too little came before the outage.
    """
    at, new = np.asarray(times, dtype=np.float64), np.asarray(amounts, dtype=np.float64)
    first = int(np.argmax(np.diff(at))) + 1 if len(at) > LEAST_ARRIVALS else 0
    if first <= LEAST_ARRIVALS:
        return None
    window = max(round_trip, float(at[first - 1] - at[first - 1 - LEAST_ARRIVALS]))
    before = _arrived_within(at, new, at[first - 1 : first] - window, window)[0]
    # Windows begin behind arrivals; that of the delayed packet has the packet itself. All end before the data do.
    starts = at[first:][at[first:] + window <= at[-1] + TICK]
    if before <= 0 or not len(starts):
        return None
    rates = _arrived_within(at, new, starts, window)
    rates[0] += new[first]
    return _first_steady(starts, rates >= SHARE * before * (1 - ROUNDING), STEADY_WINDOWS * window)


def _arrived_within(at: Floats, new: Floats, starts: Floats, window: float) -> Floats:
    """Return what arrived after each of `starts` and not later than a window behind it."""
    total = np.concatenate([[0.0], np.cumsum(new)])
    upto = [total[np.searchsorted(at, moments + TICK, side="right")] for moments in (starts, starts + window)]
    return np.asarray(upto[1] - upto[0], dtype=np.float64)


def _first_steady(starts: Floats, back: npt.NDArray[np.bool_], steady: float) -> float | None:
    """Return how long after the first of `starts` one comes that is back, as all are for so long behind it."""
    short = starts[~back]
    for start in starts[back]:
        behind = short[np.searchsorted(short, start) :]
        if not len(behind) or behind[0] > start + steady:
            return float(start - starts[0])
    return None


ROUNDING: Final = 1e-9

TICK: Final = 1e-9
"""Times are nanoseconds."""
