"""Shares of a connection's elapsed time, by the state of the bottleneck link and the cause of that state.

At any time the bottleneck transmits a useful packet of the connection, a useless one, or a packet of another flow; or
it is blocked; or it is idle, and the event that ends the idle period says what the connection was waiting for. The
first share is the time of an ideal transfer with the same link for itself; the others are lost time. All shares add up
to the elapsed time.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import numpy as np

from lasthop.explanation.connection import Connection
from lasthop.explanation.copies import Copies, found_at
from lasthop.explanation.hops import Places
from lasthop.plots.columns import Booleans, Columns, Floats, Texts
from lasthop.plots.coverage import first_bytes
from lasthop.plots.source import Source, columns_of

IDEAL: Final = "ideal"
WORDS: Final = {
    IDEAL: "data that arrived first, at the link's best rate: an ideal transfer",
    "handshake": "before the first data: handshake and request",
    "needless": "copies of data that were not lost",
    "wasted": "data that were lost after the bottleneck",
    "others": "packets of other flows",
    "held": "the link was blocked, or slower than its best",
    "spurious_timeout": "idle until a retransmission timer ran out that was spurious",
    "timeout": "idle until a retransmission timer ran out",
    "after_timeout": "idle between repairs after a timeout",
    "recovery": "idle in fast recovery",
    "slow_start": "idle in slow start: the window was still small",
    "peer_window": "idle: the peer's window was full",
    "application": "idle: the application had nothing to send",
    "window": "idle in congestion avoidance: the window was below what the path holds",
    "ending": "after the last data: their delay, and the last ACK",
}
"""The uses of time, in words."""


@dataclass(frozen=True)
class TimeShare:
    """Seconds of a connection's elapsed time with one use."""

    kind: str
    seconds: float
    words: str


@dataclass(frozen=True)
class _Transmissions:
    """Transmissions of a link direction, in order: earliest start, end, and least duration of each, in seconds."""

    packet: Floats
    begin: Floats
    end: Floats
    least: Floats


def time_shares(source: Source, connection: Connection) -> list[TimeShare]:
    """Return the shares of a connection's elapsed time; none without the table `packets`, or if it sent no data."""
    copies = connection.copies
    data = _Data(np.flatnonzero(copies.length > 0), copies)
    if "packets" not in source.table_names or not len(data.rows):
        return []
    link = _bottleneck(source, data)
    if link is None:
        return []
    return _divided(connection, data, _within(link, connection.first_seen, connection.last_seen))


@dataclass(frozen=True)
class _Data:
    """The rows of the copies with data."""

    rows: Places
    copies: Copies

    @property
    def packet(self) -> Floats:
        return self.copies.packet[self.rows]

    @property
    def time(self) -> Floats:
        return self.copies.time[self.rows]

    def places_of(self, packets: Floats) -> Places:
        """Return the place of each packet among the data; −1 for one of another flow."""
        found = found_at(packets, self.packet, np.arange(len(self.rows), dtype=np.float64))
        return np.where(np.isnan(found), -1, found).astype(np.int64)


def _bottleneck(source: Source, data: _Data) -> _Transmissions | None:
    """Return the link direction that was busy longest, of those that the data crossed."""
    packets = columns_of(source, "packets")
    packets = packets.where(packets.known("transmitted_ns"))
    crossing = packets.where(np.isin(packets.numbers("packet"), data.packet))
    found = [
        _transmissions(packets.equal("link", link).equal("direction", way))
        for link in sorted(crossing.distinct("link"))
        for way in sorted(crossing.equal("link", link).distinct("direction"))
    ]
    return max(found, key=lambda link: float(link.least.sum()), default=None)


def _transmissions(packets: Columns) -> _Transmissions:
    end = packets.seconds("transmitted_ns")
    order = np.argsort(end, kind="stable")
    end, entered = end[order], packets.seconds("entered_ns")[order]
    begin = np.maximum(np.concatenate(([-np.inf], end[:-1])), entered) if len(end) else end
    size = packets.numbers("bytes")[order]
    took = end - begin
    best = float(np.quantile(took / size, BEST)) if len(end) else 0.0
    return _Transmissions(packets.numbers("packet")[order], begin, end, np.minimum(took, best * size))


BEST: Final = 0.05
"""Quantile of the time per byte that counts as the link's best; the minimum would depend on a single packet."""


def _within(link: _Transmissions, since: float, until: float) -> _Transmissions:
    inside = (link.end > since) & (link.begin < until)
    return _Transmissions(link.packet[inside], link.begin[inside], link.end[inside], link.least[inside])


def _divided(connection: Connection, data: _Data, link: _Transmissions) -> list[TimeShare]:
    ended = np.maximum.accumulate(np.append(connection.first_seen, link.end))
    since, gap = ended[:-1], np.maximum(link.begin - ended[:-1], 0.0)
    place = data.places_of(link.packet)
    idle = gap > 0
    # A packet of another flow does not end the connection's wait; its own next packet does.
    next_own = np.searchsorted(data.time, since[idle], side="right")
    ended_by = np.where(place[idle] >= 0, place[idle], np.where(next_own < len(data.rows), next_own, -1))
    shares: dict[str, float] = defaultdict(float)
    _add(shares, _kinds_of_waits(connection, data, ended_by), gap[idle])
    _add(shares, _kinds_of_busy(data, place, link), link.least)
    shares["held"] += float(np.maximum(link.end - link.begin - link.least, 0.0).sum())
    shares["ending"] += max(connection.last_seen - float(ended[-1]), 0.0)
    told = [TimeShare(kind, shares[kind], words) for kind, words in WORDS.items() if shares[kind] > NOTHING]
    return sorted(told, key=lambda share: (share.kind != IDEAL, -share.seconds))


NOTHING: Final = 5e-7
"""Shares below this, in seconds, are rounding errors."""


def _add(shares: dict[str, float], kinds: Texts, seconds: Floats) -> None:
    for kind in dict.fromkeys(kinds):
        shares[kind] += float(seconds[kinds == kind].sum())


def _kinds_of_busy(data: _Data, place: Places, link: _Transmissions) -> Texts:
    """Return the use of each transmission: for bytes that arrived first, copies, no data, or other flows."""
    copies, rows = data.copies, data.rows
    arrived = copies.arrived[rows]
    there = np.flatnonzero(~np.isnan(arrived))
    there = there[np.argsort(arrived[there], kind="stable")]
    useful = np.zeros(len(rows), dtype=np.bool_)
    useful[there] = first_bytes(copies.seq[rows][there], copies.end[rows][there]) > 0
    kinds = np.where(useful, IDEAL, np.where(np.isnan(arrived), "wasted", "needless"))
    own = np.isin(link.packet, copies.hops.packet)
    without_data = np.where(own, np.where(link.begin < data.time[-1], "handshake", "ending"), "others")
    return np.asarray(np.where(place >= 0, kinds[place], without_data), dtype=np.object_)


def _kinds_of_waits(connection: Connection, data: _Data, ended_by: Places) -> Texts:
    """Return what the connection waited for while its bottleneck was idle, by the copy that ended the wait."""
    row = data.rows[ended_by]
    copies = data.copies
    cause, again, needless = copies.cause[row], copies.retransmission[row], copies.needless[row]
    choices = (
        (ended_by < 0, "ending"),
        (ended_by == 0, "handshake"),
        ((cause == "timeout") & needless, "spurious_timeout"),
        (cause == "timeout", "timeout"),
        (again & (cause == "after_timeout"), "after_timeout"),
        (again, "recovery"),
    )
    usual = _kinds_of_states(connection, data, copies.time[row])
    kinds = np.select([np.asarray(each, dtype=np.bool_) for each, _ in choices], [word for _, word in choices], "")
    return np.where(kinds == "", usual, kinds).astype(np.object_)


def _kinds_of_states(connection: Connection, data: _Data, times: Floats) -> Texts:
    """Return the limit on the sender at the last decision before each time."""
    made = connection.decisions
    row = np.searchsorted(made.time, times, side="right") - 1
    if not len(made):
        return np.full(len(times), "window", dtype=np.object_)
    room = made.flight[row] + connection.segment_size
    phase = made.phase[row]
    growing = (phase == "slow_start") | (phase == "congestion_avoidance")
    choices = (
        (row < 0, "window"),
        (room > made.advertised[row], "peer_window"),
        ((room <= made.cwnd[row]) & growing & _had_stopped(data.time, made.time[row]), "application"),
        (phase == "fast_recovery", "recovery"),
        (phase == "congestion_avoidance", "window"),
    )
    kinds = np.select([np.asarray(each, dtype=np.bool_) for each, _ in choices], [word for _, word in choices], "")
    return np.where(kinds == "", phase, kinds).astype(np.object_)


def _had_stopped(sent: Floats, decided: Floats) -> Booleans:
    """Whether the sender sent nothing after a decision although the windows had room, for lack of data."""
    place = np.searchsorted(sent, decided, side="right")
    return np.asarray((place == 0) | (sent[place - 1] < decided))
