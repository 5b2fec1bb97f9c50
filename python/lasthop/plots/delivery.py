"""The delivery of a flow's data: the bytes that arrived, the data in flight, and the round trips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from lasthop.plots.columns import Booleans, Columns, Floats
from lasthop.plots.coverage import covered, first_bytes
from lasthop.plots.flow import FIRST_DATA_SEQ, FlowTables, extent

SAMPLED: Final = "sampled"
"""The reason of a row of a kernel's sender, which was read from time to time."""

AFTER_SENDING: Final = "retransmit"
"""Event of a row that was written while segments were sent; all other events precede it."""


MEASURED: Final = "rtt_ns"
"""The column of the round trip that an acknowledgment ended, in tables of captures."""


@dataclass(frozen=True)
class Arrivals:
    """Times at which data arrived, and the bytes that arrived for the first time, of all connections together.

    `at_sender` is whether they are the times at which the sender learned of them, by ACKs and SACK blocks, because the
    receiver's end was not recorded.
    """

    time: Floats
    bytes: Floats
    at_sender: bool

    def between(self, edges: Floats) -> Floats:
        """Return the bytes that arrived between each two of `edges`.

        The bytes of a packet count from the arrival before it on, at most for one such time, and for no longer than it
        is to the next: at an edge a whole packet on one side of it would look like more than the link's rate, and the
        first packet after a pause is no rate of the pause.
        """
        before = np.append(np.minimum(edges[0], self.time[:1]), self.time[:-1])
        length, after = edges[1] - edges[0], np.diff(self.time, append=np.inf)
        begin = np.maximum(before, self.time - np.where(after > 0, np.minimum(after, length), length))
        total = np.cumsum(self.bytes)
        times = np.column_stack([begin, self.time]).ravel()
        totals = np.column_stack([total - self.bytes, total]).ravel()
        if not len(times):
            return np.zeros(len(edges) - 1)
        return np.diff(np.interp(edges, times, totals, left=0.0))


@dataclass(frozen=True)
class Flight:
    """Data in flight, in bytes, from each time until the next."""

    time: Floats
    bytes: Floats


def arrivals(flow: FlowTables) -> Arrivals:
    """Return the arrivals of a flow's data.

    Of datagrams every one counts, since their payload has no numbers.
    """
    received = flow.received()
    if len(received):
        return _arrivals(received, is_datagrams=flow.is_of_datagrams())
    heard = flow.heard()
    new = np.zeros(len(heard))
    for rows in heard.groups("connection"):
        mine = heard.where(rows)
        acks = np.minimum(_acks(mine), _last_byte(flow, mine))
        found = covered(acks, flow.blocks(mine))
        new[rows] = np.bincount(found.row.astype(np.int64), weights=found.end - found.start, minlength=int(rows.sum()))
    return Arrivals(heard.seconds("time_ns"), new, at_sender=True)


def _last_byte(flow: FlowTables, heard: Columns) -> float:
    """Return the end of the data of the connection of some ACKs: the ACK of a FIN is beyond it."""
    sent = flow.data_sent()
    if "connection" in sent and len(heard):
        sent = sent.where(sent.numbers("connection") == heard.numbers("connection")[0])
    return float(extent(sent)[1].max(initial=0.0))


def _arrivals(received: Columns, *, is_datagrams: bool) -> Arrivals:
    time = received.seconds("time_ns")
    if is_datagrams:
        new = received.numbers("len")
    else:
        new = np.zeros(len(received))
        for rows in received.groups("connection"):
            new[rows] = first_bytes(*extent(received.where(rows)))
    order = np.argsort(time, kind="stable")
    return Arrivals(time[order], new[order], at_sender=False)


def flight(flow: FlowTables) -> Flight:
    """Return the data in flight after each packet that the sender sent or received.

    Data that were selectively acknowledged are not in flight; nor, where the sender's own record has it, are data that
    it had marked as lost.
    """
    if flow.is_of_datagrams():
        # For QUIC only the sender's record has it: acknowledgments in datagrams are encrypted.
        decisions = flow.decisions()
        return Flight(decisions.seconds("time_ns"), decisions.numbers("flight"))
    rows = flow.at_sender()
    time, in_flight = rows.seconds("time_ns"), np.zeros(len(rows))
    pipes = _recorded_pipes(flow)
    for those in rows.groups("connection"):
        mine = rows.where(those)
        in_flight[those] = _outstanding(flow, mine) if pipes is None else _pipe(mine, pipes)
    last = np.append(time[1:] != time[:-1], True)[: len(time)]
    return Flight(time[last], in_flight[last])


def _recorded_pipes(flow: FlowTables) -> Columns | None:
    """Return the decisions in which the sender noted its pipe, before it sent anything on them."""
    if not flow.has_decisions():
        return None
    decisions = flow.decisions()
    if "pipe" not in decisions or not len(decisions) or decisions.among("reason", (SAMPLED,)).any():
        return None
    return decisions.where(~decisions.among("event", (AFTER_SENDING,)))


def _pipe(rows: Columns, pipes: Columns) -> Floats:
    """Return the pipe at the last decision with all that was sent since, after each packet of one connection."""
    if "connection" in rows and "connection" in pipes and len(rows):
        pipes = pipes.where(pipes.numbers("connection") == rows.numbers("connection")[0])
    time, at = rows.seconds("time_ns"), pipes.seconds("time_ns")
    is_sent = rows.among("direction", ("sent",))
    sent = np.cumsum(np.where(is_sent, rows.numbers("len"), 0.0))
    # What a decision lets go leaves at its own time; what left before the last of several ACKs at one time is in the
    # pipe at the decision on that ACK.
    begin, end = (np.searchsorted(time, at, side=side) for side in ("left", "right"))
    heard_by = np.append(0, np.maximum.accumulate(np.where(is_sent, 0, np.arange(1, len(rows) + 1))))[end]
    one_of_several = np.searchsorted(at, at, side="right") - np.searchsorted(at, at, side="left") > 1
    before = np.append(0.0, sent)[np.where(one_of_several, np.maximum(begin, heard_by), begin)]
    last = np.searchsorted(at, time, side="right") - 1
    known = np.where(last >= 0, pipes.numbers("pipe")[last] - before[last], 0.0) if len(at) else 0.0
    return np.asarray((sent + known).clip(min=0))


def _outstanding(flow: FlowTables, rows: Columns) -> Floats:
    """Return the bytes of one connection that were sent and not yet reported, after each packet at its sender."""
    sent = rows.among("direction", ("sent",))
    end = np.where(sent & (rows.numbers("len") > 0), rows.numbers("seq") + rows.numbers("len"), FIRST_DATA_SEQ)
    heard = ~sent & rows.known("ack")
    found = covered(_acks(rows.where(heard)), flow.blocks(rows.where(heard)))
    reported = np.zeros(len(rows))
    reported[heard] = np.bincount(
        found.row.astype(np.int64), weights=found.end - found.start, minlength=int(heard.sum())
    )
    # The ACK of a FIN is beyond all bytes.
    return np.asarray((np.maximum.accumulate(end) - FIRST_DATA_SEQ - np.cumsum(reported)).clip(min=0))


def round_trips(flow: FlowTables) -> tuple[Floats, Floats]:
    """Return when each segment was first reported, by an ACK or a SACK block, and its round trip, in seconds.

    Only segments that were sent once count, and only if nothing is reported with them that was sent again: an ACK does
    not say which copy it is for (Karn's algorithm, RFC 6298 §3). An ACK that fills a gap is late for what lies after
    the gap, so that without SACK only the gap's own segment counts. The table of a capture has the round trips that its
    analysis measured.
    """
    heard = flow.heard()
    if MEASURED in heard:
        measured = heard.where(heard.known(MEASURED))
        return measured.seconds("time_ns"), measured.seconds(MEASURED)
    found = []
    for rows in heard.groups("connection"):
        mine = heard.where(rows)
        number = mine.numbers("connection")[0] if "connection" in mine and len(mine) else None
        found.append(_round_trips(flow, mine, number))
    if not found:
        return np.empty(0), np.empty(0)
    at, trip = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.argsort(at, kind="stable")
    return at[order], trip[order]


def least_round_trip(flow: FlowTables) -> float:
    """Return the shortest round trip; without ACKs twice the shortest time to the receiver, and infinity without it."""
    _, trips = round_trips(flow)
    if len(trips):
        return float(trips.min())
    sent, received = flow.data_sent(), flow.received()
    left = dict(zip(sent.numbers("packet"), sent.seconds("time_ns"), strict=True))
    took = [
        at - left[packet]
        for packet, at in zip(received.numbers("packet"), received.seconds("time_ns"), strict=True)
        if packet in left
    ]
    return 2 * min(took, default=np.inf)


def _round_trips(flow: FlowTables, heard: Columns, connection: float | None) -> tuple[Floats, Floats]:
    sent = flow.data_sent()
    if connection is not None:
        sent = sent.where(sent.numbers("connection") == connection)
    start, end = extent(sent)
    acks, time = _acks(heard), heard.seconds("time_ns")
    reported = covered(acks, flow.blocks(heard))
    if not len(sent) or not len(reported.row):
        return np.empty(0), np.empty(0)
    once = _sent_once(sent, start, end)
    by_start = np.argsort(reported.start)
    place = np.searchsorted(reported.start[by_start], end - 1, side="right") - 1
    which = by_start[place.clip(min=0)]
    covers = (place >= 0) & (reported.start[which] <= start) & (end <= reported.end[which])
    of_copies = np.zeros(len(reported.row), dtype=np.bool_)
    of_copies[which[covers & ~once]] = True
    fills_gap = _after_duplicates(acks, heard)[reported.row.astype(np.int64)] & (reported.by_ack > 0)
    leads = reported.start[which] == start
    chosen = once & covers & ~of_copies[which] & (leads | ~fills_gap[which])
    at = time[reported.row[which[chosen]].astype(np.int64)]
    return at, at - sent.seconds("time_ns")[chosen]


def _sent_once(sent: Columns, start: Floats, end: Floats) -> Booleans:
    """Whether no byte of a segment was sent twice."""
    again = sent.flags("retransmission")
    if not again.any():
        return np.ones(len(start), dtype=np.bool_)
    edges = np.unique(np.concatenate([start, end]))
    low, high = np.searchsorted(edges, start), np.searchsorted(edges, end)
    depth = np.zeros(len(edges) + 1)
    np.add.at(depth, low[again], 1)
    np.add.at(depth, high[again], -1)
    resent = np.concatenate([[0.0], np.cumsum(np.cumsum(depth)[: len(edges)] > 0)])
    return np.asarray(~again & (resent[high] == resent[low]))


def _after_duplicates(acks: Floats, heard: Columns) -> Booleans:
    """Which ACKs advance after duplicate ACKs, so that the reported data may have arrived earlier."""
    repeats = np.append(False, acks[1:] == acks[:-1])[: len(acks)] & heard.among("kind", ("ack",))
    return np.append(False, repeats[:-1])[: len(acks)] & ~repeats


def _acks(rows: Columns) -> Floats:
    """The ACKs' numbers as offsets, none smaller than one before it."""
    return np.asarray(np.maximum.accumulate(rows.numbers("ack")) - FIRST_DATA_SEQ)
