"""Two runs of one scenario compared packet by packet: which packets both have, and the times between them.

Two packets are the same if they have the same numbers (`seq`, `len`, `ack`, flags) and are the same copy of them, at
the same end of the same flow. The clocks of the runs can start at different times: the median difference of a flow's
packets is the offset, and is subtracted from all differences. (The first packet alone would not do: it meets cold
caches.) The stated error of a run in real time is its largest lateness.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lasthop.errors import InputError
from lasthop.results import open_run

if TYPE_CHECKING:
    import pyarrow as pa

    from lasthop.results.run import RunResult

COLUMNS: Final = ("flow", "host", "direction", "seq", "len", "ack", "flags")
"""Columns that identify a packet, together with the number of the copy."""

NS_PER_MS: Final = 1e6

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class SeenPackets:
    """The packets of one flow that one host sent or received, in both runs.

    `packets` is the number of packets in each run, `common` the number in both, `in_order` the number of leading
    packets that are equal in both. `median_ms` to `max_ms` are quantiles of the time between a packet in the first run
    and in the second, after `offset_ms`, the median difference, is subtracted; each run's time starts at the flow's
    first packet. `within_error` is the share of those times within the stated error.
    """

    flow: str
    host: str
    direction: str
    packets: tuple[int, int]
    common: int
    in_order: int
    offset_ms: float
    median_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    within_error: float | None

    @property
    def same(self) -> bool:
        """Whether both runs have the same packets in the same order."""
        return self.packets == (self.in_order, self.in_order)


@dataclass(frozen=True)
class PacketComparison:
    """Two runs packet by packet. `error_ms` is the largest lateness of those in real time, None if none is."""

    names: tuple[str, str]
    error_ms: float | None
    seen: tuple[SeenPackets, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as one object."""
        rows = [{**asdict(row), "same": row.same} for row in self.seen]
        return {"kind": "packets", "results": list(self.names), "error_ms": self.error_ms, "seen": rows}


def compare_packets(first: Path, second: Path) -> PacketComparison:
    """Compare two runs, result folders with the table `segments`, packet by packet.

    Raises InputError if one is no run or has no such table, or if they have no flow in common.
    """
    runs = (open_run(first), open_run(second))
    error = _stated_error(runs)
    one, other = (_packets(run.table("segments")) for run in runs)
    places = [place for place in one if place in other]
    if not places:
        raise InputError(
            f"no flow is in both: {_names(one)} in the first, {_names(other)} in the second",
            help="compare two runs of one scenario",
        )
    offsets = _offsets(one, other)
    seen = tuple(_seen(place, one[place], other[place], offsets.get(place[0], 0.0), error) for place in places)
    return PacketComparison((first.name, second.name), error, seen)


def _stated_error(runs: Iterable[RunResult]) -> float | None:
    stated = [float(run.summary["lateness"]["max_ms"]) for run in runs if "lateness" in run.summary]
    return max(stated, default=None)


def _packets(segments: pa.Table) -> dict[Key, dict[Key, float]]:
    """Return the time of each packet in milliseconds, by flow, host and direction, then by the packet's identity."""
    columns = [segments[name].to_pylist() for name in COLUMNS]
    began: dict[str, int] = {}
    found: dict[Key, dict[Key, float]] = {}
    copies: dict[Key, int] = {}
    for at, *known in zip(segments["time_ns"].cast("int64").to_pylist(), *columns, strict=True):
        place, numbers = tuple(known[:3]), tuple(known[3:])
        since = at - began.setdefault(known[0], at)
        copy = copies.get((place, numbers), 0)
        copies[place, numbers] = copy + 1
        found.setdefault(place, {})[*numbers, copy] = since / NS_PER_MS
    return found


def _offsets(one: Mapping[Key, Mapping[Key, float]], other: Mapping[Key, Mapping[Key, float]]) -> dict[str, float]:
    """Return the median difference between the second and the first run of each flow, in milliseconds."""
    later: dict[str, list[float]] = {}
    for place, packets in one.items():
        matching = other.get(place, {})
        later.setdefault(place[0], []).extend(matching[key] - at for key, at in packets.items() if key in matching)
    return {flow: float(np.median(values)) for flow, values in later.items() if values}


def _seen(
    place: Key, one: Mapping[Key, float], other: Mapping[Key, float], offset: float, error: float | None
) -> SeenPackets:
    apart = np.array([abs(other[key] - at - offset) for key, at in one.items() if key in other])
    both = zip(one, other, strict=False)
    in_order = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))
    flow, host, direction = place
    return SeenPackets(
        flow=flow,
        host=host,
        direction=direction,
        packets=(len(one), len(other)),
        common=len(apart),
        in_order=in_order,
        offset_ms=offset,
        median_ms=float(np.median(apart)) if len(apart) else None,
        p95_ms=float(np.quantile(apart, 0.95)) if len(apart) else None,
        p99_ms=float(np.quantile(apart, 0.99)) if len(apart) else None,
        max_ms=float(apart.max()) if len(apart) else None,
        within_error=float((apart <= error).mean()) if len(apart) and error is not None else None,
    )


def _names(found: Mapping[Key, Any]) -> str:
    return ", ".join(dict.fromkeys(str(flow) for flow, _, _ in found)) or "none"
