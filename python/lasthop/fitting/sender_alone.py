"""The bulk sender's packets from a capture of the sender only: arrivals and losses, derived from acknowledgments.

A receiver sends an acknowledgment when the newest packet that it covers arrives. So its arrival time at the sender is
that packet's arrival time plus the reverse delay; for the other packets that it covers the time is an upper bound. A
packet was lost if its data were retransmitted and the retransmission was needed.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

import numpy as np

from lasthop.fitting.passage import Bools, Floats, Passage
from lasthop.joining.views import FIN, NONE, SYN, View, positions

MOST_ALONE: Final = 0.6
"""Share of segments with an acknowledgment of their own above which the receiver does not delay acknowledgments."""


@dataclass(frozen=True)
class RoundTrips:
    """Round-trip times of packets that were sent once, in seconds, and the bytes acknowledged between two times."""

    seconds: Floats
    acknowledged: int
    first: float
    last: float

    @property
    def goodput(self) -> float:
        """Acknowledged data in bit/s, from the first data segment to the last acknowledgment."""
        return 8.0 * self.acknowledged / (self.last - self.first) if self.last > self.first else 0.0

    @property
    def high(self) -> float:
        """The 95 % quantile of round-trip times, in seconds."""
        return float(np.percentile(self.seconds, 95)) if len(self.seconds) else float("nan")


class _Sender:
    """The sender's knowledge of each packet, built up from its capture."""

    def __init__(self, view: View) -> None:
        side = view.bulk_sender
        rows = view.sent_by(side)
        start = int(view.time.min())
        control = ((view.flags[rows] & SYN) != 0).astype(np.int64) + ((view.flags[rows] & FIN) != 0)
        position = positions(view.seq[rows])
        base = int(position[0]) if len(rows) else 0
        self.view = view
        self.rows = rows
        self.start = start
        self.base = base
        self.sent = (view.time[rows] - start) / 1e9
        self.first = (position - base).tolist()
        self.end = (position - base + view.length[rows] + control).tolist()
        self.size = view.size[rows].astype(np.float64)
        self.arrived = np.full(len(rows), np.nan)
        self.lost = np.zeros(len(rows), dtype=bool)
        self.covered = np.zeros(len(rows), dtype=bool)
        self.again = np.zeros(len(rows), dtype=bool)
        # Acknowledged alone, in order: possibly after the delay of a delayed ACK (RFC 9293 §3.8.6.3).
        self.single = np.zeros(len(rows), dtype=bool)
        # Reported alone by SACK: Linux waits up to 1 ms for further segments (tcp_comp_sack_delay_ns).
        self.sacked = np.zeros(len(rows), dtype=bool)
        self.round_trips: list[float] = []
        self.acknowledged = 0
        self.first_data = self.last_ack = 0.0
        # The latest copy of each unacknowledged segment, by its first byte, in the order of the stream.
        self.copies: dict[int, int] = {}
        self.open: list[int] = []

    def run(self) -> None:
        place_of = {int(row): place for place, row in enumerate(self.rows)}
        other = self.view.sent_by(1 - self.view.bulk_sender)
        acks = positions(np.where(self.view.ack[other] == NONE, self.base, self.view.ack[other]))
        relative = dict(zip(other.tolist(), (acks - self.base).tolist(), strict=True))
        for row, at in enumerate(((self.view.time - self.start) / 1e9).tolist()):
            if row in place_of:
                self._send(place_of[row], at)
            elif self.view.ack[row] != NONE:
                self._acknowledge(relative[row], self.view.sack[row], at)

    def _send(self, place: int, at: float) -> None:
        first, end = self.first[place], self.end[place]
        if end <= first:
            return
        if first >= 1 and not self.first_data:
            self.first_data = at
        before = self.copies.get(first)
        row = int(self.rows[place])
        if before is not None:
            self.again[place] = True
            self.again[before] = True
            if self.view.retransmission[row] and self.view.needless[row] is False:
                self.lost[before] = True
        else:
            self.open.insert(bisect_left(self.open, first), first)
        self.copies[first] = place

    def _acknowledge(self, ack: int, sack: str | None, at: float) -> None:
        newest, news, sacked = NONE, 0, 0
        covered = bisect_left(self.open, ack)
        for first in self.open[:covered]:
            if self.end[self.copies[first]] <= ack:
                newly = self._cover(self.copies.pop(first))
                newest, news = max(newest, newly), news + (newly != NONE)
        if covered:
            self.open = [first for first in self.open[:covered] if first in self.copies] + self.open[covered:]
            if ack > self.acknowledged:
                self.acknowledged, self.last_ack = ack, at
        for block in (sack or "").split()[:1]:
            left, right = ((int(number) - self.base) % (1 << 32) for number in block.split("-"))
            wraps = (max(ack, 0) >> 32) << 32
            left, right = left + wraps, right + wraps
            for first in self.open[bisect_left(self.open, left) : bisect_left(self.open, right)]:
                newly = self._cover(self.copies[first])
                newest, sacked = max(newest, newly), sacked + (newly != NONE)
        # Karn's algorithm: no sample of a retransmitted segment (RFC 6298 §3).
        if newest != NONE and not self.again[newest]:
            self.arrived[newest] = at
            self.single[newest] = news == 1 and not sacked
            self.sacked[newest] = sacked == 1
            self.round_trips.append(at - float(self.sent[newest]))

    def _cover(self, place: int) -> int:
        """Mark a packet as covered by an acknowledgment; return it if it was not covered before."""
        if self.covered[place]:
            return NONE
        self.covered[place] = True
        return place


def passage(view: View) -> tuple[Passage, RoundTrips]:
    """Return the passage of the data (delays are those of both directions) and the round trips, by the sender's
    capture.

    Packets at the end without any acknowledgment are left out.
    """
    sender = _Sender(view)
    sender.run()
    timed = int(np.count_nonzero(~np.isnan(sender.arrived)))
    alone = int(np.count_nonzero(sender.single)) / max(timed, 1)
    prompt = ~sender.sacked & (~sender.single if alone < MOST_ALONE else True)
    carries = np.array(sender.end, dtype=np.int64) > np.array(sender.first, dtype=np.int64)
    last = np.flatnonzero(sender.covered)
    known: Bools = carries & (np.arange(len(sender.sent)) <= (last[-1] if len(last) else NONE))
    found = Passage(sender.sent[known], sender.arrived[known], sender.lost[known], sender.size[known], prompt[known])
    fin = 1 if np.any((view.flags[sender.rows] & FIN) != 0) else 0
    trips = RoundTrips(
        np.array(sender.round_trips), max(sender.acknowledged - 1 - fin, 0), sender.first_data, sender.last_ack
    )
    return found, trips
