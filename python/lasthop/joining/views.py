"""A connection at one observation point: its packets as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lasthop import _native
from lasthop.analysis import analyze_selection
from lasthop.results.run import arrow_table
from lasthop.selection import Selection, select

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NONE: Final = -1
"""The value of a number that a packet does not have."""
SYN: Final = 2
FIN: Final = 1
RST: Final = 4


@dataclass(frozen=True)
class View:
    """The packets of one connection at one point, in the order in which they passed, as arrays of equal length.

    `seq` and `ack` are raw; `position` is the offset of the first byte in the sender's stream, which does not wrap at
    4 GB. The offsets of both points of a connection agree if both captures have its beginning. `packet` has the numbers
    of the frames, `report` what the analysis of the capture says of the connection.
    """

    capture: Path
    report: Mapping[str, Any]
    ends: tuple[str, str]
    bulk_sender: int
    rtt_min_s: float | None
    time: Ints
    packet: Ints
    from_opener: Bools
    size: Ints
    seq: Ints
    length: Ints
    ack: Ints
    window: Ints
    flags: Ints
    identification: Ints
    timestamp: Ints
    sack: Sequence[str | None]
    retransmission: Bools
    needless: Sequence[bool | None]

    def sent_by(self, side: int) -> Ints:
        """Return the indices of the packets that a side sent; side 0 opened the connection."""
        return np.flatnonzero(self.from_opener == (side == 0))


def views_of(capture: str | Path | Selection) -> list[View]:
    """Return the TCP connections of a capture, one view for each point. Raises InputError as `analyze` does."""
    chosen = capture if isinstance(capture, Selection) else select([capture])
    report = analyze_selection(chosen).report
    table = arrow_table(_native.capture_packets(chosen))
    columns = {name: _array(table.column(name)) for name in _NUMBERS}
    texts = {name: table.column(name).to_pylist() for name in ("sack", "kind", "needless")}
    order = np.argsort(columns["connection"], kind="stable")
    bounds = np.searchsorted(columns["connection"][order], np.arange(len(report["connections"]) + 1))
    return [
        _view(chosen.files[0], connection, columns, texts, np.sort(order[bounds[place] : bounds[place + 1]]))
        for place, connection in enumerate(report["connections"])
    ]


_NUMBERS: Final = (
    *("time_ns", "packet", "connection", "from_opener", "size", "seq", "len", "ack", "window", "flags"),
    *("identification", "timestamp"),
)


def _array(column: Any) -> Ints:
    filled = column if not column.null_count else column.fill_null(0)
    values: Ints = filled.to_numpy().astype(np.int64)
    if column.null_count:
        values[column.is_null().to_numpy()] = NONE
    return values


def _view(
    capture: Path,
    connection: Mapping[str, Any],
    columns: Mapping[str, Ints],
    texts: Mapping[str, Sequence[Any]],
    rows: Ints,
) -> View:
    hosts = tuple(sender["host"] for sender in connection["senders"])
    bulk = connection["bulk_sender"]
    own = {name: values[rows] for name, values in columns.items()}
    return View(
        capture=capture,
        report=connection,
        ends=(hosts[0], hosts[1]),
        bulk_sender=bulk,
        rtt_min_s=connection["senders"][bulk]["rtt_min_s"],
        time=own["time_ns"],
        packet=own["packet"],
        from_opener=own["from_opener"] != 0,
        size=own["size"],
        seq=own["seq"],
        length=own["len"],
        ack=own["ack"],
        window=own["window"],
        flags=own["flags"],
        identification=own["identification"],
        timestamp=own["timestamp"],
        sack=[texts["sack"][row] for row in rows],
        retransmission=np.array([texts["kind"][row] == "retransmission" for row in rows], dtype=bool),
        needless=[texts["needless"][row] for row in rows],
    )


def positions(numbers: Ints) -> Ints:
    """Return 32-bit numbers as offsets in a stream that does not wrap, each nearest to its predecessor."""
    if not len(numbers):
        return numbers
    steps = np.diff(numbers)
    steps = (steps + (1 << 31)) % (1 << 32) - (1 << 31)
    return np.concatenate([numbers[:1], numbers[0] + np.cumsum(steps)])
