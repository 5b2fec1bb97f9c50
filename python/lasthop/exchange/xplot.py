"""Time-sequence diagrams for xplot, in the signs and colours of tcptrace (its README.tcptrace: "time sequence graph").

xplot reads one command per line: a sign, then its coordinates; a line with a colour applies to the following lines.
Times are seconds with six decimals, the resolution of the type `timeval`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from lasthop.exchange.file_format import Format, OneConnection, Result, Written, connections
from lasthop.plots.columns import Floats
from lasthop.plots.flow import Acks, FlowTables, Sent

ORIGINAL: Final = "white"
AGAIN: Final = "red"
ACKNOWLEDGED: Final = "green"
WINDOW: Final = "yellow"
SACKED: Final = "purple"
DROPPED: Final = "orange"


def files(result: Result) -> Iterator[Written]:
    """Yield one diagram for each connection that sent data."""
    for connection in connections(result.source):
        diagram = "\n".join(_lines(result, connection)) + "\n"
        yield Written(f"{connection.file_stem}_tsg.xpl", diagram)


def _lines(result: Result, connection: OneConnection) -> Iterator[str]:
    flow = FlowTables(connection.tables, connection.flow)
    sent, acks = flow.sent(), flow.acks()
    yield "timeval unsigned"
    yield from ("title", f"{result.source.name}: {connection.flow} (time sequence graph)")
    yield from ("xlabel", "time", "ylabel", "sequence number")
    yield from _acks(acks)
    yield from _sacks(flow)
    yield from _segments(sent)
    yield from _drops(flow, sent)
    yield "go"


def _segments(sent: Sent) -> Iterator[str]:
    for colour, rows in ((ORIGINAL, sent.of("original")), (AGAIN, ~sent.of("original"))):
        if rows.any():
            yield colour
        for time, start, end in zip(sent.time[rows], sent.start[rows], sent.end[rows], strict=True):
            yield f"darrow {_at(time, start)}"
            yield f"uarrow {_at(time, end)}"
            yield f"line {_at(time, start)} {_at(time, end)}"
            if colour == AGAIN:
                yield from (f"atext {_at(time, end)}", "R")


def _acks(acks: Acks) -> Iterator[str]:
    yield ACKNOWLEDGED
    yield from _steps(acks.time, acks.ack)
    for time, ack in zip(acks.time[acks.duplicate], acks.ack[acks.duplicate], strict=True):
        yield f"utick {_at(time, ack)}"
    yield WINDOW
    yield from _steps(acks.time, acks.edge)


def _steps(times: Floats, values: Floats) -> Iterator[str]:
    """Yield a line that keeps each value until the next."""
    for row in range(1, len(times)):
        yield f"line {_at(times[row - 1], values[row - 1])} {_at(times[row], values[row - 1])}"
        if values[row] != values[row - 1]:
            yield f"line {_at(times[row], values[row - 1])} {_at(times[row], values[row])}"


def _sacks(flow: FlowTables) -> Iterator[str]:
    sacks = flow.sacks()
    if len(sacks.time):
        yield SACKED
    for time, start, end in zip(sacks.time, sacks.start, sacks.end, strict=True):
        yield f"line {_at(time, start)} {_at(time, end)}"
        yield from (f"rtext {_at(time, end)}", "S")


def _drops(flow: FlowTables, sent: Sent) -> Iterator[str]:
    drops = flow.drops(sent)
    known = np.isfinite(drops.time)
    if known.any():
        yield DROPPED
    for time, offset in zip(drops.time[known], drops.offset[known], strict=True):
        yield f"x {_at(time, offset)}"


def _at(time: float, offset: float) -> str:
    return f"{time:.6f} {max(int(offset), 0)}"


FORMAT: Final = Format(
    "xpl",
    "time-sequence diagrams for xplot, as tcptrace draws them",
    needs=("segments",),
    uses=("packets",),
    files=files,
)
