"""Each link's queue over time: its length, the limit, the moving average where RED keeps one, and the drops."""

from __future__ import annotations

from itertools import zip_longest
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lasthop.errors import InputError
from lasthop.plots import style
from lasthop.plots.axes import (
    Scale,
    scale_of,
    set_amount_axis,
    set_count_axis,
    set_time_axis,
    set_title,
    set_title_above_all,
)
from lasthop.plots.columns import Floats
from lasthop.plots.kind import Kind, View
from lasthop.plots.queue_lengths import Queue, mean_and_longest, read_queues, worth_drawing
from lasthop.plots.queue_limit import QueueLimit
from lasthop.plots.source import Source
from lasthop.plots.span import Span, round_edges, span_of

HEIGHT_IN: Final = 2.1
"""Height with one panel, in inches; each further panel adds `PANEL_IN`."""

PANEL_IN: Final = 1.6

MOST_CHANGES: Final = 1500
"""Of a longer history, the mean and the longest of each of some 240 equal times of a round length are drawn."""

SHORT_TIMES: Final = 240

FEW_DROPS: Final = 100
"""Number of drops from which their crosses are small."""

ROOM: Final = 1.6
"""Up to this multiple of the longest queue a limit is drawn; a higher one is only named, or the queue would be flat."""


def draw(source: Source, view: View) -> Figure:
    """Draw the queues that the view names, or else the most relevant, with a panel for each direction of a link."""
    queues, left_out = _chosen(read_queues(source), view.links)
    panels = max(len(queues), 1)
    span = span_of(view, *(queue.time for queue in queues))
    figure = style.new_figure(view.width, HEIGHT_IN + PANEL_IN * (panels - 1))
    rows = list(figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0])
    # All alike: panels of one picture are read next to one another.
    in_summary = any(int(span.holds(queue.time).sum()) > MOST_CHANGES for queue in queues)
    for axes, queue in zip(rows, queues, strict=False):
        _draw_panel(axes, queue, span, in_summary=in_summary)
        words = f"queue of link {queue.link}, {queue.direction}"
        if panels == 1:
            set_title(axes, view, source, words)
        else:
            axes.set_title(words, pad=style.TITLE_PAD_PT)
    if panels > 1:
        set_title_above_all(figure, view, source)
    set_time_axis(rows[-1], span)
    if not queues:
        set_title(rows[0], view, source, "queues")
    for axes, queue in zip_longest(rows, queues):
        if queue is None or queue.highest() == 0:
            style.say_empty(axes, "no packet waited in a queue")
    figure.align_ylabels(rows)
    style.legend_below(figure, rows, note=_note(left_out))
    return figure


def _chosen(queues: list[Queue], names: tuple[str, ...]) -> tuple[list[Queue], list[Queue]]:
    """Return the queues to draw, and the others that were not empty. Raises InputError for an unknown name."""
    for name in names:
        if not any(name in (queue.link, queue.name) for queue in queues):
            there = ", ".join(queue.name for queue in queues) or "none"
            raise InputError(f"no packet came to a queue of link {name!r}", key="link", help=f"choose from {there}")
    if names:
        return [queue for queue in queues if queue.link in names or queue.name in names], []
    return worth_drawing(queues)


def _note(left_out: list[Queue]) -> str:
    if not left_out:
        return ""
    dropped = sum(len(queue.drop_time) for queue in left_out)
    lost = f", {dropped} dropped" if dropped else ""
    longest = max(queue.highest() for queue in left_out)
    which = style.listed([queue.name for queue in left_out])
    what, it = (f"{len(left_out)} queues", "them") if len(left_out) > 1 else ("a queue", "it")
    packets = "packet" if longest == 1 else "packets"
    return f"Left out: {which} ({what} of at most {longest:g} {packets}{lost}; --link draws {it})"


def _draw_panel(axes: Axes, queue: Queue, span: Span, *, in_summary: bool) -> None:
    length, met = queue.length, queue.length_at_drops
    histories = ((queue.time, length), (queue.drop_time, met), (queue.average_time, queue.average))
    highest = max(float(values[span.holds(time)].max(initial=0)) for time, values in histories) or 1.0
    limit = queue.limit.amount if queue.limit is not None and queue.limit.in_bytes == queue.in_bytes else np.inf
    top = limit if limit <= ROOM * highest else highest
    scale = scale_of("bytes", top, 0.0) if queue.in_bytes else Scale("packets", 1.0)
    if in_summary:
        _draw_summary(axes, queue.time, length / scale.divisor, span)
    else:
        axes.fill_between(queue.time, length / scale.divisor, step="post", color=style.CYAN, alpha=0.25, linewidth=0)
        axes.step(
            queue.time, length / scale.divisor, where="post", color=style.BLUE, linewidth=0.7, label="waiting"
        )  # fmt: skip
    if len(queue.average):
        average = queue.average / scale.divisor
        axes.plot(queue.average_time, average, color=style.ORANGE, linewidth=1.1, label="average (RED)")
    _draw_limit(axes, queue.limit, limit / scale.divisor, shown=limit <= top)
    _draw_drops(axes, queue.drop_time, met / scale.divisor, span)
    if queue.in_bytes:
        set_amount_axis(axes, f"Queue ({scale.label})")
        axes.set_ylim(0, 1.1 * top / scale.divisor)
    else:
        set_count_axis(axes, top)
        axes.set_ylabel("Packets")


def _draw_limit(axes: Axes, limit: QueueLimit | None, height: float, *, shown: bool) -> None:
    if shown:
        axes.axhline(height, color=style.BLACK, linewidth=0.7, linestyle=(0, (1, 1.6)), zorder=1.5, label="limit")
    elif limit is not None:
        axes.text(
            1.0, 1.0, f"limit: {limit.words}", transform=axes.transAxes, ha="right", va="bottom",
            fontsize=style.NOTE_PT, color=style.GREY,
        )  # fmt: skip


def _draw_drops(axes: Axes, time: Floats, height: Floats, span: Span) -> None:
    dropped = span.holds(time)
    if dropped.any():
        axes.plot(
            time[dropped],
            height[dropped],
            linestyle="none",
            marker="x",
            markersize=4.2 if dropped.sum() <= FEW_DROPS else 2.8,
            markeredgewidth=1.0 if dropped.sum() <= FEW_DROPS else 0.7,
            color=style.RED,
            clip_on=False,
            zorder=5,
            label=f"dropped ({int(dropped.sum())})",
        )


def _draw_summary(axes: Axes, time: Floats, length: Floats, span: Span) -> None:
    """The mean and the longest of each short time up to the last change: single changes would run into one another."""
    edges = round_edges(span, SHORT_TIMES)
    edges = edges[: max(int(np.searchsorted(edges, time[-1])), 1) + 1]
    mean, longest = mean_and_longest(time, length, edges)
    short = style.seconds_in_words(float(edges[1] - edges[0]))
    axes.stairs(longest, edges, fill=True, color=style.CYAN, alpha=0.35, label=f"longest in {short}")
    axes.stairs(mean, edges, baseline=None, color=style.BLUE, linewidth=0.9, label=f"mean of {short}")


KIND: Final = Kind(
    id="queue",
    summary="each link's queue over time, with its limit, the average that RED keeps and the packets dropped",
    needs=("queue",),
    uses=("packets",),
    draw=draw,
    options=("links", "start_s", "end_s"),
)
