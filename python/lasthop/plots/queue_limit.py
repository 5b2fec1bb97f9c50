"""The limits of queues, as the resolved scenario of a run has them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

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
    found = {}
    for link in getattr(source, "specification", {}).get("links", ()):
        for way in ("down", "up"):
            limit = _limit(str(link.get(way, {}).get("queue", {}).get("limit", "")))
            if limit is not None:
                found[f"{link['name']}.{way}"] = limit
    return found


def _limit(words: str) -> QueueLimit | None:
    found = re.fullmatch(r"([\d.]+) *(\w+)", words)
    if found is None or found[2] not in (*BYTES, *PACKETS):
        return None
    return QueueLimit(float(found[1]) * BYTES.get(found[2], 1.0), found[2] in BYTES, words)
