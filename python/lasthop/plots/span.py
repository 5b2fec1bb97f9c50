"""The time span of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from lasthop.errors import InputError
from lasthop.plots.columns import Booleans, Floats
from lasthop.plots.kind import View

MARGIN: Final = 0.02
"""Margin at both ends of the time axis, as a share of its length."""


@dataclass(frozen=True)
class Span:
    """A time span, in seconds."""

    start: float
    end: float

    def holds(self, times: Floats) -> Booleans:
        """Return whether each time is in the span."""
        return (times >= self.start) & (times <= self.end)

    def touches(self, begin: Floats, end: Floats) -> Booleans:
        """Return whether each interval overlaps the span."""
        return (end >= self.start) & (begin <= self.end)


def span_of(view: View, *times: Floats) -> Span:
    """Return the view's span, else that of `times` with a margin, else one second.

    Raises InputError, with the span of `times`, if the view's span has none of it.
    """
    known = np.concatenate([*times, np.empty(0)])
    known = known[np.isfinite(known)]
    first, last = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    if len(known):
        _check_within(view, first, last)
    room = MARGIN * ((last - first) or 1.0)
    start = view.start_s if view.start_s is not None else first - room
    end = view.end_s if view.end_s is not None else last + room
    return Span(start, end if end > start else start + 1.0)


def round_edges(span: Span, intervals: int) -> Floats:
    """Short times of a round length (1, 2 or 5 times a power of ten) over the span, which begin at a multiple of it.

    There are at most about `intervals` of them.
    """
    rough = (span.end - span.start) / intervals
    power = 10.0 ** np.floor(np.log10(rough))
    length = next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.999)
    first = max(np.floor(span.start / length), 0.0)
    return np.asarray(np.arange(first, np.ceil(span.end / length) + 1) * length)


def _check_within(view: View, first: float, last: float) -> None:
    there = f"the data are between {first:.3g} s and {last:.3g} s"
    if view.start_s is not None and view.start_s > last:
        raise InputError(f"the picture would start at {view.start_s:g} s, after the end", key="from", help=there)
    if view.end_s is not None and view.end_s < first:
        raise InputError(f"the picture would end at {view.end_s:g} s, before the beginning", key="to", help=there)
