"""One connection of a result: the sender's packets and decisions, and the fate of each packet.

Times are seconds from the start of the run, sequence numbers relative (1 is the first byte of data), lengths bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from lasthop.explanation.copies import Copies, Copy
from lasthop.explanation.decisions import DECISION_COLUMNS, Decisions
from lasthop.explanation.hops import HOP_COLUMNS, Hops
from lasthop.plots.columns import Columns, Floats
from lasthop.plots.flow import FlowTables, flow_names
from lasthop.plots.source import Source, columns_of

NEEDS: Final = ("segments",)
"""Tables that an explanation needs; `tcp` adds decisions, `packets` adds drops and delays."""


@dataclass(frozen=True)
class Connection:
    """A connection's sender, its copies in the order of sending, and its decisions in the order of time.

    `ack_times` and `acks` are the acknowledgments that it received.
    """

    flow: str
    number: int
    copies: Copies
    ack_times: Floats
    acks: Floats
    decisions: Decisions
    first_seen: float
    last_seen: float

    @cached_property
    def segment_size(self) -> int:
        """The usual length of its data segments in bytes, at least 1."""
        lengths, counts = np.unique(self.copies.length[self.copies.length > 0], return_counts=True)
        return int(lengths[counts.argmax()]) if len(lengths) else 1

    @cached_property
    def queue_drops(self) -> Floats:
        """The times at which queues dropped its copies, in ascending order."""
        hops = self.copies.hops
        return np.sort(hops.entered[hops.refused & np.isin(hops.packet, self.copies.packet)])

    @cached_property
    def retransmitted(self) -> list[Copy]:
        """The retransmissions, in the order of sending."""
        return self.copies.at(np.flatnonzero(self.copies.retransmission))

    def retransmissions(self, since: float = -np.inf, until: float = np.inf) -> list[Copy]:
        """Return the retransmissions from `since`, inclusive, to `until`."""
        first, last = np.searchsorted(self._retransmitted_at, (since, until))
        return self.retransmitted[first:last]

    @cached_property
    def _retransmitted_at(self) -> Floats:
        return self.copies.time[self.copies.retransmission]

    def repaired(self, before: Copy, later: Copy) -> bool:
        """Whether all data sent until the copy `before` were acknowledged when the `later` one was sent."""
        sent = _by(self.copies.time, self._highest_sent, before.time)
        return _by(self.ack_times, self._highest_acknowledged, later.time) >= sent

    @cached_property
    def _highest_sent(self) -> Floats:
        return np.maximum.accumulate(self.copies.end)

    @cached_property
    def _highest_acknowledged(self) -> Floats:
        return np.maximum.accumulate(self.acks)

    @cached_property
    def best_round_trip(self) -> float | None:
        """The shortest time from a segment that was sent once to the ACK that first covered it, in seconds."""
        once = self.copies.sent_once & (self.copies.length > 0)
        if not len(self.acks) or not once.any():
            return None
        place = np.searchsorted(self._highest_acknowledged, self.copies.end[once])
        covered = place < len(self.acks)
        trips = self.ack_times[place[covered]] - self.copies.time[once][covered]
        return float(trips.min()) if len(trips) else None


def _by(times: Floats, values: Floats, time: float) -> float:
    """Return the last value of a history at `time`; 0 before it begins."""
    place = int(np.searchsorted(times, time, side="right"))
    return float(values[place - 1]) if place else 0.0


def connections(source: Source, flow: str | None = None) -> Iterator[Connection]:
    """Yield the connections of a result that sent data or a SYN, of one flow or of all.

    Raises InputError if the result has no such flow.
    """
    names = flow_names(source) if flow is None else [flow]
    for name in names:
        tables = FlowTables(source, name)
        if not tables.is_of_datagrams():
            yield from _of_flow(source, tables)


def _of_flow(source: Source, tables: FlowTables) -> Iterator[Connection]:
    segments, hops = tables.segments(), _hops(source, tables.name)
    decisions = tables.decisions() if tables.has_decisions() else None
    for place, rows in enumerate(segments.groups("connection"), start=1):
        mine = segments.where(rows)
        number = int(mine.numbers("connection")[0]) if "connection" in mine else place
        yield _connection(tables, mine, number, hops, _of_connection(decisions, number))


def _connection(tables: FlowTables, mine: Columns, number: int, hops: Hops, decisions: Decisions) -> Connection:
    at_sender = mine.equal("host", tables.sender)
    sent = at_sender.equal("direction", "sent")
    sent = sent.where((sent.numbers("len") > 0) | sent.among("kind", ("syn", "fin", "retransmission")))
    elsewhere = mine.where(~mine.among("host", (tables.sender,)))
    heard = at_sender.equal("direction", "received")
    heard = heard.where(heard.known("ack"))
    times = mine.seconds("time_ns")
    return Connection(
        flow=tables.name,
        number=number,
        copies=Copies(sent, elsewhere.equal("direction", "received"), hops),
        ack_times=heard.seconds("time_ns"),
        acks=heard.numbers("ack"),
        decisions=decisions,
        first_seen=float(times.min()),
        last_seen=float(times.max()),
    )


def _hops(source: Source, flow: str) -> Hops:
    """Return the hops of the packets of a flow; none without the table `packets`."""
    if "packets" not in source.table_names:
        return Hops(Columns.empty(HOP_COLUMNS))
    return Hops(columns_of(source, "packets").equal("flow", flow))


def _of_connection(decisions: Columns | None, number: int) -> Decisions:
    if decisions is None:
        return Decisions(Columns.empty(DECISION_COLUMNS))
    whole = "connection" not in decisions
    return Decisions(decisions if whole else decisions.where(decisions.numbers("connection") == number))
