"""Each link's queue over time: packets waiting, the moving average where RED keeps one, and the drops."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lasthop.plots import style
from lasthop.plots.axes import Span, set_count_axis, set_time_axis, set_title, span_of
from lasthop.plots.columns import Columns
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import Source

HEIGHT_IN: Final = 2.1
"""Of the first panel; each further one adds `PANEL_IN`."""

PANEL_IN: Final = 1.6

MOST_PANELS: Final = 6

QUEUE_DROP: Final = "queue_drop"


def draw(source: Source, view: View) -> Figure:
    """Draw every queue in which a packet ever waited or was dropped, a panel for each direction of a link."""
    queue = Columns("queue", source.table("queue"))
    drops = _queue_drops(source)
    panels = _busy_queues(queue, drops)[:MOST_PANELS]
    span = span_of(view, queue.seconds("time_ns"))
    figure = style.new_figure(view.width, HEIGHT_IN + PANEL_IN * (max(len(panels), 1) - 1))
    rows = figure.subplots(max(len(panels), 1), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (link, direction) in zip(rows, panels, strict=False):
        here = queue.equal("link", link).equal("direction", direction)
        lost = None if drops is None else drops.equal("link", link).equal("direction", direction)
        _draw_panel(axes, here, lost, span)
        set_title(axes, view, source, f"queue of link {link}, {direction}")
    for axes in rows:
        set_count_axis(axes, _highest(queue, drops))
        axes.set_ylabel("Packets")
    set_time_axis(rows[-1], span)
    if not panels:
        set_title(rows[0], view, source, "queues")
        style.say_empty(rows[0], "no packet ever waited in a queue")
    style.legend_below(figure, rows)
    return figure


def _queue_drops(source: Source) -> Columns | None:
    """The packets that a queue turned away. None where the packets were not recorded."""
    if "packets" not in source.table_names:
        return None
    return Columns("packets", source.table("packets")).equal("fate", QUEUE_DROP)


def _busy_queues(queue: Columns, drops: Columns | None) -> list[tuple[str, str]]:
    waiting = queue.where(queue.numbers("packets") > 0)
    names = _names(waiting) + ([] if drops is None else _names(drops))
    return list(dict.fromkeys(names))


def _highest(queue: Columns, drops: Columns | None) -> float:
    waiting = float(np.max(queue.numbers("packets"), initial=1.0))
    return waiting if drops is None else float(np.max(drops.numbers("behind"), initial=waiting))


def _names(rows: Columns) -> list[tuple[str, str]]:
    pairs = zip(rows.texts("link"), rows.texts("direction"), strict=True)
    return [(str(link), str(direction)) for link, direction in dict.fromkeys(pairs)]


def _draw_panel(axes: Axes, queue: Columns, drops: Columns | None, span: Span) -> None:
    time, packets = queue.seconds("time_ns"), queue.numbers("packets")
    axes.fill_between(time, packets, step="post", color=style.CYAN, alpha=0.25, linewidth=0)
    axes.step(time, packets, where="post", color=style.BLUE, linewidth=0.7, label="waiting")
    average = queue.numbers("average")
    kept = np.isfinite(average)
    if kept.any():
        axes.plot(time[kept], average[kept], color=style.ORANGE, linewidth=1.1, label="average (RED)")
    _draw_drops(axes, drops, span)


def _draw_drops(axes: Axes, drops: Columns | None, span: Span) -> None:
    """A cross at the length of the queue that the packet met."""
    if drops is None:
        return
    time, behind = drops.seconds("entered_ns"), drops.numbers("behind")
    shown = span.holds(time)
    if shown.any():
        axes.plot(
            time[shown],
            behind[shown],
            linestyle="none",
            marker="x",
            markersize=4.2,
            markeredgewidth=1.0,
            color=style.RED,
            clip_on=False,
            zorder=5,
            label="dropped",
        )


KIND: Final = Kind(
    id="queue",
    summary="each link's queue over time, with the average that RED keeps and the packets dropped",
    needs=("queue",),
    uses=("packets",),
    draw=draw,
)
