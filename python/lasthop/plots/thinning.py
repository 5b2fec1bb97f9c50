"""Fewer marks for the same picture: marks in one column of the page, or at one place, are drawn once.

A picture of 100,000 segments then has as many strokes as its page has columns, and its vector file stays small. No
event is lost: one mark stands for several at one place, and the legend counts them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from lasthop.plots.columns import Booleans, Floats, Rows
from lasthop.plots.span import Span

COLUMNS: Final = 1600
"""Columns of the time axis: more than pixels of a page at 200 dots an inch."""

STEP_COLUMNS: Final = 900
"""Columns of the time axis for lines, which are two columns wide."""

ROWS: Final = 700
"""Of the other axis, on a page."""

SPOTS: Final = (240, 100)
"""Places across and up that marks of some points can have on a page without covering one another."""

BUNDLES: Final = (14, 8)
"""Places across and up that words of some letters can have."""

FEW: Final = COLUMNS
"""Number of marks up to which all are drawn."""


@dataclass(frozen=True)
class Sheet:
    """Range of a picture's axes: a time, and values from `low` to `high`."""

    span: Span
    low: float
    high: float

    def column(self, time: Floats, columns: int = COLUMNS) -> Floats:
        """The column of the page in which each time falls."""
        return np.floor((time - self.span.start) / (self.span.end - self.span.start) * columns)

    def row(self, value: Floats, rows: int = ROWS) -> Floats:
        """The row of the page in which each value falls."""
        return np.floor((value - self.low) / ((self.high - self.low) or 1.0) * rows)


def strokes(sheet: Sheet, time: Floats, start: Floats, end: Floats) -> tuple[Floats, Floats, Floats]:
    """Upright strokes; of many, those of one column that touch become one from the lowest end to the highest."""
    if len(time) <= FEW:
        return time, start, end
    gap = (sheet.high - sheet.low) / ROWS
    column = sheet.column(time)
    order = np.lexsort((start, column))
    column, start, end, time = column[order], start[order], end[order], time[order]
    # The highest end so far in the column: columns are kept apart by more than the axis is high.
    apart = column * 4 * max(sheet.high - sheet.low, float(np.ptp(end)), 1.0)
    reached = np.maximum.accumulate(end + apart)
    begins = np.append(True, (np.diff(column) > 0) | (start[1:] + apart[1:] > reached[:-1] + gap))
    first = np.flatnonzero(begins)
    return time[first], start[first], np.maximum.reduceat(end, first)


def steps(sheet: Sheet, time: Floats, value: Floats) -> tuple[Floats, Floats]:
    """A line that holds each value until the next; of many, first, last, least and greatest of each column."""
    kept = rows_of_steps(sheet, time, value)
    return time[kept], value[kept]


def rows_of_steps(sheet: Sheet, time: Floats, *values: Floats) -> Rows:
    """The rows of such lines over the same times that are drawn."""
    if len(time) <= FEW:
        return np.arange(len(time))
    column = np.clip(sheet.column(time, STEP_COLUMNS), -1, STEP_COLUMNS)
    edges = np.flatnonzero(np.append(True, np.diff(column) > 0))
    lasts = np.append(edges[1:], len(time)) - 1
    extremes = [np.lexsort((value, column)) for value in values]
    return np.unique(np.concatenate([edges, lasts, *(rows[ends] for rows in extremes for ends in (edges, lasts))]))


def spots(sheet: Sheet, time: Floats, value: Floats) -> tuple[Booleans, Floats]:
    """Marks to draw, and the number that each represents: of marks in one place, the first."""
    across, up = SPOTS
    if len(time) <= across:
        return np.ones(len(time), dtype=np.bool_), np.ones(len(time))
    place = sheet.column(time, across) * (4 * up) + np.clip(sheet.row(value, up), -up, 2 * up)
    _, first, counts = np.unique(place, return_index=True, return_counts=True)
    drawn = np.zeros(len(time), dtype=np.bool_)
    drawn[first] = True
    stands_for = np.ones(len(time))
    stands_for[first] = counts
    return drawn, stands_for[drawn]


def bundles(sheet: Sheet, time: Floats, value: Floats) -> tuple[Floats, Floats, Floats]:
    """Places far enough apart for a word next to each: the mean of the times and values there, and their number."""
    across, up = BUNDLES
    place = sheet.column(time, across) * (4 * up) + np.clip(sheet.row(value, up), -up, 2 * up)
    _, which, counts = np.unique(place, return_inverse=True, return_counts=True)
    return np.bincount(which, time) / counts, np.bincount(which, value) / counts, counts.astype(np.float64)


def broken(*ends: Floats) -> Floats:
    """Ends of many separate lines as one: each two (or more) followed by a gap."""
    return np.column_stack([*ends, np.full(len(ends[0]), np.nan)]).ravel()
