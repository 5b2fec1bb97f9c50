"""Two runs of one scenario packet by packet: the same decisions, and how far apart in time.

A packet of one run is the packet of the other that has the same numbers (`seq`, `len`, `ack`, flags) and is the same
copy of them, at the same end of the same flow. Two clocks need not have begun together: what the second is behind in
the median of all of a flow's packets is its offset, and times apart are told without it. (By the first packet alone,
which finds cold caches, its own lateness would be that of all others.) The stated error of a run in real time is its
greatest lateness: no packet was released later.
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
"""What a packet is known by, beside which copy it is."""

NS_PER_MS: Final = 1e6

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class SeenPackets:
    """The packets of one flow that one host sent or received, in both runs.

    `packets` is how many each run has, `common` how many are in both, `in_order` how many both have in the same order
    from the first on. The times are those between a packet of the first run and the same of the second, in
    milliseconds, without `offset_ms`, by which the flow is later in the second, both counted from its first packet;
    `within_error` is the share of them that the stated error covers.
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
        """Whether both runs have the very same packets in the same order."""
        return self.packets == (self.in_order, self.in_order)


@dataclass(frozen=True)
class PacketComparison:
    """Two runs packet by packet. `error_ms` is the greatest lateness of those in real time."""

    names: tuple[str, str]
    error_ms: float | None
    seen: tuple[SeenPackets, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as one object."""
        rows = [{**asdict(row), "same": row.same} for row in self.seen]
        return {"kind": "packets", "results": list(self.names), "error_ms": self.error_ms, "seen": rows}


def compare_packets(first: Path, second: Path) -> PacketComparison:
    """Compare two runs, result folders with the table `segments`, packet by packet.

    Raises InputError where one is no run, has no such table, or they have no flow in common.
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
    told = [float(run.summary["lateness"]["max_ms"]) for run in runs if "lateness" in run.summary]
    return max(told, default=None)


def _packets(segments: pa.Table) -> dict[Key, dict[Key, float]]:
    """When each packet was seen, by flow, host and direction, and by what it is known by, in order."""
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
    """Return by how many milliseconds each flow is later in the second run, in the median of its packets."""
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
