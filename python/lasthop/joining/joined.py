"""A connection in two captures: losses, one-way delays, and verdicts on retransmissions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from lasthop.analysis import Analysis
from lasthop.joining.clocks import Choice, Clocks, compare
from lasthop.joining.matching import NEVER, Arrivals, arrivals
from lasthop.joining.views import FIN, SYN, Bools, Ints, View, positions

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Crossing:
    """One direction of a connection: each packet that its sender sent, and when it arrived.

    Times are seconds by the clock of the bulk sender's end, from the first packet there. `arrived` is NaN for a packet
    that did not arrive; `unknown` marks packets after the last arrival, since the other capture may have ended then.
    `parts` has, by place, the data that arrived of packets that offloads cut, and of which not all arrived.
    """

    side: int
    rows: Ints
    there: Ints
    """Index of each packet in the other point's view, or NONE."""
    sent: Floats
    arrived: Floats
    unknown: Bools
    size: Ints
    position: Ints
    length: Ints
    retransmission: Bools
    only_far: int
    parts: Mapping[int, list[tuple[int, int]]]

    @property
    def lost(self) -> Bools:
        """Whether each packet was lost."""
        return np.isnan(self.arrived) & ~self.unknown

    @cached_property
    def delay(self) -> Floats:
        """One-way delays of the packets that arrived, in seconds, in the order of sending."""
        return (self.arrived - self.sent)[~np.isnan(self.arrived)]

    @cached_property
    def overtaken(self) -> int:
        """Number of packets that arrived later than a packet that was sent after them."""
        there = self.arrived[~np.isnan(self.arrived)]
        if len(there) < 2:
            return 0
        return int(np.count_nonzero(there[:-1] > np.minimum.accumulate(there[::-1])[::-1][1:]))

    @cached_property
    def needless(self) -> dict[int, bool | None]:
        """Verdicts on retransmissions, by index in the sender's view.

        True (needless) if all of it arrived in copies that were sent before; None if the other end's capture may have
        ended before that.
        """
        there, perhaps = _Runs(), _Runs()
        verdicts: dict[int, bool | None] = {}
        for place in np.flatnonzero(self.length > 0):
            start, end = int(self.position[place]), int(self.position[place] + self.length[place])
            if self.retransmission[place]:
                needless = there.cover(start, end)
                undecided = not needless and perhaps.cover(start, end)
                verdicts[int(self.rows[place])] = None if undecided else needless
            arrived = not np.isnan(self.arrived[place])
            for first, after in [(0, end - start)] if arrived else self.parts.get(int(place), ()):
                there.add(start + first, start + after)
                perhaps.add(start + first, start + after)
            if self.unknown[place]:
                perhaps.add(start, end)
        return verdicts

    def to_json(self) -> dict[str, Any]:
        """Return the direction's measures as a JSON object."""
        verdicts = list(self.needless.values())
        delays = self.delay
        shown = dict(zip(("min", "median", "p95", "max"), np.percentile(delays, (0, 50, 95, 100)), strict=True))
        return {
            "packets": len(self.sent),
            "arrived": len(delays),
            "lost": int(np.count_nonzero(self.lost)),
            "unknown": int(np.count_nonzero(self.unknown)),
            "only_at_receiver": self.only_far,
            "overtaken": self.overtaken,
            "delay_s": {name: float(value) for name, value in shown.items()} if len(delays) else None,
            "retransmissions": len(verdicts),
            "needless": sum(verdict is True for verdict in verdicts),
            "undecided": sum(verdict is None for verdict in verdicts),
            "losses": [
                {"time_s": float(self.sent[row]), "seq": int(self.position[row]), "len": int(self.length[row])}
                for row in np.flatnonzero(self.lost)
            ],
        }


@dataclass(frozen=True)
class Joined:
    """A connection in two captures: `near` is the point nearer to the side that sent more data."""

    near: View
    far: View
    clocks: Clocks
    forward: Crossing
    backward: Crossing

    @property
    def flow(self) -> str:
        """The connection's name."""
        return "-".join(self.near.ends)

    def to_json(self) -> dict[str, Any]:
        """Return the connection as in `lasthop analyze --json`."""
        return {
            "flow": self.flow,
            "sender_capture": str(self.near.capture),
            "receiver_capture": str(self.far.capture),
            "sender": self.near.ends[self.near.bulk_sender],
            "clock_offset_s": self.clocks.offset_s,
            "clock_skew_ppm": self.clocks.skew * 1e6,
            "clock_assumption": self.clocks.assumption,
            "forward": self.forward.to_json(),
            "backward": self.backward.to_json(),
        }


def join(views: Sequence[View], clocks: Choice = "auto") -> list[Joined]:
    """Join the views of each connection that several points saw: the two points that are farthest apart.

    The point nearer to the sender has the longer round trips. Points in one file have one clock. Connections of which
    both points are at the same end are left out: what one of them saw, the other saw.
    """
    groups: dict[tuple[str, ...], list[View]] = {}
    for view in views:
        groups.setdefault(tuple(sorted(view.ends)), []).append(view)
    joined = (_join_points(group, clocks) for group in groups.values())
    return [one for one in joined if one is not None]


def _join_points(group: Sequence[View], clocks: Choice) -> Joined | None:
    known = sorted((view for view in group if len(view.time)), key=lambda view: view.rtt_min_s or 0.0)
    # Consecutive connections between the same ports are different connections.
    if len(known) < 2 or known[-1].ends != known[0].ends:
        return None
    near, far = known[-1], known[0]
    if are_at_one_end(near.report, far.report):
        return None
    if near.capture == far.capture:
        clocks = "same" if clocks == "auto" else clocks
    return join_two(near, far, clocks)


def are_at_one_end(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two reports on a connection are those of points at the same end of it."""
    places = {report["place"]["place"] for report in (one, other)}
    return len(places) == 1 and places <= {"sender", "receiver"}


def connections_at_one_end(found: Sequence[Analysis]) -> int:
    """Return the number of connections that several captures have, all of them from the same end."""
    seen: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for connection in (connection for one in found for connection in one.connections):
        ends = tuple(sorted(sender["host"] for sender in connection["senders"]))
        seen.setdefault(ends, []).append(connection)
    several = (reports for reports in seen.values() if len(reports) > 1)
    return sum(all(are_at_one_end(reports[0], other) for other in reports[1:]) for reports in several)


def join_two(near: View, far: View, clocks: Choice = "auto") -> Joined:
    """Join two views; `near` is the view closer to the sender."""
    side = near.bulk_sender
    start = int(near.time.min())
    there = arrivals(near, far, side)
    # In the reverse direction packets are sent at the far point.
    back = arrivals(far, near, 1 - side)
    out, home = near.sent_by(side), far.sent_by(1 - side)
    compared = compare(
        _differences(near.time[out], there.times, start, sent_near=True),
        _differences(far.time[home], back.times, start, sent_near=False),
        clocks,
    )
    return Joined(
        near=near,
        far=far,
        clocks=compared,
        forward=_crossing(
            near,
            side,
            there,
            _seconds(near.time[out], start),
            compared.near_time(_seconds(there.times, start)),
        ),
        backward=_crossing(
            far,
            1 - side,
            back,
            compared.near_time(_seconds(far.time[home], start)),
            _seconds(back.times, start),
        ),
    )


def _seconds(time: Ints, start: int) -> Floats:
    return np.where(time == NEVER, np.nan, (time - start) / 1e9)


def _differences(sent: Ints, arrived: Ints, start: int, *, sent_near: bool) -> tuple[Floats, Floats]:
    """Return the near clock's times, and the differences of the far clock's times to them."""
    there = arrived != NEVER
    near, far = (sent[there], arrived[there]) if sent_near else (arrived[there], sent[there])
    return (near - start) / 1e9, (far - near) / 1e9


def _crossing(view: View, side: int, matched: Arrivals, sent: Floats, arrived: Floats) -> Crossing:
    rows = view.sent_by(side)
    there = np.flatnonzero(~np.isnan(arrived))
    unknown = np.arange(len(rows)) > (there[-1] if len(there) else -1)
    control = ((view.flags[rows] & SYN) != 0).astype(np.int64) + ((view.flags[rows] & FIN) != 0)
    position = positions(view.seq[rows])
    return Crossing(
        side=side,
        rows=rows,
        there=matched.rows,
        sent=sent,
        arrived=arrived,
        unknown=unknown & np.isnan(arrived),
        size=view.size[rows],
        position=position - (position[0] if len(position) else 0),
        length=view.length[rows] + control,
        retransmission=view.retransmission[rows],
        only_far=int(matched.left.sum()),
        parts=matched.parts,
    )


class _Runs:
    """A set of stream positions: ranges in ascending order that do not touch."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def cover(self, start: int, end: int) -> bool:
        place = bisect_right(self._starts, start) - 1
        return place >= 0 and self._ends[place] >= end

    def add(self, start: int, end: int) -> None:
        first = bisect_left(self._ends, start)
        after = bisect_right(self._starts, end)
        if first < after:
            start, end = min(start, self._starts[first]), max(end, self._ends[after - 1])
        self._starts[first:after] = [start]
        self._ends[first:after] = [end]
