"""The congestion window over time, with what bounds it and what made it shrink."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import offset_copy

from lasthop.plots import style
from lasthop.plots.axes import Scale, mark_timeouts, room_for_labels, scale_of, set_time_axis, set_title
from lasthop.plots.columns import Columns, Floats, Texts
from lasthop.plots.flow import Drops, FlowTables
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import Source
from lasthop.plots.span import Span, span_of

HEIGHT_IN: Final = 2.9

LOSS_EVENTS: Final = ("fast_retransmit", "collapse")
"""What the sender records where duplicate ACKs tell of a loss: it enters recovery, or starts over (Tahoe)."""


def draw(source: Source, view: View) -> Figure:
    """Draw one flow's congestion window."""
    flow = FlowTables(source, view.flow)
    tcp = flow.decisions()
    time = tcp.seconds("time_ns")
    span = span_of(view, time)
    shown = span.holds(time)
    highest = _highest(tcp, span)
    scale = scale_of(view.unit, highest, flow.segment_size())

    timeouts = flow.timeouts()
    figure = style.new_figure(view.width, HEIGHT_IN)
    axes = figure.subplots()
    set_time_axis(axes, span)
    axes.set_ylim(0, 1.08 * highest / scale.divisor)
    axes.set_ylabel(f"Window ({scale.label})")
    set_title(axes, view, source, f"flow {flow.name}, sender {flow.sender}", room_for_labels(timeouts, span))
    if shown.any():
        _draw_phases(axes, time, tcp.texts("phase"), span)
        _draw_curves(axes, tcp, time, scale)
        _draw_losses(axes, tcp, flow.drops(flow.sent()), span, scale)
        mark_timeouts(axes, timeouts, span)
    else:
        style.say_empty(axes, "the sender decided nothing in this time")
    style.legend_below(figure, [axes])
    return figure


def _highest(tcp: Columns, span: Span) -> float:
    """The top of the axis in bytes: the highest of what is drawn, save a threshold far over the window."""
    shown = span.holds(tcp.seconds("time_ns"))
    cwnd = tcp.numbers("cwnd")[shown]
    flight = tcp.numbers("flight")[shown]
    highest = float(np.max(np.concatenate([cwnd, flight]), initial=1.0))
    ssthresh = tcp.numbers("ssthresh")[shown]
    near = ssthresh[np.isfinite(ssthresh) & (ssthresh <= 1.5 * highest)]
    return float(np.max(near, initial=highest))


def _draw_phases(axes: Axes, time: Floats, phase: Texts, span: Span) -> None:
    """Tint the background by the sender's phase."""
    named: set[str] = set()
    for begin, end, name in _stretches(time, phase, span):
        axes.axvspan(
            begin,
            end,
            facecolor=style.SHADES.get(name, style.OTHER_SHADE),
            edgecolor="none",
            zorder=0,
            label=None if name in named else name.replace("_", " "),
        )
        named.add(name)


def _stretches(time: Floats, phase: Texts, span: Span) -> Iterator[tuple[float, float, str]]:
    """Begin, end and name of each stretch of one phase, cut to the span."""
    changes = np.flatnonzero(np.concatenate([[True], phase[1:] != phase[:-1]]))
    ends = np.append(time[changes[1:]], span.end)
    for begin, end, name in zip(time[changes], ends, phase[changes], strict=True):
        if end > span.start and begin < span.end and end > begin:
            yield max(float(begin), span.start), min(float(end), span.end), str(name)


def _draw_curves(axes: Axes, tcp: Columns, time: Floats, scale: Scale) -> None:
    flight = tcp.numbers("flight") / scale.divisor
    axes.step(time, flight, where="post", color=style.GREY, linewidth=0.6, zorder=2, label="in flight")
    ssthresh = tcp.numbers("ssthresh") / scale.divisor
    if np.isfinite(ssthresh).any():
        axes.step(
            time,
            ssthresh,
            where="post",
            color=style.ORANGE,
            linestyle=(0, (4, 1.5)),
            zorder=3,
            label="ssthresh",
        )
    cwnd = tcp.numbers("cwnd") / scale.divisor
    axes.step(time, cwnd, where="post", color=style.BLUE, linewidth=1.1, zorder=4, label="cwnd")


def _draw_losses(axes: Axes, tcp: Columns, drops: Drops, span: Span, scale: Scale) -> None:
    """A triangle on the curve where duplicate ACKs told of a loss, a cross at the foot for each drop."""
    time, cwnd = tcp.seconds("time_ns"), tcp.numbers("cwnd")
    entered = np.flatnonzero(np.isin(tcp.texts("event").astype(str), LOSS_EVENTS) & span.holds(time))
    if len(entered):
        before = np.fmax(cwnd[np.maximum(entered - 1, 0)], cwnd[entered])
        axes.plot(
            time[entered],
            before / scale.divisor,
            transform=offset_copy(axes.transData, fig=axes.get_figure(root=True), y=4.5, units="points"),
            linestyle="none",
            marker="v",
            markersize=4.5,
            markeredgewidth=0,
            color=style.BLACK,
            zorder=6,
            label=f"fast retransmit ({len(entered)})",
        )
    dropped = drops.time[span.holds(drops.time)]
    if len(dropped):
        axes.plot(
            dropped,
            np.full(len(dropped), 0.025),
            transform=axes.get_xaxis_transform(),
            linestyle="none",
            marker="x",
            markersize=3.6,
            markeredgewidth=0.9,
            color=style.RED,
            zorder=6,
            label=f"dropped ({len(dropped)})",
        )


KIND: Final = Kind(
    id="cwnd",
    summary="one flow's congestion window, threshold and data in flight, with the phases and the losses",
    needs=("tcp", "segments"),
    uses=("packets",),
    draw=draw,
)
