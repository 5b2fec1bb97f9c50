"""Shares of a connection's elapsed time, by the state of the bottleneck link and the cause of that state.

At any time the bottleneck transmits a useful packet of the connection, a useless one, or a packet of another flow; or
it is blocked; or it is idle, and the event that ends the idle period says what the connection was waiting for. The
first share is the time of an ideal transfer with the same link for itself; the others are lost time. All shares add up
to the elapsed time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import numpy as np

from lasthop.explanation.connection import Connection, Copy, Decision
from lasthop.plots.columns import Booleans, Columns, Floats
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
    data = [copy for copy in connection.copies if copy.len > 0]
    if "packets" not in source.table_names or not data:
        return []
    link = _bottleneck(source, data)
    if link is None:
        return []
    return _divided(connection, data, _within(link, connection.first_seen, connection.last_seen))


def _bottleneck(source: Source, data: list[Copy]) -> _Transmissions | None:
    """Return the link direction that was busy longest, of those that the data crossed."""
    packets = columns_of(source, "packets")
    packets = packets.where(packets.known("transmitted_ns"))
    if not len(packets):
        # Captures of both ends have no data on a transmitter.
        return None
    places = np.char.add(np.char.add(packets.texts("link").astype(str), "."), packets.texts("direction").astype(str))
    crossed = sorted({hop.link for copy in data for hop in copy.hops})
    found = [_transmissions(packets, places == link) for link in crossed]
    return max(found, key=lambda link: float(link.least.sum()), default=None)


def _transmissions(packets: Columns, rows: Booleans) -> _Transmissions:
    chosen = packets.where(rows)
    end = chosen.seconds("transmitted_ns")
    order = np.argsort(end, kind="stable")
    end, entered = end[order], chosen.seconds("entered_ns")[order]
    begin = np.maximum(np.concatenate(([-np.inf], end[:-1])), entered) if len(end) else end
    size = chosen.numbers("bytes")[order]
    took = end - begin
    best = float(np.quantile(took / size, BEST)) if len(end) else 0.0
    return _Transmissions(chosen.numbers("packet")[order], begin, end, np.minimum(took, best * size))


BEST: Final = 0.05
"""Quantile of the time per byte that counts as the link's best; the minimum would depend on a single packet."""


def _within(link: _Transmissions, since: float, until: float) -> _Transmissions:
    inside = (link.end > since) & (link.begin < until)
    return _Transmissions(link.packet[inside], link.begin[inside], link.end[inside], link.least[inside])


def _divided(connection: Connection, data: list[Copy], link: _Transmissions) -> list[TimeShare]:
    waits = _Waits(connection, data)
    useful = _useful(data)
    copies = {copy.packet: copy for copy in data}
    shares: dict[str, float] = defaultdict(float)
    now = connection.first_seen
    for packet, begin, end, least in zip(link.packet.astype(int), link.begin, link.end, link.least, strict=True):
        copy = copies.get(int(packet))
        gap = max(float(begin) - now, 0.0)
        if gap > 0:
            # A packet of another flow does not end the connection's wait; its own next packet does.
            shares[waits.kind(copy, now)] += gap
        shares["held"] += max(float(end - begin - least), 0.0)
        shares[_kind_of_busy(copy, useful)] += float(least)
        now = max(now, float(end))
    shares["ending"] += max(connection.last_seen - now, 0.0)
    told = [TimeShare(kind, shares[kind], words) for kind, words in WORDS.items() if shares[kind] > NOTHING]
    return sorted(told, key=lambda share: (share.kind != IDEAL, -share.seconds))


NOTHING: Final = 5e-7
"""Shares below this, in seconds, are rounding errors."""


def _useful(data: list[Copy]) -> set[int]:
    """Return the packets with bytes that no earlier arrival had."""
    reached, useful = -1, set()
    seen: set[int] = set()
    for copy in sorted((copy for copy in data if copy.arrived is not None), key=lambda copy: copy.arrived or 0.0):
        if copy.seq not in seen and not copy.end <= reached:
            useful.add(copy.packet)
        seen.add(copy.seq)
        if copy.seq <= reached + 1:
            reached = max(reached, copy.end)
    return useful


def _kind_of_busy(copy: Copy | None, useful: set[int]) -> str:
    if copy is None:
        return "others"
    if copy.packet in useful:
        return IDEAL
    return "needless" if copy.arrived is not None else "wasted"


class _Waits:
    """Determines what a connection waited for while its bottleneck was idle."""

    def __init__(self, connection: Connection, data: list[Copy]) -> None:
        self._connection = connection
        self._data = data
        self._sent = [copy.time for copy in data]
        self._times = [made.time for made in connection.decisions]

    def kind(self, ended_by: Copy | None, since: float) -> str:
        """Return the cause of a wait from `since` until a copy, or until a packet of another flow."""
        copy = ended_by or self._next_after(since)
        if copy is None:
            return "ending"
        if copy is self._data[0]:
            return "handshake"
        if copy.cause == "timeout":
            return "spurious_timeout" if copy.needless else "timeout"
        if copy.retransmission:
            return "after_timeout" if copy.cause == "after_timeout" else "recovery"
        made = self._decision_before(copy.time)
        return "window" if made is None else self._kind_of_state(made)

    def _kind_of_state(self, made: Decision) -> str:
        room = made.flight + self._connection.segment_size
        if room > made.advertised:
            return "peer_window"
        if room <= made.cwnd and made.phase in ("slow_start", "congestion_avoidance") and self._had_stopped(made):
            return "application"
        return {"fast_recovery": "recovery", "congestion_avoidance": "window"}.get(made.phase, made.phase)

    def _had_stopped(self, made: Decision) -> bool:
        """Return whether the sender sent nothing after a decision although the windows had room, for lack of data."""
        place = bisect_right(self._sent, made.time)
        return place == 0 or self._sent[place - 1] < made.time

    def _next_after(self, time: float) -> Copy | None:
        place = bisect_right(self._sent, time)
        return self._data[place] if place < len(self._data) else None

    def _decision_before(self, time: float) -> Decision | None:
        place = bisect_right(self._times, time)
        return self._connection.decisions[place - 1] if place else None
