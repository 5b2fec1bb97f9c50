"""The progress of all flows side by side: acknowledged data over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lasthop.errors import InputError
from lasthop.plots import style
from lasthop.plots.axes import Scale, scale_of, set_amount_axis, set_time_axis, set_title
from lasthop.plots.columns import Floats
from lasthop.plots.flow import FlowTables, choose_flow, datagram_flows, flow_names
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import Source, columns_of
from lasthop.plots.span import Span, span_of

HEIGHT_IN: Final = 3.1

DASHES: Final[tuple[Any, ...]] = ("-", (0, (3.5, 1.2)))
"""The first flows have full lines, in a colour each; those after them the same colours, dashed."""

MOST_NAMED: Final = len(DASHES) * len(style.SERIES)
"""Number of flows above which only the first and the last in progress are named."""

RING: Final = "o"


@dataclass(frozen=True)
class Progress:
    """The acknowledged bytes of one flow from each time on, and the times of its timeouts."""

    name: str
    time: Floats
    acked: Floats
    timeouts: Floats
    segment: float = 0.0

    def reached(self) -> tuple[float, float]:
        """Sort key: the progress of the flow, and for equal progress the earlier time."""
        last = float(self.acked.max(initial=0.0))
        return last, -float(self.time[self.acked >= last].min(initial=np.inf))

    def at(self, times: Floats) -> Floats:
        """The amount acknowledged by each of the times, in bytes."""
        return np.concatenate([[0.0], self.acked])[self.time.searchsorted(times, side="right")]


@dataclass(frozen=True)
class Line:
    """Line style of a flow, and its text in the legend."""

    label: str
    colour: str
    dashes: Any = "-"
    width: float = 1.1


def draw(source: Source, view: View) -> Figure:
    """Draw the acknowledged data of every flow, or of the view's flow."""
    flows, datagrams = _read(source, view)
    span = span_of(view, *(flow.time for flow in flows))
    highest = max((float(flow.acked[span.holds(flow.time)].max(initial=0)) for flow in flows), default=0.0)
    scale = scale_of(view.unit, highest, max((flow.segment for flow in flows), default=0.0))

    figure = style.new_figure(view.width, HEIGHT_IN)
    axes = figure.subplots()
    set_time_axis(axes, span)
    axes.set_ylim(0, 1.04 * max(highest, 1.0) / scale.divisor)
    set_amount_axis(axes, f"Acknowledged ({scale.label})")
    set_title(axes, view, source, "progress of the flows")
    if not any(span.holds(flow.time).any() for flow in flows):
        style.say_empty(axes, "nothing was acknowledged in this time")
    lines = _lines(flows)
    for flow, line in zip(flows, lines, strict=True):
        _draw_flow(axes, flow, line, scale)
        _mark_timeouts(axes, flow, line, scale, span)
    _name_rings(axes)
    note = f"Left out: {style.listed(datagrams)} (datagrams, which are not acknowledged)" if datagrams else ""
    style.legend_below(figure, [axes], [line.label for line in lines if line.colour != style.GREY], note)
    return figure


def _read(source: Source, view: View) -> tuple[list[Progress], list[str]]:
    """The flows to draw, packet by packet or else from samples, and the names of those of datagrams."""
    by_packet = "segments" in source.table_names
    names = flow_names(source) if by_packet else columns_of(source, "progress").distinct("flow")
    asked = [choose_flow(names, view.flow)] if view.flow else names
    unheard = datagram_flows(source) if by_packet else _sampled_datagrams(source)
    datagrams = [name for name in asked if name in unheard]
    if asked and len(datagrams) == len(asked):
        raise InputError(
            f"nothing to draw of {style.listed(asked)}: datagrams are not acknowledged",
            key="flow",
            help="choose a flow of TCP, or draw time-sequence",
        )
    read = _of_packets if by_packet else _of_samples
    return [read(source, name) for name in asked if name not in unheard], datagrams


def _of_packets(source: Source, name: str) -> Progress:
    flow = FlowTables(source, name)
    time, acked = flow.acknowledged()
    return Progress(flow.name, time, acked, flow.timeouts().time, flow.segment_size())


def _of_samples(source: Source, name: str) -> Progress:
    rows = columns_of(source, "progress").equal("flow", name)
    timeouts = np.empty(0)
    if "tcp" in source.table_names:
        decisions = columns_of(source, "tcp").equal("flow", name)
        timeouts = decisions.equal("event", "timeout").seconds("time_ns")
    return Progress(name, rows.seconds("time_ns"), rows.numbers("acked"), timeouts)


def _sampled_datagrams(source: Source) -> list[str]:
    """Flows of which something arrived, and no receiver sent an ACK."""
    rows = columns_of(source, "progress")
    heard = rows.where(rows.numbers("acks") > 0).distinct("flow")
    return [name for name in rows.where(rows.numbers("received") > 0).distinct("flow") if name not in heard]


def _lines(flows: list[Progress]) -> list[Line]:
    """A colour and dashes for each flow; of too many, only for the furthest ahead and the furthest behind."""
    if len(flows) <= MOST_NAMED:
        looks = [(dashes, colour) for dashes in DASHES for colour in style.SERIES]
        return [Line(flow.name, colour, dashes) for flow, (dashes, colour) in zip(flows, looks, strict=False)]
    ahead, behind = max(flows, key=Progress.reached), min(flows, key=Progress.reached)
    lines = {
        ahead.name: Line(f"{ahead.name}, furthest ahead", style.BLUE),
        behind.name: Line(f"{behind.name}, furthest behind", style.RED),
    }
    others = f"the {len(flows) - len(lines)} others"
    return [lines.get(flow.name, Line(others, style.GREY, width=0.5)) for flow in flows]


def _draw_flow(axes: Axes, flow: Progress, line: Line, scale: Scale) -> None:
    axes.step(
        flow.time,
        flow.acked / scale.divisor,
        where="post",
        color=line.colour,
        linestyle=line.dashes,
        linewidth=line.width,
        zorder=2 if line.colour == style.GREY else 3,
        label=line.label,
    )


def _mark_timeouts(axes: Axes, flow: Progress, line: Line, scale: Scale, span: Span) -> None:
    """A hollow ring on the curve at each timeout."""
    shown = flow.timeouts[span.holds(flow.timeouts)]
    if len(shown):
        axes.plot(
            shown,
            flow.at(shown) / scale.divisor,
            linestyle="none",
            marker=RING,
            markersize=4 if line.width > 1 else 2.8,
            markeredgewidth=0.8,
            color=line.colour,
            markerfacecolor="white",
            clip_on=False,
            zorder=4,
        )


def _name_rings(axes: Axes) -> None:
    """Name the rings once in the legend, in no flow's colour."""
    if any(line.get_marker() == RING for line in axes.lines):
        axes.plot(
            [],
            [],
            linestyle="none",
            marker=RING,
            markersize=4,
            color=style.GREY,
            markerfacecolor="white",
            label="timeout",
        )


KIND: Final = Kind(
    id="progress",
    summary="what every flow had got acknowledged by when; rings are timeouts",
    needs=("segments",),
    instead=("progress",),
    uses=("tcp",),
    draw=draw,
    options=("flow", "start_s", "end_s", "unit"),
)
