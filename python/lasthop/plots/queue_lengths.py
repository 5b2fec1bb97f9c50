"""The lengths of queues over time, from the tables `queue` and `packets`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from lasthop.plots.columns import Columns, Floats
from lasthop.plots.queue_limit import QueueLimit, averaged_in_bytes, limits_of
from lasthop.plots.source import Source, columns_of

MOST_PANELS: Final = 6
"""Largest number of queues that are drawn without being named: those with most drops, then the longest."""

HARDLY_USED: Final = 0.15
"""Share of the longest queue's bytes up to which a queue without a drop is left out, if it is not named."""

QUEUE_DROP: Final = "queue_drop"


@dataclass(frozen=True)
class Queue:
    """One queue: its length from each time until the next, RED's average, and the length at each drop.

    Lengths are in packets, or in bytes where the average or, without one, the limit is. Of several changes at one time
    only the last is kept.
    """

    link: str
    direction: str
    time: Floats
    packets: Floats
    bytes: Floats
    average_time: Floats
    average: Floats
    drop_time: Floats
    drop_behind: Floats
    limit: QueueLimit | None = None
    averaged_in_bytes: bool = False

    @property
    def name(self) -> str:
        """Its name in options, such as "lasthop.down"."""
        return f"{self.link}.{self.direction}"

    @property
    def in_bytes(self) -> bool:
        """Whether its axis is in bytes: as its average is or, without one, its limit."""
        if len(self.average):
            return self.averaged_in_bytes
        return self.limit is not None and self.limit.in_bytes

    @property
    def length(self) -> Floats:
        """Its length from each time on, in the unit of its axis."""
        return self.bytes if self.in_bytes else self.packets

    @property
    def length_at_drops(self) -> Floats:
        """Its length at each drop, in the unit of its axis."""
        if not self.in_bytes:
            return self.drop_behind
        # A queue may refuse a packet at a time at which another leaves: the longer of both lengths is what it met.
        held = np.concatenate([[0.0], self.bytes])
        before, after = (np.searchsorted(self.time, self.drop_time, side=side) for side in ("left", "right"))
        return np.asarray(np.maximum(held[before], held[after]))

    def highest(self) -> float:
        """The largest number of packets in the queue, also at a drop."""
        return float(max(self.packets.max(initial=0), self.drop_behind.max(initial=0)))


def read_queues(source: Source) -> list[Queue]:
    """All queues, in the order in which they were first used."""
    rows = columns_of(source, "queue")
    drops = None
    if "packets" in source.table_names:
        drops = columns_of(source, "packets").equal("fate", QUEUE_DROP)
    limits, in_bytes = limits_of(source), averaged_in_bytes(source)
    names = rows.pairs("link", "direction")
    queues = [_read_one(rows, drops, link, way, limits.get(f"{link}.{way}")) for link, way in names]
    return [replace(queue, averaged_in_bytes=queue.name in in_bytes) for queue in queues]


def worth_drawing(queues: list[Queue]) -> tuple[list[Queue], list[Queue]]:
    """Return the queues with drops and the most used queues, and the other queues that were not empty."""
    used = [queue for queue in queues if queue.highest() > 0]
    longest = max((float(queue.bytes.max(initial=0)) for queue in used), default=0.0)
    by_weight = sorted(used, key=lambda queue: (len(queue.drop_time), queue.highest()), reverse=True)
    mattered = [
        queue.name
        for queue in by_weight
        if len(queue.drop_time) or float(queue.bytes.max(initial=0)) > HARDLY_USED * longest
    ]
    kept = mattered[:MOST_PANELS]
    return [queue for queue in used if queue.name in kept], [queue for queue in by_weight if queue.name not in kept]


def _read_one(rows: Columns, drops: Columns | None, link: str, direction: str, limit: QueueLimit | None) -> Queue:
    here = rows.equal("link", link).equal("direction", direction)
    time = here.numbers("time_ns")
    settled = here.where(np.append(time[1:] != time[:-1], True))
    averaged = here.where(here.known("average"))
    lost = None if drops is None else drops.equal("link", link).equal("direction", direction)
    return Queue(
        link,
        direction,
        time=settled.seconds("time_ns"),
        packets=settled.numbers("packets"),
        bytes=settled.numbers("bytes"),
        average_time=averaged.seconds("time_ns"),
        average=averaged.numbers("average"),
        drop_time=np.empty(0) if lost is None else lost.seconds("entered_ns"),
        drop_behind=np.empty(0) if lost is None else lost.numbers("behind"),
        limit=limit,
    )


def mean_and_longest(time: Floats, packets: Floats, edges: Floats) -> tuple[Floats, Floats]:
    """The mean over time and the longest of a queue that had `packets` from `time` on, for each two edges.

    Before the first time it was empty.
    """
    area = np.concatenate([[0.0], np.cumsum(packets[:-1] * np.diff(time))])
    mean = np.diff(np.interp(edges, time, area)) / np.diff(edges)
    at_start = np.searchsorted(time, edges[:-1], side="right")
    longest = np.concatenate([[0.0], packets])[at_start]
    inside = (time >= edges[0]) & (time < edges[-1])
    np.maximum.at(longest, np.searchsorted(edges, time[inside], side="right") - 1, packets[inside])
    return mean, longest
