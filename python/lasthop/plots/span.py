"""The stretch of time that a picture shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from lasthop.errors import InputError
from lasthop.plots.columns import Booleans, Floats
from lasthop.plots.kind import View

MARGIN: Final = 0.02
"""What stays free beyond the data at either end of the time axis, as a share of its length."""


@dataclass(frozen=True)
class Span:
    """A stretch of time, in seconds."""

    start: float
    end: float

    def holds(self, times: Floats) -> Booleans:
        """Which of the times lie in it."""
        return (times >= self.start) & (times <= self.end)

    def touches(self, begin: Floats, end: Floats) -> Booleans:
        """Which of the stretches lie in it, at least in part."""
        return (end >= self.start) & (begin <= self.end)


def span_of(view: View, *times: Floats) -> Span:
    """What the view asks for, else all of `times` with a margin, else one second.

    Raises InputError, with the span that there is, where the view asks for none of it.
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


def _check_within(view: View, first: float, last: float) -> None:
    there = f"what it would show lies between {first:.3g} s and {last:.3g} s"
    if view.start_s is not None and view.start_s > last:
        raise InputError(f"the picture would start at {view.start_s:g} s, behind the end", key="from", help=there)
    if view.end_s is not None and view.end_s < first:
        raise InputError(f"the picture would end at {view.end_s:g} s, before the beginning", key="to", help=there)
