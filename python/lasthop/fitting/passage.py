"""The packets that were sent into one direction of a link, and their arrivals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from lasthop.joining import Crossing

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Passage:
    """Packets in the order of sending: times in seconds, sizes in bytes of IP packet.

    `arrived` is NaN for a packet that was lost, or whose arrival time is not known; if `prompt` is false, it is an
    upper bound.
    """

    sent: Floats
    arrived: Floats
    lost: Bools
    size: Floats
    prompt: Bools

    @cached_property
    def late(self) -> Bools:
        """Whether each packet arrived after a packet that was sent later."""
        times = np.where(np.isnan(self.arrived), np.inf, self.arrived)
        first_later = np.append(np.minimum.accumulate(times[::-1])[::-1][1:], np.inf)
        late: Bools = ~np.isnan(self.arrived) & (self.arrived > first_later)
        return late

    @cached_property
    def timed(self) -> Ints:
        """Indices of the packets that arrived in order, at a known time."""
        return np.flatnonzero(~np.isnan(self.arrived) & ~self.late & self.prompt)

    @cached_property
    def fastest(self) -> tuple[Floats, Floats, Floats]:
        """Arrival times, delays (upper bounds) and sizes of packets."""
        there = ~np.isnan(self.arrived)
        return self.arrived[there], (self.arrived - self.sent)[there], self.size[there]

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """Indices of packets that arrived directly after their predecessor, without a loss or a late packet between."""
        timed = self.timed
        odd = np.cumsum(self.lost | self.late)
        whole = odd[timed[1:]] == odd[timed[:-1]]
        return timed[:-1][whole], timed[1:][whole]


def of_crossing(crossing: Crossing) -> Passage:
    """Return the passage of a direction that was captured at both ends."""
    known = ~crossing.unknown
    return Passage(
        sent=crossing.sent[known],
        arrived=crossing.arrived[known],
        lost=crossing.lost[known],
        size=crossing.size[known].astype(np.float64),
        prompt=np.ones(int(known.sum()), dtype=bool),
    )
