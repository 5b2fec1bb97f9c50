"""Bytes that are reported for the first time: those of arriving segments, and those of ACKs with their SACK blocks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
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

    @property
    def has_gap(self) -> bool:
        """Whether bytes are missing before the last that was reported."""
        return len(self._ends) > 1

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


def covered(acks: Floats, blocks: Sequence[Sequence[Block]]) -> Covered:
    """Return the data that each ACK, with its SACK blocks, is the first to report."""
    coverage = Coverage()
    with_blocks = np.flatnonzero([bool(each) for each in blocks])
    found, row = [NO_RANGES], 0
    while row < len(acks):
        if coverage.has_gap or blocks[row]:
            found.append(np.array(list(_ranges_of_one(coverage, row, float(acks[row]), blocks[row]))).reshape(-1, 4))
            row += 1
            continue
        # Most ACKs come without blocks and while nothing is missing: many at once.
        later = with_blocks[np.searchsorted(with_blocks, row) :]
        until = int(later[0]) if len(later) else len(acks)
        found.append(_ranges_in_order(coverage, row, acks[row:until]))
        row = until
    ranges = np.concatenate(found)
    return Covered(ranges[:, 0], ranges[:, 1], ranges[:, 2], ranges[:, 3])


NO_RANGES: Final = np.empty((0, 4))


def _ranges_of_one(
    coverage: Coverage, row: int, ack: float, blocks: Sequence[Block]
) -> Iterator[tuple[int, float, float, bool]]:
    if ack > coverage.first_end:
        for start, end in coverage.add(coverage.first_end, ack):
            yield row, start, end, True
    for block in blocks:
        for start, end in coverage.add(*block):
            yield row, start, end, False


def _ranges_in_order(coverage: Coverage, first_row: int, acks: Floats) -> Floats:
    """Return the ranges of ACKs without blocks, while nothing is missing."""
    reached = np.maximum.accumulate(np.append(coverage.first_end, acks))
    new = np.flatnonzero(reached[1:] > reached[:-1])
    coverage.add(coverage.first_end, float(reached[-1]))
    return np.column_stack([first_row + new, reached[new], reached[new + 1], np.ones(len(new))])


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
