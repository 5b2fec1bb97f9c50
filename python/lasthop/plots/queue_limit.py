"""The limits of queues and the units of their averages, as the resolved scenario of a run has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lasthop.plots.source import Source

BYTES: Final = {"byte": 1.0, "bytes": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20}
"""Units of sizes in scenario files."""

PACKETS: Final = ("packet", "packets")


@dataclass(frozen=True)
class QueueLimit:
    """The most that a queue holds, in packets or in bytes, and the words of the file."""

    amount: float
    in_bytes: bool
    words: str


def limits_of(source: Source) -> dict[str, QueueLimit]:
    """Return the limits by the names of queues, such as "lasthop.down"; none where the scenario is not known."""
    limits = {name: _limit(str(queue.get("limit", ""))) for name, queue in _queues(source)}
    return {name: limit for name, limit in limits.items() if limit is not None}


def averaged_in_bytes(source: Source) -> set[str]:
    """Return the names of the queues whose moving average is in bytes, as the thresholds of their RED are."""
    found = set()
    for name, queue in _queues(source):
        discipline = queue.get("discipline")
        red = discipline.get("red") if isinstance(discipline, dict) else None
        lowest = _limit(str(red.get("min", ""))) if isinstance(red, dict) else None
        if lowest is not None and lowest.in_bytes:
            found.add(name)
    return found


def _queues(source: Source) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for link in getattr(source, "specification", {}).get("links", ()):
        for way in ("down", "up"):
            yield f"{link['name']}.{way}", link.get(way, {}).get("queue", {})


def _limit(words: str) -> QueueLimit | None:
    found = re.fullmatch(r"([\d.]+) *(\w+)", words)
    if found is None or found[2] not in (*BYTES, *PACKETS):
        return None
    return QueueLimit(float(found[1]) * BYTES.get(found[2], 1.0), found[2] in BYTES, words)
