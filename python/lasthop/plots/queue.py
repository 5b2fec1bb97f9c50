"""Each link's queue over time: packets waiting, the moving average where RED keeps one, and the drops."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lasthop.errors import InputError
from lasthop.plots import style
from lasthop.plots.axes import set_count_axis, set_time_axis, set_title, set_title_above_all
from lasthop.plots.columns import Columns, Floats
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import Source
from lasthop.plots.span import Span, span_of

HEIGHT_IN: Final = 2.1
"""Of the first panel; each further one adds `PANEL_IN`."""

PANEL_IN: Final = 1.6

MOST_PANELS: Final = 6
"""Largest number of queues that are drawn without being named: those with most drops, then the longest."""

MOST_CHANGES: Final = 1500
"""Of a longer history, the mean and the longest of each of `SHORT_TIMES` equal times are drawn."""

SHORT_TIMES: Final = 240

QUEUE_DROP: Final = "queue_drop"


@dataclass(frozen=True)
class Queue:
    """One queue: packets from each time until the next, RED's average, and the queue's length at each drop.

    Of several changes at one time only the last is kept.
    """

    link: str
    direction: str
    time: Floats
    packets: Floats
    average_time: Floats
    average: Floats
    drop_time: Floats
    drop_behind: Floats

    @property
    def name(self) -> str:
        """Its name in options, such as "lasthop.down"."""
        return f"{self.link}.{self.direction}"

    def highest(self) -> float:
        """The largest number of packets in the queue, also at a drop."""
        return float(max(self.packets.max(initial=0), self.drop_behind.max(initial=0)))


def draw(source: Source, view: View) -> Figure:
    """Draw the queues that the view names, or those that mattered most, a panel for each direction of a link."""
    queues, left_out = _chosen(read_queues(source), view.links)
    panels = max(len(queues), 1)
    span = span_of(view, *(queue.time for queue in queues))
    figure = style.new_figure(view.width, HEIGHT_IN + PANEL_IN * (panels - 1))
    rows = list(figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0])
    for axes, queue in zip(rows, queues, strict=False):
        _draw_panel(axes, queue, span)
        words = f"queue of link {queue.link}, {queue.direction}"
        if panels == 1:
            set_title(axes, view, source, words)
        else:
            axes.set_title(words, pad=style.TITLE_PAD_PT)
    if panels > 1:
        set_title_above_all(figure, view, source)
    for axes in rows:
        set_count_axis(axes, max((queue.highest() for queue in queues), default=0.0) or 1.0)
        axes.set_ylabel("Packets")
    set_time_axis(rows[-1], span)
    if not queues:
        set_title(rows[0], view, source, "queues")
    for axes, queue in zip_longest(rows, queues):
        if queue is None or queue.highest() == 0:
            style.say_empty(axes, "no packet waited in a queue")
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
    used = [queue for queue in queues if queue.highest() > 0]
    by_weight = sorted(used, key=lambda queue: (len(queue.drop_time), queue.highest()), reverse=True)
    kept = {queue.name for queue in by_weight[:MOST_PANELS]}
    return [queue for queue in used if queue.name in kept], by_weight[MOST_PANELS:]


def _note(left_out: list[Queue]) -> str:
    if not left_out:
        return ""
    dropped = sum(len(queue.drop_time) for queue in left_out)
    lost = f", {dropped} dropped" if dropped else ""
    longest = max(queue.highest() for queue in left_out)
    which = style.listed([queue.name for queue in left_out])
    return f"Left out: {which} ({len(left_out)} queues of at most {longest:g} packets{lost})"


def read_queues(source: Source) -> list[Queue]:
    """All queues, in the order in which they were first used."""
    rows = Columns("queue", source.table("queue"))
    drops = None
    if "packets" in source.table_names:
        drops = Columns("packets", source.table("packets")).equal("fate", QUEUE_DROP)
    names = dict.fromkeys(zip(rows.texts("link"), rows.texts("direction"), strict=True))
    return [_read_one(rows, drops, str(link), str(direction)) for link, direction in names]


def _read_one(rows: Columns, drops: Columns | None, link: str, direction: str) -> Queue:
    here = rows.equal("link", link).equal("direction", direction)
    time = here.numbers("time_ns")
    settled = here.where(np.append(time[1:] != time[:-1], True))
    averaged = here.where(here.known("average"))
    lost = None if drops is None else drops.equal("link", link).equal("direction", direction)
    return Queue(
        link,
        direction,
        time=settled.seconds("time_ns"),
        packets=settled.numbers("packets"),
        average_time=averaged.seconds("time_ns"),
        average=averaged.numbers("average"),
        drop_time=np.empty(0) if lost is None else lost.seconds("entered_ns"),
        drop_behind=np.empty(0) if lost is None else lost.numbers("behind"),
    )


def _draw_panel(axes: Axes, queue: Queue, span: Span) -> None:
    if int(span.holds(queue.time).sum()) > MOST_CHANGES:
        _draw_summary(axes, queue, span)
    else:
        axes.fill_between(queue.time, queue.packets, step="post", color=style.CYAN, alpha=0.25, linewidth=0)
        axes.step(queue.time, queue.packets, where="post", color=style.BLUE, linewidth=0.7, label="waiting")
    if len(queue.average):
        axes.plot(queue.average_time, queue.average, color=style.ORANGE, linewidth=1.1, label="average (RED)")
    dropped = span.holds(queue.drop_time)
    if dropped.any():
        axes.plot(
            queue.drop_time[dropped],
            queue.drop_behind[dropped],
            linestyle="none",
            marker="x",
            markersize=4.2,
            markeredgewidth=1.0,
            color=style.RED,
            clip_on=False,
            zorder=5,
            label="dropped",
        )


def _draw_summary(axes: Axes, queue: Queue, span: Span) -> None:
    """The mean and the longest of each short time, where single changes would run into one another."""
    edges = np.linspace(span.start, span.end, SHORT_TIMES + 1)
    mean, longest = mean_and_longest(queue.time, queue.packets, edges)
    short = f"{edges[1] - edges[0]:.2g} s"
    axes.stairs(longest, edges, fill=True, color=style.CYAN, alpha=0.35, label=f"longest in {short}")
    axes.stairs(mean, edges, baseline=None, color=style.BLUE, linewidth=0.9, label=f"mean of {short}")


def mean_and_longest(time: Floats, packets: Floats, edges: Floats) -> tuple[Floats, Floats]:
    """The mean over time and the longest of a queue that had `packets` from `time` on, for each two edges.

    Before the first time it was empty.
    """
    area = np.concatenate([[0.0], np.cumsum(packets[:-1] * np.diff(time))])
    mean = np.diff(np.interp(edges, time, area)) / np.diff(edges)
    at_start = np.searchsorted(time, edges[:-1], side="right")
    longest = np.concatenate([[0.0], packets])[at_start]
    inside = (time >= edges[0]) & (time < edges[-1])
    np.maximum.at(longest, np.searchsorted(edges, time[inside], side="right") - 1, packets[inside])
    return mean, longest


KIND: Final = Kind(
    id="queue",
    summary="each link's queue over time, with the average that RED keeps and the packets dropped",
    needs=("queue",),
    uses=("packets",),
    draw=draw,
    options=("links", "start_s", "end_s"),
)
