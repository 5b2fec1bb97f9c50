"""Bytes that are reported for the first time: those of arriving segments, and those of ACKs with their SACK blocks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lasthop.plots.columns import Floats

Block = tuple[float, float]

NO_BLOCKS: Final[tuple[Block, ...]] = ()


@dataclass(frozen=True)
class Covered:
    """Ranges of bytes in the order in which they were first reported; no byte is in two of them.

    `row` is the ACK that reported the range, `by_ack` whether by its number and not by a block.
    """

    row: Floats
    start: Floats
    end: Floats
    by_ack: Floats


class Coverage:
    """The bytes reported so far, as separate ranges in ascending order; the first begins at byte 0."""

    def __init__(self) -> None:
        self._starts = [0.0]
        self._ends = [0.0]

    @property
    def first_end(self) -> float:
        """The number of bytes from the beginning without a gap."""
        return self._ends[0]

    def add(self, start: float, end: float) -> list[Block]:
        """Add a range, and return the parts of it that are new."""
        starts, ends = self._starts, self._ends
        first = last = bisect_left(ends, start)
        if first < len(ends) and starts[first] <= start and end <= ends[first]:
            return []
        new, reached = [], start
        while last < len(starts) and starts[last] <= end:
            if starts[last] > reached:
                new.append((reached, starts[last]))
            reached = max(reached, ends[last])
            last += 1
        if reached < end:
            new.append((reached, end))
        low = min(start, starts[first]) if last > first else start
        starts[first:last], ends[first:last] = [low], [max(reached, end)]
        return new


def covered(acks: Sequence[float], blocks: Sequence[Sequence[Block]]) -> Covered:
    """Return what each ACK, with its SACK blocks, is the first to report."""
    found = np.array(list(_new_ranges(zip(acks, blocks, strict=True))), dtype=np.float64).reshape(-1, 4)
    return Covered(found[:, 0], found[:, 1], found[:, 2], found[:, 3])


def _new_ranges(acks: Iterable[tuple[float, Sequence[Block]]]) -> Iterator[tuple[int, float, float, bool]]:
    coverage = Coverage()
    for row, (ack, blocks) in enumerate(acks):
        if ack > coverage.first_end:
            for start, end in coverage.add(coverage.first_end, ack):
                yield row, start, end, True
        for block in blocks:
            for start, end in coverage.add(*block):
                yield row, start, end, False


def first_bytes(start: Floats, end: Floats) -> Floats:
    """Return, for each of many ranges in order, the number of its bytes that no earlier one has."""
    edges = np.unique(np.concatenate([start, end]))
    low, high = np.searchsorted(edges, start), np.searchsorted(edges, end)
    counts = high - low
    rows = np.repeat(np.arange(len(start)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    pieces = np.repeat(low, counts) + within
    first = np.full(max(len(edges) - 1, 0), -1)
    # The assignments are made in order, so that the earliest row stays.
    first[pieces[::-1]] = rows[::-1]
    taken = first >= 0
    return np.bincount(first[taken], weights=np.diff(edges)[taken], minlength=len(start)).astype(np.float64)
