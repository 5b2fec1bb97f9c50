"""What pictures over time share: the axes of time and of bytes, the title, the marks of timeouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from lasthop.plots import style
from lasthop.plots.columns import Booleans, Floats
from lasthop.plots.flow import Timeouts
from lasthop.plots.kind import SequenceUnit, View
from lasthop.plots.source import Source

MARGIN: Final = 0.02
"""What stays free beyond the data at either end of the time axis, as a share of its length."""

LABEL_GAP: Final = 0.05
"""How near two labels over the picture may be, as a share of the axis, before the second is left away."""

DOTS: Final = (0, (1, 1.6))

RASTER_FROM: Final = 20_000
"""From so many marks on, they are stored as pixels: a vector file of them would be huge and show no more."""


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


@dataclass(frozen=True)
class Scale:
    """What numbers of bytes are drawn in: `label` names the unit, `divisor` is how many bytes it has."""

    label: str
    divisor: float


def span_of(view: View, *times: Floats) -> Span:
    """What the view asks for, else all of `times` with a margin, else one second."""
    known = np.concatenate([*times, np.empty(0)])
    known = known[np.isfinite(known)]
    first, last = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    room = MARGIN * ((last - first) or 1.0)
    start = view.start_s if view.start_s is not None else first - room
    end = view.end_s if view.end_s is not None else last + room
    return Span(start, end if end > start else start + 1.0)


def scale_of(unit: SequenceUnit, largest: float, segment: float) -> Scale:
    """A unit that keeps the numbers on an axis short.

    `largest` is the end of the axis and `segment` the usual length of a segment, both in bytes.
    """
    if unit == "segments" and segment > 0:
        return Scale(f"segments of {segment:g} bytes", segment)
    if largest >= 10e6:
        return Scale("MB", 1e6)
    if largest >= 10e3:
        return Scale("kB", 1e3)
    return Scale("bytes", 1.0)


def set_time_axis(axes: Axes, span: Span) -> None:
    """Seconds along the bottom, over `span`."""
    axes.set_xlim(span.start, span.end)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10]))
    axes.set_xlabel("Time (s)")


def set_count_axis(axes: Axes, highest: float) -> None:
    """Whole numbers up the side, from zero to a little over `highest`."""
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
    axes.set_ylim(0, 1.1 * highest)


def set_title(axes: Axes, view: View, source: Source, words: str) -> None:
    """The view's own title, else the result's name and `words`."""
    own = ": ".join(part for part in (source.name, words) if part)
    axes.set_title(style.wrapped(own if view.title is None else view.title, view.width))


def mark_timeouts(axes: Axes, timeouts: Timeouts, span: Span) -> None:
    """A dotted line down the picture at each retransmission timeout, its name above the first of a crowd."""
    for spurious, colour, words in (
        (False, style.RED, "timeout"),
        (True, style.MAGENTA, "timeout, spurious"),
    ):
        times = timeouts.time[(timeouts.spurious == spurious) & span.holds(timeouts.time)]
        for number, time in enumerate(times):
            label = f"{words} ({len(times)})" if number == 0 else None
            axes.axvline(float(time), color=colour, linewidth=0.8, linestyle=DOTS, zorder=1.5, label=label)
    for time in _apart(timeouts.time[span.holds(timeouts.time)], LABEL_GAP * (span.end - span.start)):
        axes.annotate(
            "RTO",
            (time, 1.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=6,
            color=style.RED,
            annotation_clip=True,
        )


def raster_if_many(count: int) -> bool:
    """Whether so many marks are better stored as pixels."""
    return count >= RASTER_FROM


def _apart(times: Floats, gap: float) -> list[float]:
    """The times that lie at least `gap` after the last one taken."""
    taken: list[float] = []
    for time in np.sort(times):
        if not taken or time - taken[-1] >= gap:
            taken.append(float(time))
    return taken
