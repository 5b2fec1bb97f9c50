"""Several runs in one picture: arrived data, the congestion windows and the longest queue, on one time axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lasthop.errors import InputError
from lasthop.plots import style, thinning
from lasthop.plots.axes import Scale, scale_of, set_amount_axis, set_time_axis
from lasthop.plots.columns import Floats
from lasthop.plots.delivery import arrivals
from lasthop.plots.kind import View
from lasthop.plots.queue import SHORT_TIMES
from lasthop.plots.queue_lengths import Queue, mean_and_longest, read_queues
from lasthop.plots.runs import Drawn, flows_of_runs, look_of
from lasthop.plots.source import ReadOnce, Source
from lasthop.plots.span import Span, round_edges, span_of
from lasthop.plots.thinning import Sheet

PANEL_IN: Final = 1.9
FRAME_IN: Final = 0.5

Run = tuple[str, Source]
"""A run with the words that name it."""

Curve = tuple[Floats, Floats, dict[str, Any]]
"""Times, values from each of them on, and the looks with the words of the legend."""


def draw_overlay(runs: Sequence[Run]) -> Figure:
    """Draw all flows of the runs in one picture: a flow in one colour, the runs in shades and dashes of it.

    Raises InputError where a run recorded no segments.
    """
    read = [(words, ReadOnce(source)) for words, source in runs]
    for words, source in read:
        _check_segments(words, source)
    with style.settings():
        first, *beside = read
        drawn, note = flows_of_runs(_Named(*first), View(beside=tuple(beside)), "compare", ("segments",))
        span = span_of(View(), *(one.flow.times() for one in drawn))
        panels = _panels(read, drawn)
        figure = style.new_figure("page", FRAME_IN + PANEL_IN * len(panels))
        grid = list(figure.subplots(len(panels), 1, squeeze=False, sharex=True)[:, 0])
        for axes, draw in zip(grid, panels, strict=True):
            draw(axes, span)
            axes.set_ylim(bottom=0)
        set_time_axis(grid[-1], span)
        style.title_above(figure, style.wrapped(f"{', '.join(words for words, _ in runs)} compared", "page"))
        style.legend_below(figure, grid, [one.words for one in drawn], note)
    return figure


class _Named(ReadOnce):
    """A run under the words that name it in a comparison."""

    def __init__(self, words: str, source: Source) -> None:
        super().__init__(source)
        self.folder_name = words


def _check_segments(words: str, source: Source) -> None:
    if "segments" not in source.table_names:
        raise InputError(
            f"{words} recorded no segments, from which the picture is drawn",
            help='run it again with --set \'record.tables=["segments", "tcp", "queue"]\'',
        )


def _panels(runs: Sequence[Run], drawn: Sequence[Drawn]) -> list[Callable[[Axes, Span], None]]:
    panels: list[Callable[[Axes, Span], None]] = [lambda axes, span: _draw_arrivals(axes, drawn, span)]
    if all("tcp" in source.table_names for _, source in runs):
        panels.append(lambda axes, span: _draw_windows(axes, drawn, span))
    if all("queue" in source.table_names for _, source in runs):
        panels.append(lambda axes, span: _draw_queues(axes, runs, span))
    return panels


def _draw_arrivals(axes: Axes, drawn: Sequence[Drawn], span: Span) -> None:
    curves = []
    for one in drawn:
        found = arrivals(one.flow)
        curves.append((found.time, np.cumsum(found.bytes), _looks(one)))
    scale = scale_of("bytes", _highest(curves), 0.0)
    _draw(axes, curves, scale, span)
    set_amount_axis(axes, f"Arrived ({scale.label})")


def _draw_windows(axes: Axes, drawn: Sequence[Drawn], span: Span) -> None:
    curves = []
    for one in drawn:
        decisions = one.flow.decisions()
        if len(decisions):
            curves.append((decisions.seconds("time_ns"), decisions.numbers("cwnd"), _looks(one)))
    scale = scale_of("bytes", _highest(curves), 0.0)
    _draw(axes, curves, scale, span)
    set_amount_axis(axes, f"cwnd ({scale.label})")


def _draw_queues(axes: Axes, runs: Sequence[Run], span: Span) -> None:
    """The queue of each run that was longest at any time, of all flows' packets."""
    curves = []
    for place, (words, source) in enumerate(runs):
        queue = max(read_queues(source), key=Queue.highest, default=None)
        if queue is not None and queue.highest() > 0:
            _, dashes = look_of(0, place, len(runs))
            look = {"color": style.shaded(style.GREY, place), "linestyle": dashes}
            edges = round_edges(span, SHORT_TIMES)
            mean, _ = mean_and_longest(queue.time, queue.packets, edges)
            curves.append((edges[:-1], mean, {**look, "label": f"{words}: queue of {queue.name}"}))
    _draw(axes, curves, Scale("packets", 1.0), span)
    set_amount_axis(axes, "Queue (packets)")


def _looks(one: Drawn) -> dict[str, Any]:
    return {"color": one.colour, "linestyle": one.dashes, "label": one.words}


def _highest(curves: Sequence[Curve]) -> float:
    return max((float(value.max(initial=0.0)) for _, value, _ in curves), default=0.0)


def _draw(axes: Axes, curves: Sequence[Curve], scale: Scale, span: Span) -> None:
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    sheet = Sheet(span, 0.0, _highest(curves) or 1.0)
    for time, value, looks in curves:
        at, shown = thinning.steps(sheet, time, value)
        axes.step(at, shown / scale.divisor, where="post", **looks)
