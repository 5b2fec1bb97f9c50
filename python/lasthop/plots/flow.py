"""The segments, ACKs and losses of one flow's sender, from the tables `segments`, `packets` and `tcp`.

Sequence numbers are converted to offsets: 0 is the first byte of data. Times are seconds, lengths bytes. Datagrams are
numbered from 0, and each has length 1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from lasthop.errors import InputError
from lasthop.plots.columns import Booleans, Columns, Floats, Texts, found_among
from lasthop.plots.coverage import NO_BLOCKS, Block
from lasthop.plots.source import Source, columns_of
from lasthop.plots.span import Span

FIRST_DATA_SEQ: Final = 1
"""Relative to the initial sequence number, which the SYN takes (RFC 9293 §3.4)."""

DROPPED: Final = ("queue_drop", "error_drop", "dropper_drop", "oversize_drop", "lost")
"""Fates of a packet that was lost on its link."""

DATAGRAM: Final = "datagram"
"""The kind of a packet that is not TCP's."""

LOCAL_COPY: Final = "local_retransmission"
"""The kind of a packet that a proxy sent again."""

STATE: Final = "state"
"""The column of the states of a path model in `tcp`; null for senders without one, absent in older results."""

NO_TEXTS: Final[Texts] = np.empty(0, dtype=np.object_)

HOLD_SINGLE_PACKETS: Final = ("error", "scripted", "arq", "reordering")
"""Causes of delays of single packets."""

HOLD_THE_LINK: Final = ("allocation", "spike", "preemption", "handover")
"""Causes of delays of the transmitter, which hold all waiting packets."""


@dataclass(frozen=True)
class Sent:
    """Data segments as they left the sender.

    `verdict` is "original" or, for retransmissions, "needed", "needless" or "unjudged"; `why` is the reason and the
    verdict of a retransmission in words.
    """

    time: Floats
    start: Floats
    end: Floats
    packet: Floats
    verdict: Texts
    why: Texts

    def of(self, verdict: str) -> Booleans:
        """Return whether each has that verdict."""
        return np.asarray(self.verdict == verdict, dtype=np.bool_)


@dataclass(frozen=True)
class Acks:
    """Acknowledgments as they reached the sender. `edge` is the right edge of the advertised window.

    `connections` are the rows of each connection of the flow, which all count from their own first byte.
    """

    time: Floats
    ack: Floats
    edge: Floats
    duplicate: Booleans
    connections: Sequence[Booleans]


@dataclass(frozen=True)
class Sacks:
    """The blocks of selective acknowledgments, as they reached the sender."""

    time: Floats
    start: Floats
    end: Floats


@dataclass(frozen=True)
class Drops:
    """Dropped data packets: time, offset (of the middle byte), and link and rule in words."""

    time: Floats
    offset: Floats
    why: Texts


@dataclass(frozen=True)
class Delays:
    """Delayed data packets: start and end of the delay, offset (of the middle byte), and link and cause in words."""

    begin: Floats
    end: Floats
    offset: Floats
    why: Texts


@dataclass(frozen=True)
class Timeouts:
    """Retransmission timeouts of the sender; `spurious` if the segment that timed out was not lost."""

    time: Floats
    spurious: Booleans

    def within(self, span: Span) -> Timeouts:
        """Those in `span`."""
        shown = span.holds(self.time)
        return Timeouts(self.time[shown], self.spurious[shown])


class FlowTables:
    """One flow of a result. Each table is read once, when it is first asked for."""

    def __init__(self, source: Source, name: str | None) -> None:
        self._source = source
        found = columns_of(source, "segments").equal("flow", name) if name else None
        self.name = name if name and found else choose_flow(flow_names(source), name)
        self._segments = found or columns_of(source, "segments").equal("flow", self.name)
        self.sender = _sender(self._segments)
        self._at_sender = self._segments.equal("host", self.sender)
        self._read_blocks: dict[str, tuple[Block, ...]] = {}

    @property
    def source(self) -> Source:
        """The result that it is a flow of."""
        return self._source

    def is_of_datagrams(self) -> bool:
        """Whether its packets are datagrams, whose sequence numbers count packets and not bytes."""
        return bool(self._at_sender.among("kind", (DATAGRAM,)).any())

    def times(self) -> Floats:
        """Times at which the sender sent or received a packet, in seconds."""
        return self._at_sender.seconds("time_ns")

    def segments(self) -> Columns:
        """All its packets, at both ends."""
        return self._segments

    def at_sender(self) -> Columns:
        """The packets that the sender sent or received."""
        return self._at_sender

    def data_sent(self) -> Columns:
        """The packets with data that the sender sent."""
        return self._data_sent

    @cached_property
    def _data_sent(self) -> Columns:
        rows = self._at_sender.equal("direction", "sent")
        return rows.where(rows.numbers("len") > 0)

    def received(self) -> Columns:
        """The packets with data that the receiver's end received; none where only the sender's was recorded."""
        return self._received

    @cached_property
    def _received(self) -> Columns:
        rows = self._segments.equal("direction", "received")
        return rows.where(~rows.among("host", (self.sender,)) & (rows.numbers("len") > 0))

    def heard(self) -> Columns:
        """The packets with an acknowledgment of data that the sender received."""
        return self._heard

    @cached_property
    def _heard(self) -> Columns:
        rows = self._at_sender.equal("direction", "received")
        return rows.where(rows.known("ack") & (rows.numbers("ack") >= FIRST_DATA_SEQ))

    def has_decisions(self) -> bool:
        """Whether the sender's decisions were recorded."""
        return "tcp" in self._source.table_names

    def sent(self) -> Sent:
        """The data segments that the sender sent."""
        rows = self.data_sent()
        start, end = extent(rows)
        return Sent(
            time=rows.seconds("time_ns"),
            start=start,
            end=end,
            packet=rows.numbers("packet"),
            verdict=_verdicts(rows),
            why=_reasons(rows),
        )

    def acks(self) -> Acks:
        """The acknowledgments that reached the sender.

        A duplicate is a pure ACK with the same number and the same window (RFC 5681 §2).
        """
        rows = self.heard()
        ack = rows.numbers("ack") - FIRST_DATA_SEQ
        edge = ack + rows.numbers("window")
        highest, same = np.zeros(len(ack)), np.zeros(len(ack), dtype=np.bool_)
        connections = rows.groups("connection")
        for those in connections:
            same[those] = (np.diff(ack[those], prepend=np.nan) == 0) & (np.diff(edge[those], prepend=np.nan) == 0)
            highest[those] = np.maximum.accumulate(ack[those])
        return Acks(
            time=rows.seconds("time_ns"),
            ack=highest,
            edge=edge,
            duplicate=same & (rows.texts("kind") == "ack"),
            connections=connections,
        )

    def acknowledged(self) -> tuple[Floats, Floats]:
        """Arrival times of ACKs at the sender, and the bytes acknowledged by then, on all connections together."""
        rows = self.heard()
        newly = np.zeros(len(rows))
        for those in rows.groups("connection"):
            acked = np.maximum.accumulate(rows.numbers("ack")[those]) - FIRST_DATA_SEQ
            newly[those] = np.diff(acked, prepend=0)
        return rows.seconds("time_ns"), np.cumsum(newly)

    def sacks(self) -> Sacks:
        """The blocks in the acknowledgments that reached the sender. None in tables without them."""
        heard = self.heard()
        blocks = self.blocks(heard)
        time = np.repeat(heard.seconds("time_ns"), [len(each) for each in blocks]) if len(heard) else np.empty(0)
        ends = np.array([block for each in blocks for block in each], dtype=np.float64).reshape(-1, 2)
        return Sacks(time, ends[:, 0], ends[:, 1])

    def blocks(self, heard: Columns) -> list[tuple[Block, ...]]:
        """The blocks of each acknowledgment, as offsets."""
        if "sack" not in heard:
            return [NO_BLOCKS] * len(heard)
        texts = heard.texts("sack").tolist()
        for text in set(texts) - self._read_blocks.keys():
            self._read_blocks[text] = _offsets(text)
        return [self._read_blocks[text] for text in texts]

    def drops(self, sent: Sent) -> Drops:
        """The drops of its data packets. None without the table `packets`."""
        packets = self._data_packets(sent)
        if packets is None:
            return Drops(np.empty(0), np.empty(0), NO_TEXTS)
        lost = packets.where(packets.among("fate", DROPPED))
        return Drops(_end_of_packet(lost), _middle(lost), _place_and(lost, "rule"))

    def local_copies(self) -> tuple[Floats, Floats]:
        """When a proxy on the way sent data again, and the offset of the middle of them. None without `packets`."""
        packets = self._packets()
        if packets is None:
            return np.empty(0), np.empty(0)
        copies = packets.equal("kind", LOCAL_COPY)
        return copies.seconds("entered_ns"), _middle(copies)

    def delays(self, sent: Sent) -> Delays:
        """The data packets that a link delayed singly and delivered. None without the table `packets`."""
        packets = self._data_packets(sent)
        if packets is None:
            return Delays(np.empty(0), np.empty(0), np.empty(0), NO_TEXTS)
        single = packets.among("delay_cause", HOLD_SINGLE_PACKETS)
        # A packet that was dropped meanwhile, as too old, has no end of its delay.
        dropped = packets.among("fate", DROPPED)
        held = packets.where(single & ~dropped & (packets.numbers("delay_ns") > 0))
        end = _end_of_packet(held)
        return Delays(end - held.seconds("delay_ns"), end, _middle(held), _place_and(held, "delay_cause"))

    def timeouts(self) -> Timeouts:
        """The sender's timeouts: from its decisions if they are recorded, else from its retransmissions."""
        resent = self._at_sender.equal("direction", "sent").equal("cause", "timeout")
        resent_at = resent.seconds("time_ns")
        needless_at = resent_at[resent.flags("needless")]
        time = resent_at
        if self.has_decisions():
            time = self.decisions().equal("event", "timeout").seconds("time_ns")
        return Timeouts(time, np.isin(time, needless_at))

    def decisions(self) -> Columns:
        """The sender's rows of the table `tcp`."""
        tcp = columns_of(self._source, "tcp")
        return tcp.equal("flow", self.name).equal("host", self.sender)

    def segment_size(self) -> float:
        """The most frequent length of a data segment in bytes; 0 if there is none."""
        lengths = self.data_sent().numbers("len")
        sizes, counts = np.unique(lengths, return_counts=True)
        return float(sizes[counts.argmax()]) if len(sizes) else 0.0

    def _packets(self) -> Columns | None:
        if "packets" not in self._source.table_names:
            return None
        return columns_of(self._source, "packets").equal("flow", self.name)

    def _data_packets(self, sent: Sent) -> Columns | None:
        packets = self._packets()
        if packets is None:
            return None
        return packets.where(found_among(packets.numbers("packet"), sent.packet))


def flow_names(source: Source) -> list[str]:
    """The flows of a result in the order of its table `flows`, else in the order in which they began."""
    began = columns_of(source, "segments").distinct("flow")
    if "flows" not in source.table_names:
        return began
    listed = columns_of(source, "flows").distinct("flow")
    has_begun, is_listed = set(began), set(listed)
    return [name for name in listed if name in has_begun] + [name for name in began if name not in is_listed]


def datagram_flows(source: Source) -> list[str]:
    """The flows whose packets are datagrams."""
    return columns_of(source, "segments").equal("kind", DATAGRAM).distinct("flow")


def silent_flows(source: Source) -> list[str]:
    """The flows of datagrams whose sender recorded no decision: flows of UDP, not of QUIC."""
    recorded = columns_of(source, "tcp").distinct("flow") if "tcp" in source.table_names else ()
    return [name for name in datagram_flows(source) if name not in recorded]


def choose_flow(flows: list[str], name: str | None) -> str:
    """Return the flow of that name, or the first. Raises InputError, with the names, if there is none."""
    if name is None and flows:
        return flows[0]
    if name is None:
        raise InputError("the result has no flow", help="see that a flow starts before the run stops")
    if name not in flows:
        some = ", ".join(flows[:MOST_NAMED]) or "none"
        more = f", and {len(flows) - MOST_NAMED} more" if len(flows) > MOST_NAMED else ""
        raise InputError(f"no flow {name!r} in the result", key="flow", help=f"choose one of {some}{more}")
    return name


def group_of(flow: str) -> str:
    """The name of its entry in the scenario: that of "web-3" is "web", if the entry has a `count` or many hosts."""
    return re.sub(r"-\d+$", "", flow)


def some_of(groups: Sequence[object], most: int) -> list[int]:
    """Places of at most `most` things, in their order: the first one of each group, then the second ones, and so on."""
    seen: Counter[object] = Counter()
    ranks = []
    for place, group in enumerate(groups):
        ranks.append((seen[group], place))
        seen[group] += 1
    return sorted(place for _, place in sorted(ranks)[:most])


MOST_NAMED: Final = 10
"""Most flows that an error names."""


def sack_blocks(text: str) -> list[tuple[float, float]]:
    """The blocks in a text like "513-1025 1281-1537": left edge and the number after the right edge."""
    numbers = [float(number) for number in re.findall(r"\d+", text)]
    return list(zip(numbers[0::2], numbers[1::2], strict=False))


def _offsets(text: str) -> tuple[Block, ...]:
    return tuple((start - FIRST_DATA_SEQ, end - FIRST_DATA_SEQ) for start, end in sack_blocks(text))


def _sender(segments: Columns) -> str:
    """Return the host that sent more data; in a flow without data, the host that sent first."""
    sent = segments.equal("direction", "sent")
    totals = {host: float(sent.equal("host", host).numbers("len").sum()) for host in sent.distinct("host")}
    return max(totals, key=totals.__getitem__, default="")


def _verdicts(rows: Columns) -> Texts:
    needless, judged = rows.flags("needless"), rows.known("needless")
    verdict = np.where(needless, "needless", np.where(judged, "needed", "unjudged"))
    return np.where(rows.flags("retransmission"), verdict, "original").astype(np.object_)


def _reasons(rows: Columns) -> Texts:
    """Return reason and verdict of retransmissions, in words."""
    if not rows.flags("retransmission").any() or "explanation" not in rows:
        return np.full(len(rows), "", dtype=np.object_)
    cause, sentence = rows.texts("cause"), rows.texts("explanation")
    words = [
        f"{each.replace('_', ' ')}: {verdict}" if each and verdict else each.replace("_", " ") or verdict
        for each, verdict in zip(cause, sentence, strict=True)
    ]
    return np.array(words, dtype=np.object_)


def _place_and(packets: Columns, column: str) -> Texts:
    """Return the link of each packet's fate, with the reason from a column."""
    reasons = packets.texts(column) if column in packets else [""] * len(packets)
    places = zip(packets.texts("link"), packets.texts("direction"), reasons, strict=True)
    words = [f"{link}.{way}" + (f": {why.replace('_', ' ')}" if why else "") for link, way, why in places]
    return np.array(words, dtype=np.object_)


def _end_of_packet(packets: Columns) -> Floats:
    """Return the last known time of each packet on its link: delivery, else transmission, else arrival."""
    end = packets.seconds("delivered_ns")
    for earlier in ("transmitted_ns", "entered_ns"):
        end = np.where(np.isnan(end), packets.seconds(earlier), end)
    return end


def _middle(packets: Columns) -> Floats:
    start, end = extent(packets)
    return (start + end) / 2


def extent(packets: Columns) -> tuple[Floats, Floats]:
    """The offsets of the packets' contents: of their bytes, or for datagrams their number and the next number."""
    datagram = packets.texts("kind") == DATAGRAM
    start = packets.numbers("seq") - np.where(datagram, 0, FIRST_DATA_SEQ)
    return start, start + np.where(datagram, 1, packets.numbers("len"))
