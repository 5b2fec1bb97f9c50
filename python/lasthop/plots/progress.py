"""The progress of all flows side by side: what each had got acknowledged by when."""

from __future__ import annotations

from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lasthop.plots import style
from lasthop.plots.axes import Scale, scale_of, set_amount_axis, set_time_axis, set_title
from lasthop.plots.columns import Floats
from lasthop.plots.flow import Acks, FlowTables, Timeouts, flow_names
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import Source
from lasthop.plots.span import span_of

HEIGHT_IN: Final = 3.1

MOST_NAMED: Final = len(style.SERIES)
"""Up to so many flows have a colour each. Of more, only the first and the last to finish are named."""


RING: Final = "o"


def draw(source: Source, view: View) -> Figure:
    """Draw the acknowledged data of every flow, or of the one that the view names."""
    names = [view.flow] if view.flow else flow_names(source)
    flows = [FlowTables(source, name) for name in names]
    acks = [flow.acks() for flow in flows]
    span = span_of(view, *(each.time for each in acks))
    highest = max((float(each.ack[span.holds(each.time)].max(initial=0)) for each in acks), default=0.0)
    scale = scale_of(view.unit, highest, max((flow.segment_size() for flow in flows), default=0.0))

    figure = style.new_figure(view.width, HEIGHT_IN)
    axes = figure.subplots()
    set_time_axis(axes, span)
    axes.set_ylim(0, 1.04 * max(highest, 1.0) / scale.divisor)
    set_amount_axis(axes, f"Acknowledged ({scale.label})")
    set_title(axes, view, source, "progress of the flows")
    if not any(span.holds(each.time).any() for each in acks):
        style.say_empty(axes, "nothing was acknowledged in this time")
    colours = _colours(acks)
    for flow, each, colour in zip(flows, acks, colours, strict=True):
        _draw_flow(axes, flow, each, scale, colour)
    _name_rings(axes)
    style.legend_below(figure, [axes])
    return figure


def _draw_flow(axes: Axes, flow: FlowTables, acks: Acks, scale: Scale, colour: str | None) -> None:
    label = flow.name if colour else None
    axes.step(
        acks.time,
        acks.ack / scale.divisor,
        where="post",
        color=colour or style.LIGHT_GREY,
        linewidth=1.1 if colour else 0.5,
        zorder=3 if colour else 2,
        label=label,
    )
    timeouts = flow.timeouts()
    if colour and len(timeouts.time):
        _mark_stalls(axes, acks, timeouts, scale, colour)


def _mark_stalls(axes: Axes, acks: Acks, timeouts: Timeouts, scale: Scale, colour: str) -> None:
    """A hollow ring on the curve at each timeout."""
    axes.plot(
        timeouts.time,
        _level_at(acks, timeouts.time) / scale.divisor,
        linestyle="none",
        marker=RING,
        markersize=4,
        markeredgewidth=0.8,
        color=colour,
        markerfacecolor="white",
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


def _level_at(acks: Acks, times: Floats) -> Floats:
    """What was acknowledged by each of the times."""
    last = acks.time.searchsorted(times, side="right") - 1
    return acks.ack[last.clip(0)] * (last >= 0) if len(acks.ack) else 0 * times


def _colours(acks: list[Acks]) -> list[str | None]:
    """A colour per flow; None for those that stay in the background."""
    if len(acks) <= MOST_NAMED:
        return list(style.SERIES[: len(acks)])
    ends = [float(each.time.max(initial=0.0)) for each in acks]
    first, last = ends.index(min(ends)), ends.index(max(ends))
    return [style.BLUE if n == first else style.RED if n == last else None for n in range(len(acks))]


KIND: Final = Kind(
    id="progress",
    summary="what every flow had got acknowledged by when; rings are timeouts",
    needs=("segments",),
    uses=("tcp",),
    draw=draw,
)
