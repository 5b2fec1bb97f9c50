"""The congestion window over time, with threshold, data in flight, phases and losses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import offset_copy

from lasthop.plots import style
from lasthop.plots.axes import Scale, scale_of, set_amount_axis
from lasthop.plots.columns import Columns, Floats, Texts
from lasthop.plots.delivery import Flight, flight
from lasthop.plots.flow import STATE, Drops
from lasthop.plots.flow_panels import FlowPanel, draw_flows
from lasthop.plots.kind import Kind, View
from lasthop.plots.path_model import draw_rates, has_model
from lasthop.plots.source import Source
from lasthop.plots.span import Span

HEIGHT_IN: Final = 2.9

LOSS_EVENTS: Final = {
    "fast retransmit": ("fast_retransmit", "collapse"),
    "loss event": ("congestion",),
}
"""Events of a loss detected by acknowledgments, by their words: the sender enters recovery, or slow start (Tahoe); or
it lowers its window or rate, and sends nothing again (DCCP)."""


def draw(source: Source, view: View) -> Figure:
    """Draw the congestion window of each flow."""
    return draw_flows(source, view, HEIGHT_IN, _draw_flow, of_decisions=True)


def _draw_flow(panel: FlowPanel) -> None:
    axes, flow, span = panel.axes, panel.flow, panel.span
    tcp, in_flight = flow.decisions(), flight(flow)
    time = tcp.seconds("time_ns")
    highest = _highest(tcp, in_flight, span)
    scale = scale_of(panel.view.unit, highest, flow.segment_size())
    axes.set_ylim(0, 1.08 * highest / scale.divisor)
    set_amount_axis(axes, f"Window ({scale.label})")
    if not span.holds(time).any():
        style.say_empty(axes, "the sender made no decision in this time")
        return
    _draw_phases(axes, time, tcp.texts(STATE if has_model(tcp) else "phase"), span)
    _draw_curves(axes, tcp, in_flight, scale)
    if has_model(tcp):
        draw_rates(axes, tcp, span)
    _draw_losses(axes, tcp, flow.drops(flow.sent()), span, scale)


def _highest(tcp: Columns, flight: Flight, span: Span) -> float:
    """The top of the axis in bytes: the highest drawn value, except a threshold far above the window."""
    shown = span.holds(tcp.seconds("time_ns"))
    cwnd = tcp.numbers("cwnd")[shown]
    in_flight = flight.bytes[span.holds(flight.time)]
    highest = float(np.max(np.concatenate([cwnd, in_flight]), initial=1.0))
    ssthresh = np.empty(0) if has_model(tcp) else tcp.numbers("ssthresh")[shown]
    near = ssthresh[np.isfinite(ssthresh) & (ssthresh <= 1.5 * highest)]
    return float(np.max(near, initial=highest))


def _draw_phases(axes: Axes, time: Floats, phase: Texts, span: Span) -> None:
    """Tint the background by the sender's phase."""
    named: set[str] = set()
    for begin, end, name in _stretches(time, phase, span):
        axes.axvspan(
            begin,
            end,
            facecolor=style.SHADES.get(name, style.OTHER_SHADE) if name else "none",
            edgecolor="none",
            zorder=0,
            label=None if name in named or not name else style.phase_in_words(name),
        )
        named.add(name)


def _stretches(time: Floats, phase: Texts, span: Span) -> Iterator[tuple[float, float, str]]:
    """Begin, end and name of each stretch of one phase, cut to the span."""
    changes = np.flatnonzero(np.concatenate([[True], phase[1:] != phase[:-1]]))
    ends = np.append(time[changes[1:]], span.end)
    for begin, end, name in zip(time[changes], ends, phase[changes], strict=True):
        if end > span.start and begin < span.end and end > begin:
            yield max(float(begin), span.start), min(float(end), span.end), str(name)


def _draw_curves(axes: Axes, tcp: Columns, flight: Flight, scale: Scale) -> None:
    # The record's own flight is that of the moment of the decision, before anything was sent on it.
    in_flight = flight.bytes / scale.divisor
    axes.step(flight.time, in_flight, where="post", color=style.GREY, linewidth=0.6, zorder=2, label="in flight")
    drawn: set[str] = set()
    for connection in tcp.groups("connection"):
        _draw_window(axes, tcp.where(connection), scale, drawn)


def _draw_window(axes: Axes, tcp: Columns, scale: Scale, drawn: set[str]) -> None:
    """Draw the window of one connection, and its threshold. The legend has those of the first that has them."""
    time = tcp.seconds("time_ns")
    looks: dict[str, dict[str, Any]] = {
        "ssthresh": {"color": style.ORANGE, "linestyle": (0, (4, 1.5)), "zorder": 3},
        "cwnd": {"color": style.BLUE, "linewidth": 1.1, "zorder": 4},
    }
    if has_model(tcp):
        # BBR sets a threshold for the kernel's sake and does not go by it.
        del looks["ssthresh"]
    for name, look in looks.items():
        values = tcp.numbers(name) / scale.divisor
        if np.isfinite(values).any():
            axes.step(time, values, where="post", label=None if name in drawn else name, **look)
            drawn.add(name)


def _draw_losses(axes: Axes, tcp: Columns, drops: Drops, span: Span, scale: Scale) -> None:
    """A triangle on the curve at each loss that was detected, and a cross at the bottom for each drop."""
    time, cwnd = tcp.seconds("time_ns"), tcp.numbers("cwnd")
    for words, events in LOSS_EVENTS.items():
        entered = np.flatnonzero(np.isin(tcp.texts("event").astype(str), events) & span.holds(time))
        if not len(entered):
            continue
        before = np.fmax(cwnd[_rows_before(tcp)[entered]], cwnd[entered])
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
            label=f"{words} ({len(entered)})",
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


def _rows_before(tcp: Columns) -> npt.NDArray[np.int64]:
    """The row before each row on the same connection, or the row itself where it is the first."""
    before = np.arange(len(tcp))
    for connection in tcp.groups("connection"):
        rows = np.flatnonzero(connection)
        before[rows[1:]] = rows[:-1]
    return before


KIND: Final = Kind(
    id="cwnd",
    summary="each flow's window, threshold (BBR: rates) and data in flight, with the phases and the losses",
    needs=("tcp", "segments"),
    uses=("packets",),
    draw=draw,
    options=("flow", "start_s", "end_s", "unit"),
)
