"""The packets of a connection as qlog has them: numbered by direction, and acknowledged by these numbers.

TCP acknowledges bytes, QUIC packets. An acknowledgment is therefore given as the packets whose bytes it reports for the
first time; of several copies of a byte, the latest counts as acknowledged.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lasthop.plots.columns import Columns


@dataclass(frozen=True)
class Packet:
    """One packet with its number, and the number of the packet that it replaces."""

    time: int
    sent: bool
    number: int
    length: int
    cause: str
    frames: list[dict[str, Any]]
    replaced: int | None


@dataclass
class _Direction:
    """The packets of one direction."""

    count: int = 0
    highest_acknowledged: int | None = None
    starts: list[int] = field(default_factory=list)
    """First bytes that are not acknowledged, in order."""
    copies: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The end and the number of the latest copy from each of them."""

    def send(self, seq: int, end: int) -> tuple[int, int | None]:
        """Return the number of a packet that is sent, and that of the packet with the same first byte before it."""
        number = self.count
        self.count += 1
        if end <= seq:
            return number, None
        before = self.copies.get(seq)
        if before is None:
            insort(self.starts, seq)
        self.copies[seq] = (end, number)
        return number, None if before is None else before[1]

    def acknowledge(self, first: int, end: int) -> list[int]:
        """Return the packets whose bytes lie from `first` to `end` and were not acknowledged before."""
        low, high = bisect_left(self.starts, first), bisect_left(self.starts, end)
        whole = [start for start in self.starts[low:high] if self.copies[start][0] <= end]
        numbers = [self.copies.pop(start)[1] for start in whole]
        self.starts[low:high] = [start for start in self.starts[low:high] if start in self.copies]
        self.highest_acknowledged = max([*numbers, *_present(self.highest_acknowledged)], default=None)
        return numbers


def numbered(rows: Columns) -> Iterator[Packet]:
    """Yield the packets at one host, in the order of the table."""
    directions = {True: _Direction(), False: _Direction()}
    times, seqs, lengths, acks = (rows.numbers(name) for name in ("time_ns", "seq", "len", "ack"))
    texts = (rows.texts(name) for name in ("direction", "kind", "cause", "flags", "sack"))
    for time, seq, length, ack, way, kind, cause, flags, sack in zip(times, seqs, lengths, acks, *texts, strict=True):
        sent, control = way == "sent", sum(name in flags for name in "SF")
        data = 0 if kind == "rst" else int(length)
        number, replaced = directions[sent].send(int(seq), int(seq) + data + control)
        frames = _data_frames(int(seq), data, "F" in flags) if data or "F" in flags else []
        if not np.isnan(ack):
            frames += _ack_frames(directions[not sent], int(ack), sack)
        lost = replaced if sent and kind == "retransmission" else None
        yield Packet(int(time), sent, number, data, cause, frames or [{"frame_type": "ping"}], lost)


def _data_frames(seq: int, length: int, fin: bool) -> list[dict[str, Any]]:
    frame: dict[str, Any] = {"frame_type": "stream", "stream_id": 0, "offset": max(seq - 1, 0), "length": length}
    return [frame | {"fin": True} if fin else frame]


def _ack_frames(peer: _Direction, ack: int, sack: str) -> list[dict[str, Any]]:
    """Return an ACK frame of the newly acknowledged packets, or else of the highest acknowledged packet."""
    numbers = peer.acknowledge(0, ack)
    for block in sack.split():
        first, end = block.split("-")
        numbers += peer.acknowledge(int(first), int(end))
    if not numbers:
        numbers = _present(peer.highest_acknowledged)
    return [{"frame_type": "ack", "acked_ranges": _ranges(numbers)}] if numbers else []


def _ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Return the numbers as ranges, both ends included, in growing order."""
    ranges: list[list[int]] = []
    for number in sorted(set(numbers)):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


def _present(number: int | None) -> list[int]:
    return [] if number is None else [number]
