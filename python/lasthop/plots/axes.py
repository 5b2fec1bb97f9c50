"""Common parts of pictures over time: the axes of time and of bytes, the title, the marks of timeouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from lasthop.plots import style
from lasthop.plots.columns import Floats
from lasthop.plots.flow import Timeouts
from lasthop.plots.kind import SequenceUnit, View
from lasthop.plots.source import Source
from lasthop.plots.span import Span

LABEL_GAP: Final = 0.05
"""Least distance of two labels above the picture, as a share of the axis; a nearer label is left out."""

LABEL_PT: Final = 6.0

TIMEOUTS: Final = (
    # spurious, colour, words of the legend
    (False, style.RED, "timeout"),
    (True, style.MAGENTA, "timeout, spurious"),
)

DOTS: Final = (0, (1, 1.6))


@dataclass(frozen=True)
class Scale:
    """The unit of an axis of bytes: its label, and its number of bytes."""

    label: str
    divisor: float


def scale_of(unit: SequenceUnit, largest: float, segment: float) -> Scale:
    """A unit that keeps the numbers on an axis short.

    `largest` is the end of the axis and `segment` the usual length of a segment, both in bytes.
    """
    if unit == "segments" and segment > 0:
        return Scale(f"segments of {segment:g} bytes", segment)
    if largest >= 1e6:
        return Scale("MB", 1e6)
    if largest >= 10e3:
        return Scale("kB", 1e3)
    return Scale("bytes", 1.0)


def set_time_axis(axes: Axes, span: Span) -> None:
    """Seconds along the bottom, over `span`."""
    axes.set_xlim(span.start, span.end)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10]))
    axes.set_xlabel("Time (s)")


def set_amount_axis(axes: Axes, words: str) -> None:
    """Round numbers up the side."""
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    axes.set_ylabel(words)


def set_count_axis(axes: Axes, highest: float) -> None:
    """Whole numbers up the side, from zero to a little over `highest`."""
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
    axes.set_ylim(0, 1.1 * highest)


def set_log_axis(axes: Axes, which: Literal["x", "y"]) -> None:
    """A logarithmic scale with the numbers 1, 2 and 5 of each decade, and with more of them within one."""
    if which == "x":
        axes.set_xscale("log")
    else:
        axes.set_yscale("log")
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high > 10 * low else (1, 2, 3, 5, 7)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def set_title(axes: Axes, view: View, source: Source, words: str, room_pt: float = 0.0) -> None:
    """The view's own title, else the result's name and `words`; `room_pt` points are left free below it."""
    own = ": ".join(part for part in (source.name, words) if part)
    title = style.wrapped(own if view.title is None else view.title, view.width)
    axes.set_title(title, pad=style.TITLE_PAD_PT + room_pt)


def set_title_above_all(figure: Figure, view: View, source: Source) -> None:
    """The picture's title, where each panel has one of its own below it."""
    style.title_above(figure, style.wrapped(source.name if view.title is None else view.title, view.width))


def mark_timeouts(axes: Axes, timeouts: Timeouts, span: Span) -> None:
    """A dotted vertical line at each retransmission timeout, with a label above the first of a group."""
    shown = timeouts.within(span)
    for spurious, colour, words in TIMEOUTS:
        times = shown.time[shown.spurious == spurious]
        for number, time in enumerate(times):
            label = f"{words} ({len(times)})" if number == 0 else None
            axes.axvline(float(time), color=colour, linewidth=0.8, linestyle=DOTS, zorder=1.5, label=label)
    for row in _apart(shown.time, LABEL_GAP * (span.end - span.start)):
        axes.annotate(
            "RTO",
            (float(shown.time[row]), 1.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=LABEL_PT,
            color=style.MAGENTA if shown.spurious[row] else style.RED,
        )


def room_for_labels(timeouts: Timeouts, span: Span) -> float:
    """Height above the picture of the names of the timeouts in `span`, in points."""
    return LABEL_PT if len(timeouts.within(span).time) else 0.0


def _apart(times: Floats, gap: float) -> list[int]:
    """The rows, in the order of their times, that lie at least `gap` after the previous selected row."""
    taken: list[int] = []
    for row in np.argsort(times, kind="stable"):
        if not taken or times[row] - times[taken[-1]] >= gap:
            taken.append(int(row))
    return taken
