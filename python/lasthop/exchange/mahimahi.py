"""Logs of Mahimahi's mm-link, written and read, and traces made from logs.

A log has a line for each event, with its time in whole milliseconds first: `# BYTES` an opportunity to send, `+ BYTES`
an arriving packet, `- BYTES DELAY` a departing one, with its time in the queue in ms, `d PACKETS BYTES` dropped packets
(src/frontend/link_queue.cc). The graphs of Mahimahi (mm-throughput-graph, mm-delay-graph) are drawn from it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from lasthop import _native
from lasthop.errors import InputError, naming
from lasthop.exchange.file_format import Format, Result, Written, file_name
from lasthop.plots.columns import Columns
from lasthop.plots.flow import DROPPED
from lasthop.plots.source import columns_of

OPPORTUNITY_BYTES: Final = 1504
"""Bytes of one line of a trace: 1500, and four of the TUN device's header."""

MS: Final = 1e6
"""Nanoseconds of a millisecond."""


def files(result: Result) -> Iterator[Written]:
    """Yield one log for each link direction with packets.

    Its opportunities are those of the link without packets, as `lasthop trace` has them; a direction without a rate,
    or a path that was not a link of ours, has none.
    """
    packets = columns_of(result.source, "packets")
    places = dict.fromkeys(zip(packets.texts("link"), packets.texts("direction"), strict=True))
    for link, direction in places:
        here = packets.equal("link", str(link)).equal("direction", str(direction))
        head = (
            f"# mahimahi mm-link ({'uplink' if direction == 'up' else 'downlink'}) [{link}.{direction}] > log\n"
            f"# command line: lasthop export ({result.source.name})\n"
            f"# init timestamp: 0\n# base timestamp: 0\n"
        )
        events = [*_opportunities(result, f"{link}.{direction}"), *_events(here)]
        lines = "".join(f"{text}\n" for _, text in sorted(events, key=lambda event: event[0]))
        yield Written(f"{file_name(f'{link}.{direction}')}.log", head + lines)


def _opportunities(result: Result, link: str) -> Iterator[tuple[float, str]]:
    """Time in nanoseconds, and the line, of each opportunity to send until the run's end."""
    seconds = float(result.summary["stopped_s"])
    try:
        trace = _native.link_trace(json.dumps(result.specification), link, seconds)
    except InputError:
        return
    for line in trace.splitlines():
        yield int(line) * MS, f"{line} # {OPPORTUNITY_BYTES}"


def _events(packets: Columns) -> Iterator[tuple[float, str]]:
    """Time in nanoseconds, and the line."""
    columns = (packets.numbers(name) for name in ("bytes", "entered_ns", "transmitted_ns", "delivered_ns"))
    for fate, size, entered, transmitted, delivered in zip(packets.texts("fate"), *columns, strict=True):
        yield entered, f"{entered // MS:.0f} + {size:.0f}"
        left = transmitted if np.isfinite(transmitted) else delivered
        if fate in DROPPED:
            at = left if np.isfinite(left) else entered
            yield at, f"{at // MS:.0f} d 1 {size:.0f}"
        elif np.isfinite(left):
            yield left, f"{left // MS:.0f} - {size:.0f} {left // MS - entered // MS:.0f}"


@dataclass(frozen=True)
class LoggedPacket:
    """A packet in a log: its arrival and departure in ms from the log's start; None if it did not depart."""

    bytes: int
    entered_ms: int
    left_ms: int | None
    dropped: bool


@dataclass(frozen=True)
class Log:
    """The contents of a log of mm-link."""

    opportunities_ms: tuple[int, ...]
    packets: tuple[LoggedPacket, ...]


def read_log(path: str | Path) -> Log:
    """Read a log of mm-link. Raises InputError, with the line, if it is none.

    A departure is that of the packet of its size that arrived DELAY before; a drop is that of the last arrival.
    """
    file = Path(path)
    with naming(file):
        lines = file.read_text("utf-8", errors="replace").splitlines()
    base = 0
    reader = _Reader()
    for number, line in enumerate(lines, start=1):
        if line.startswith("#"):
            if line.startswith("# base timestamp: "):
                base = int(line.removeprefix("# base timestamp: "))
            continue
        if line.strip():
            try:
                reader.take(line.split(), base)
            except (ValueError, IndexError) as error:
                raise InputError(
                    f"line {number} is not of a log of mm-link: {line[:60]!r}",
                    file=str(file),
                    help="a line is TIME # BYTES, TIME + BYTES, TIME - BYTES DELAY, or TIME d PACKETS BYTES",
                ) from error
    return reader.log()


class _Reader:
    def __init__(self) -> None:
        self._opportunities: list[int] = []
        self._done: list[LoggedPacket] = []
        self._inside: deque[tuple[int, int]] = deque()

    def take(self, words: list[str], base: int) -> None:
        time, kind = int(words[0]) - base, words[1]
        if kind == "#":
            self._opportunities.append(time)
        elif kind == "+":
            self._inside.append((time, int(words[2])))
        elif kind == "-":
            self._leave(int(words[2]), time - int(words[3]), time)
        elif kind == "d":
            for _ in range(int(words[2])):
                entered, size = self._inside.pop()
                self._done.append(LoggedPacket(size, entered, time, dropped=True))
        else:
            raise ValueError(kind)

    def _leave(self, size: int, entered: int, time: int) -> None:
        if (entered, size) in self._inside:
            self._inside.remove((entered, size))
        self._done.append(LoggedPacket(size, entered, time, dropped=False))

    def log(self) -> Log:
        rest = [LoggedPacket(size, entered, None, dropped=False) for entered, size in self._inside]
        packets = sorted(self._done + rest, key=lambda packet: packet.entered_ms)
        return Log(tuple(self._opportunities), tuple(packets))


def trace_of_log(log: Log) -> str:
    """Return the trace that mm-link replayed: a line for each opportunity, with its time in ms.

    A link with `capacity = { trace = { path = "FILE" } }` replays it. Raises InputError if the log has no opportunity.
    """
    if not log.opportunities_ms:
        raise InputError(
            "the log has no opportunities to send (lines TIME # BYTES)",
            help="give a log of mm-link itself, or of `lasthop export` for a link with a rate",
        )
    return "".join(f"{time}\n" for time in log.opportunities_ms)


FORMAT: Final = Format(
    "mahimahi", "a log of mm-link for each direction of a link", needs=("packets",), uses=(), files=files
)
