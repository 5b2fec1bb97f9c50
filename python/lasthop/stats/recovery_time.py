"""The time that a sender needs to reach its former rate after an outage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SHARE: Final = 0.9
"""Share of the former rate that counts as recovered."""

STEADY_WINDOWS: Final = 10
"""Number of windows for which the rate must stay there."""

LEAST_ARRIVALS: Final = 20
"""Least number of arrivals in a window before the outage, so that one packet is less than a tenth of the rate."""


def time_to_recover(times: Sequence[float], amounts: Sequence[float], round_trip: float) -> float | None:
    """Return the seconds from the end of the longest silence until new data arrive at the former rate again.

    `times` are the arrivals of packets at the receiver in seconds, ascending, and `amounts` the new bytes in each.
    Copies of data that had arrived have amount 0, so a sender in go-back-N has not recovered before it sends new data.
    The outage is the longest time between two arrivals; it ends with the second (after a sudden delay, the delayed
    packet).

    The rate is the amount in a window. The window is a round trip of the empty path (`round_trip`, in seconds), or the
    duration of the last 20 arrivals before the outage, whichever is longer. The former rate is that of the window that
    ends with the last arrival before the outage. The rate has recovered at an arrival if no window that starts there or
    up to ten windows later has less than 90 % of the former rate. Packets that queued during the outage arrive at a
    rate that is not the sender's, hence the ten windows.

    The receiver's rate is used, and not a congestion window, because every transport has one and it needs no report.
    Returns None if the rate does not recover while there are data, or if there were too few arrivals before the outage.
    """
    at, new = np.asarray(times, dtype=np.float64), np.asarray(amounts, dtype=np.float64)
    first = int(np.argmax(np.diff(at))) + 1 if len(at) > LEAST_ARRIVALS else 0
    if first <= LEAST_ARRIVALS:
        return None
    window = max(round_trip, float(at[first - 1] - at[first - 1 - LEAST_ARRIVALS]))
    before = _arrived_within(at, new, at[first - 1 : first] - window, window)[0]
    # Windows start after arrivals; that of the delayed packet includes it. All end before the data do.
    starts = at[first:][at[first:] + window <= at[-1] + TICK]
    if before <= 0 or not len(starts):
        return None
    rates = _arrived_within(at, new, starts, window)
    rates[0] += new[first]
    return _first_steady(starts, rates >= SHARE * before * (1 - ROUNDING), STEADY_WINDOWS * window)


def _arrived_within(at: Floats, new: Floats, starts: Floats, window: float) -> Floats:
    """Return the amount that arrived within a window after each of `starts`."""
    total = np.concatenate([[0.0], np.cumsum(new)])
    upto = [total[np.searchsorted(at, moments + TICK, side="right")] for moments in (starts, starts + window)]
    return np.asarray(upto[1] - upto[0], dtype=np.float64)


def _first_steady(starts: Floats, back: npt.NDArray[np.bool_], steady: float) -> float | None:
    """Return the time from the first of `starts` to the first from which the rate is `back` for `steady` seconds."""
    short = starts[~back]
    for start in starts[back]:
        later = short[np.searchsorted(short, start) :]
        if not len(later) or later[0] > start + steady:
            return float(start - starts[0])
    return None


ROUNDING: Final = 1e-9

TICK: Final = 1e-9
"""Resolution of times, in seconds."""
