"""One connection of a result: the sender's packets and decisions, and the fate of each packet.

Times are seconds from the start of the run, sequence numbers relative (1 is the first byte of data), lengths bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final

import numpy as np

from lasthop.plots.columns import Columns
from lasthop.plots.flow import DROPPED, HOLD_THE_LINK, FlowTables, flow_names
from lasthop.plots.source import Source

NEEDS: Final = ("segments",)
"""Tables that an explanation needs; `tcp` adds decisions, `packets` adds drops and delays."""


@dataclass(frozen=True)
class Hop:
    """One packet on one direction of a link."""

    link: str
    entered: float
    behind: int
    transmitted: float | None
    delivered: float | None
    fate: str
    rule: str
    delay: float
    delay_cause: str

    @property
    def dropped(self) -> bool:
        """Whether the packet was lost here."""
        return self.fate in DROPPED

    @property
    def end(self) -> float:
        """Time at which the packet left the link, or was lost."""
        return next(time for time in (self.delivered, self.transmitted, self.entered) if time is not None)

    @property
    def hold(self) -> tuple[float, float] | None:
        """Start and end of the unusual delay of the packet, if it had one."""
        if self.delay <= 0 or not self.delay_cause:
            return None
        # A delay of the transmitter ends when the packet is transmitted, that of a single packet at its delivery.
        end = self.transmitted if self.delay_cause in HOLD_THE_LINK and self.transmitted is not None else self.end
        return end - self.delay, end


@dataclass(frozen=True)
class Copy:
    """A segment that the sender sent: the original, or a later copy of the same bytes."""

    packet: int
    time: float
    seq: int
    len: int
    kind: str
    retransmission: bool
    cause: str
    needless: bool | None
    why: str
    explanation: str
    arrived: float | None
    hops: Sequence[Hop]

    @property
    def end(self) -> int:
        """The sequence number after its last byte."""
        return self.seq + max(self.len, 1)

    @property
    def drop(self) -> Hop | None:
        """The hop that dropped it, if one did."""
        return next((hop for hop in self.hops if hop.dropped), None)

    @property
    def hold(self) -> tuple[Hop, tuple[float, float]] | None:
        """The hop with its longest unusual delay, with start and end."""
        held = [(hop, hop.hold) for hop in self.hops if hop.hold is not None]
        longest = max(held, key=lambda item: item[0].delay, default=None)
        return None if longest is None or longest[1] is None else (longest[0], longest[1])


@dataclass(frozen=True)
class Decision:
    """A row of the table `tcp`: a decision of the sender, and its windows after it."""

    time: float
    event: str
    reason: str
    seq: int
    len: int
    cwnd: float
    ssthresh: float
    flight: float
    advertised: float
    srtt: float
    rto: float
    phase: str


@dataclass(frozen=True)
class Connection:
    """A connection's sender, its copies in the order of sending, and its decisions in the order of time."""

    flow: str
    number: int
    sender: str
    receiver: str
    copies: Sequence[Copy]
    acks: Sequence[tuple[float, int]]
    decisions: Sequence[Decision]
    first_seen: float
    last_seen: float

    @cached_property
    def segment_size(self) -> int:
        """The usual length of its data segments in bytes, at least 1."""
        lengths = [copy.len for copy in self.copies if copy.len > 0]
        return max(set(lengths), key=lengths.count) if lengths else 1

    @cached_property
    def by_start(self) -> dict[int, list[Copy]]:
        """Copies by first sequence number, in the order of sending."""
        found: dict[int, list[Copy]] = defaultdict(list)
        for copy in self.copies:
            found[copy.seq].append(copy)
        return dict(found)

    @cached_property
    def dropped(self) -> list[Copy]:
        """The copies that were dropped."""
        return [copy for copy in self.copies if copy.drop is not None]

    def earlier_copies(self, copy: Copy) -> list[Copy]:
        """Return the copies of its first byte that were sent before it."""
        same = [other for other in self.by_start.get(copy.seq, ()) if other.packet < copy.packet]
        if same:
            return same
        covers = (other for other in self.copies if other.seq <= copy.seq < other.end and other.packet < copy.packet)
        return list(covers)

    def retransmissions(self, since: float = -np.inf, until: float = np.inf) -> list[Copy]:
        """Return the retransmissions from `start`, inclusive, to `end`."""
        return [copy for copy in self.copies if copy.retransmission and since <= copy.time < until]

    @cached_property
    def _sent_by(self) -> tuple[list[float], list[int]]:
        """The times of the copies, and the end of the data sent by then."""
        return [copy.time for copy in self.copies], list(accumulate((copy.end for copy in self.copies), max))

    @cached_property
    def _acknowledged_by(self) -> tuple[list[float], list[int]]:
        """The times of the acknowledgments, and the end of the data acknowledged by then."""
        return [time for time, _ in self.acks], list(accumulate((ack for _, ack in self.acks), max))

    def repaired(self, before: Copy, later: Copy) -> bool:
        """Whether all data sent until the copy `before` were acknowledged when the `later` one was sent."""
        return _by(self._acknowledged_by, later.time) >= _by(self._sent_by, before.time)

    @cached_property
    def best_round_trip(self) -> float | None:
        """The shortest time from a segment that was sent once to the ACK that first covered it, in seconds."""
        ack_times = np.array([time for time, _ in self.acks])
        highest = np.maximum.accumulate(np.array([ack for _, ack in self.acks])) if self.acks else np.empty(0)
        best: float | None = None
        for start in self.by_start.values():
            if len(start) > 1 or start[0].len == 0:
                continue
            place = int(np.searchsorted(highest, start[0].end))
            if place < len(ack_times):
                trip = float(ack_times[place]) - start[0].time
                best = trip if best is None else min(best, trip)
        return best


def _by(history: tuple[list[float], list[int]], time: float) -> int:
    """Return the last value of a history at `time`; 0 before it begins."""
    place = bisect_right(history[0], time)
    return history[1][place - 1] if place else 0


def connections(source: Source, flow: str | None = None) -> Iterator[Connection]:
    """Yield the connections of a result that sent data or a SYN, of one flow or of all.

    Raises InputError if the result has no such flow.
    """
    names = flow_names(source) if flow is None else [flow]
    for name in names:
        tables = FlowTables(source, name)
        if not tables.is_of_datagrams():
            yield from _Reader(source, tables).connections()


class _Reader:
    """Reads the tables of one flow."""

    def __init__(self, source: Source, tables: FlowTables) -> None:
        self._name = tables.name
        self._sender = tables.sender
        self._source = source
        self._segments = Columns("segments", source.table("segments")).equal("flow", tables.name)
        others = [host for host in self._segments.distinct("host") if host != self._sender]
        self._receiver = others[0] if others else ""

    def connections(self) -> Iterator[Connection]:
        hops = self._hops()
        numbers = self._segments.groups("connection")
        for place, rows in enumerate(numbers, start=1):
            segments = self._segments.where(rows)
            number = int(segments.numbers("connection")[0]) if "connection" in segments else place
            times = segments.seconds("time_ns")
            yield Connection(
                flow=self._name,
                number=number,
                sender=self._sender,
                receiver=self._receiver,
                copies=self._copies(segments, hops),
                acks=self._acks(segments),
                decisions=self._decisions(number),
                first_seen=float(times.min()),
                last_seen=float(times.max()),
            )

    def _copies(self, segments: Columns, hops: dict[int, list[Hop]]) -> list[Copy]:
        received = segments.equal("host", self._receiver).equal("direction", "received")
        arrived = dict(zip(received.numbers("packet").astype(int), received.seconds("time_ns"), strict=True))
        sent = segments.equal("host", self._sender).equal("direction", "sent")
        takes_numbers = np.isin(sent.texts("kind").astype(str), ("syn", "fin", "retransmission"))
        sent = sent.where((sent.numbers("len") > 0) | takes_numbers)
        judged = sent.known("needless")
        rows = zip(
            sent.numbers("packet").astype(int),
            sent.seconds("time_ns"),
            sent.numbers("seq").astype(int),
            sent.numbers("len").astype(int),
            sent.texts("kind"),
            sent.flags("retransmission"),
            sent.texts("cause"),
            [bool(needless) if known else None for needless, known in zip(sent.flags("needless"), judged, strict=True)],
            sent.texts("why"),
            sent.texts("explanation"),
            strict=True,
        )
        return [
            Copy(
                int(packet),
                float(time),
                int(seq),
                int(length),
                kind,
                bool(again),
                cause,
                needless,
                why,
                words,
                None if packet not in arrived else float(arrived[packet]),
                hops.get(int(packet), []),
            )
            for packet, time, seq, length, kind, again, cause, needless, why, words in rows
        ]

    def _acks(self, segments: Columns) -> list[tuple[float, int]]:
        heard = segments.equal("host", self._sender).equal("direction", "received")
        heard = heard.where(heard.known("ack"))
        return [(float(at), int(ack)) for at, ack in zip(heard.seconds("time_ns"), heard.numbers("ack"), strict=True)]

    def _hops(self) -> dict[int, list[Hop]]:
        """Return the hops of each packet of the flow, by packet number; empty without the table `packets`."""
        if "packets" not in self._source.table_names:
            return {}
        packets = Columns("packets", self._source.table("packets")).equal("flow", self._name)
        places = zip(packets.texts("link"), packets.texts("direction"), strict=True)
        rows = zip(
            packets.numbers("packet").astype(int),
            [f"{link}.{direction}" for link, direction in places],
            packets.seconds("entered_ns"),
            packets.numbers("behind").astype(int),
            packets.seconds("transmitted_ns"),
            packets.seconds("delivered_ns"),
            packets.texts("fate"),
            packets.texts("rule"),
            packets.seconds("delay_ns"),
            packets.texts("delay_cause"),
            strict=True,
        )
        found: dict[int, list[Hop]] = defaultdict(list)
        for packet, link, entered, behind, transmitted, delivered, fate, rule, delay, cause in rows:
            out, there = (None if np.isnan(time) else float(time) for time in (transmitted, delivered))
            found[int(packet)].append(
                Hop(link, float(entered), int(behind), out, there, fate, rule, float(delay), cause)
            )
        return dict(found)

    def _decisions(self, number: int) -> list[Decision]:
        if "tcp" not in self._source.table_names:
            return []
        rows = Columns("tcp", self._source.table("tcp")).equal("flow", self._name).equal("host", self._sender)
        if "connection" in rows:
            rows = rows.where(rows.numbers("connection") == number)
        columns = zip(
            rows.seconds("time_ns"),
            rows.texts("event"),
            rows.texts("reason"),
            rows.numbers("seq").astype(int),
            rows.numbers("len").astype(int),
            rows.numbers("cwnd"),
            rows.numbers("ssthresh"),
            rows.numbers("flight"),
            rows.numbers("advertised"),
            np.nan_to_num(rows.seconds("srtt_ns")),
            rows.seconds("rto_ns"),
            rows.texts("phase"),
            strict=True,
        )
        return [Decision(*row) for row in columns]
