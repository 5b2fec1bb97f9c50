"""Joined captures as a result folder: the packets of both ends in the table `segments`, the path in `packets`.

All times are by the clock of the sender's end of the first joined connection, from its first packet. The path between
the points is the link `path`: `down` carries the packets of the side that sent more data, `up` those of the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lasthop import _native
from lasthop.analysis import SEGMENTS_FILE, Analysis, flow_of
from lasthop.errors import InputError
from lasthop.joining.joined import Crossing, Floats, Joined, connections_at_one_end
from lasthop.joining.views import NONE, Ints, positions
from lasthop.results import RunResult, open_run
from lasthop.results.folder import whole_folder
from lasthop.results.run import write_index
from lasthop.selection import Selection

if TYPE_CHECKING:
    import pyarrow as pa

PATH: Final = "path"
PACKETS_FILE: Final = "packets.parquet"
BOTH_ENDS: Final = {
    True: "all of it arrived in copies that were sent before (seen at both ends)",
    False: "earlier copies did not arrive (seen at both ends)",
    None: "the other end's capture ended before that can be known",
}
"""Reason of each verdict on a retransmission."""

Row = dict[str, Any]


def joined_to_folder(found: Sequence[Analysis], joined: Sequence[Joined], folder: Path) -> RunResult:
    """Write joined captures as a result folder, without connections that only one capture has.

    Raises InputError if nothing was joined, or the folder exists and is not an earlier result.
    """
    if not joined:
        files = ", ".join(str(one.path) for one in found)
        if count := connections_at_one_end(found):
            raise InputError(
                f"were taken at the same end of each connection that they have in common ({count})",
                file=files,
                help="capture at both ends, or analyze them one by one",
            )
        help = "analyze them one by one, or look with `tshark -r` whether they show the same connections"
        raise InputError("have no connection in common", file=files, help=help)
    reports = {one.path: one.report for one in found}
    with whole_folder(folder) as partial:
        chosen = {one.path: one.chosen for one in found}
        read = cache(lambda capture: _segments(chosen[capture], partial))
        parts = [_Part(one, joined[0].near.capture, read(one.near.capture), reports) for one in joined]
        origin = min(part.first for part in parts)
        _write([row for part in parts for row in part.segments()], origin, _SEGMENT_TIMES, partial / SEGMENTS_FILE)
        _write([row for part in parts for row in part.packets()], origin, _PACKET_TIMES, partial / PACKETS_FILE)
        given = {"captures": [str(one.path) for one in found], "joined": [one.to_json() for one in joined]}
        write_index(partial, _summary(parts, found), "", given)
    return open_run(folder)


_SEGMENT_TIMES: Final = ("time_ns",)
_PACKET_TIMES: Final = ("entered_ns", "delivered_ns")


class _Part:
    """One joined connection. Times are whole nanoseconds since 1970 by the clock of the capture `by`."""

    def __init__(
        self, joined: Joined, by: Path, rows: Mapping[int, Row], reports: Mapping[Path, Mapping[str, Any]]
    ) -> None:
        self.joined = joined
        near = joined.near
        self._by_near = near.capture == by
        self._start = int(near.time.min())
        self._rows = [rows[int(packet)] for packet in near.packet]
        self.flow = str(self._rows[0]["flow"])
        self.sender = str(self._rows[0]["host"])
        self.receiver = near.ends[1 - near.bulk_sender]
        self.report = _report_of(reports[near.capture], self.flow)
        self._sent = self._times(joined.forward.sent)
        self._arrived = self._times(joined.forward.arrived)
        self._back = self._times(joined.backward.sent)
        self._heard = self._times(joined.backward.arrived)
        self.first = int(min(times.min() for times in (self._sent, self._back) if len(times)))

    def _times(self, seconds: Floats) -> Ints:
        """Return times in nanoseconds; NONE for a packet that did not arrive."""
        clocks = self.joined.clocks
        # The clock is that of the sender's capture or that of the receiver's.
        ours = seconds if self._by_near else seconds + clocks.offset_s + clocks.skew * (seconds - clocks.epoch_s)
        known = ~np.isnan(ours)
        return np.where(known, np.rint(np.nan_to_num(ours) * 1e9).astype(np.int64) + self._start, NONE)

    def _packets_back(self) -> list[tuple[int, Row]]:
        """Return a number for each packet of the reverse direction, and its fields.

        Packets that were lost are not in the sender's capture; their numbers are negative.
        """
        back = self.joined.backward
        acked = self._acked_back()
        found = []
        for place, (row, there) in enumerate(zip(back.rows, back.there, strict=True)):
            if there != NONE:
                own = self._rows[there]
                found.append((int(own["packet"]), own))
            else:
                found.append((-1 - place, self._lost_back(place, int(row), acked)))
        return found

    def _acked_back(self) -> Ints:
        """Return the stream position that each packet of the reverse direction acknowledges, or NONE."""
        near, far, rows = self.joined.near, self.joined.far, self.joined.backward.rows
        acks = far.ack[rows]
        known = acks != NONE
        places = np.full(len(rows), NONE, dtype=np.int64)
        if known.any():
            first = int(near.seq[self.joined.forward.rows[0]])
            raw = positions(acks[known])
            places[known] = raw - raw[0] + (raw[0] - first) % (1 << 32)
        return places

    def _lost_back(self, place: int, row: int, acked: Ints) -> Row:
        """Return the fields of a packet that the receiver sent and the sender's capture does not have."""
        far, back = self.joined.far, self.joined.backward
        again = bool(far.retransmission[row])
        return {
            **dict.fromkeys(self._rows[0]),
            "flow": self.flow,
            "kind": "retransmission" if again else "data" if far.length[row] else "ack",
            "seq": int(back.position[place]),
            "len": int(far.length[row]),
            "ack": None if acked[place] == NONE else int(acked[place]),
            "window": int(far.window[row]),
            "flags": "",
            "retransmission": again,
            "connection": 1,
        }

    def segments(self) -> list[Row]:
        """Return a row for each packet at each end."""
        return [*self._at_sender(), *self._at_receiver()]

    def _at_sender(self) -> list[Row]:
        needless = self.joined.forward.needless
        rows = []
        for place, at in zip(self.joined.forward.rows, self._sent, strict=True):
            row = {**self._rows[place], "time_ns": int(at)}
            if int(place) in needless:
                row |= _judged(needless[int(place)])
            rows.append(row)
        back = self.joined.near.sent_by(1 - self.joined.near.bulk_sender)
        shift = self._times((self.joined.near.time[back] - self._start) / 1e9)
        return rows + [{**self._rows[place], "time_ns": int(at)} for place, at in zip(back, shift, strict=True)]

    def _at_receiver(self) -> list[Row]:
        host = {"host": self.receiver, "cause": None, **dict.fromkeys(_VERDICT)}
        forward = self.joined.forward
        received = [
            {**self._rows[place], **host, "direction": "received", "time_ns": int(at)}
            for place, at in zip(forward.rows, self._arrived, strict=True)
            if at != NONE
        ]
        sent = [
            {**row, **host, "packet": packet, "direction": "sent", "time_ns": int(at)}
            for (packet, row), at in zip(self._packets_back(), self._back, strict=True)
        ]
        return received + sent

    def packets(self) -> list[Row]:
        """Return a row for each packet on the path."""
        down = [(int(self._rows[place]["packet"]), self._rows[place]) for place in self.joined.forward.rows]
        ways = (
            ("down", self.joined.forward, down, self._sent, self._arrived),
            ("up", self.joined.backward, self._packets_back(), self._back, self._heard),
        )
        return [
            _passage(self.flow, way, packet, row, (int(out), int(there)), (int(size), bool(lost)))
            for way, crossing, packets, sent, arrived in ways
            for (packet, row), out, there, size, lost in zip(
                packets, sent, arrived, crossing.size, crossing.lost, strict=True
            )
        ]


_VERDICT: Final = ("needless", "why", "explanation", "confidence")


def _judged(needless: bool | None) -> Row:
    sure = "unknown" if needless is None else "certain"
    verdict = (needless, "both_ends", BOTH_ENDS[needless], sure)
    return dict(zip(_VERDICT, verdict, strict=True))


def _passage(
    flow: str, way: str, packet: int, row: Row, times: tuple[int, int], size_and_lost: tuple[int, bool]
) -> Row:
    (out, there), (size, lost) = times, size_and_lost
    kept = ("kind", "seq", "len", "ack", "flags", "window", "sack", "retransmission", "cause")
    return {
        "packet": packet,
        "flow": flow,
        "link": PATH,
        "direction": way,
        **{name: row[name] for name in kept},
        "bytes": size,
        "entered_ns": out,
        "behind": 0,
        "transmitted_ns": None,
        "delivered_ns": None if there == NONE else there,
        "fate": "delivered" if there != NONE else "lost" if lost else "in_flight",
        "rule": None,
        "delay_ns": 0,
        "delay_cause": None,
        "connection": 1,
    }


def _segments(chosen: Selection, partial: Path) -> dict[int, Row]:
    """Return the rows of the table `segments` of a capture, by the number of the frame."""
    import pyarrow.parquet as pq

    path = partial / SEGMENTS_FILE
    _native.analyze(chosen, path)
    rows = pq.read_table(path).to_pylist()
    path.unlink()
    return {row["packet"]: row for row in rows}


def _write(rows: list[Row], origin: int, times: Sequence[str], path: Path) -> None:
    import pyarrow as pa

    for row in rows:
        row |= {name: row[name] - origin for name in times if row[name] is not None}
    rows.sort(key=lambda row: row[times[0]])
    # A column without a value would have the type null.
    columns = {name: _column(name, [row[name] for row in rows]) for name in rows[0]}
    _native.write_table(pa.table(columns), path)


_WHOLE: Final = ("transmitted_ns", "delivered_ns", "ack")
_TRUTH: Final = ("needless",)


def _column(name: str, values: list[Any]) -> pa.Array:
    import pyarrow as pa

    if any(value is not None for value in values):
        return pa.array(values)
    return pa.array(values, pa.int64() if name in _WHOLE else pa.bool_() if name in _TRUTH else pa.string())


def _report_of(report: Mapping[str, Any], flow: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(one for one in report["connections"] if one["flow"] == flow)
    return found


def _summary(parts: Sequence[_Part], found: Sequence[Analysis]) -> dict[str, Any]:
    return {
        "scenario": "+".join(one.path.stem for one in found),
        "seed": 0,
        "clock": "capture",
        "stopped_s": max(one.report["length_s"] for one in found),
        "stopped_by": "end of the captures",
        "flows": [_flow(part) for part in parts],
        "links": [
            _link("down", [part.joined.forward for part in parts]),
            _link("up", [part.joined.backward for part in parts]),
        ],
    }


def _flow(part: _Part) -> dict[str, Any]:
    verdicts = part.joined.forward.needless.values()
    return {**flow_of(part.report), "unnecessary_retransmissions": sum(verdict is True for verdict in verdicts)}


def _link(direction: str, ways: Sequence[Crossing]) -> dict[str, Any]:
    return {
        "link": PATH,
        "direction": direction,
        "packets_in": sum(len(way.sent) for way in ways),
        "packets_out": sum(len(way.delay) for way in ways),
        "queue_drops": 0,
        "error_drops": 0,
        "lost": sum(int(np.count_nonzero(way.lost)) for way in ways),
        "queue_max": None,
    }
