"""The sender's RTT estimate and its retransmission timer, beside the measured round trips."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lasthop.plots import style
from lasthop.plots.axes import raster_if_many, set_amount_axis
from lasthop.plots.columns import Columns, Floats
from lasthop.plots.delivery import round_trips
from lasthop.plots.flow_panels import FlowPanel, draw_flows
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import Source
from lasthop.plots.span import Span

HEIGHT_IN: Final = 2.7

MILLISECONDS: Final = 1e3
"""Of a second: the unit of the axis, as in pictures of delays."""


def draw(source: Source, view: View) -> Figure:
    """Draw the round-trip times and the retransmission timer of each flow."""
    return draw_flows(source, view, HEIGHT_IN, _draw_flow, of_decisions=True)


def _draw_flow(panel: FlowPanel) -> None:
    axes, flow, span = panel.axes, panel.flow, panel.span
    tcp = flow.decisions()
    set_amount_axis(axes, "Round trip and timer (ms)")
    if span.holds(tcp.seconds("time_ns")).any():
        _draw_round_trips(axes, *round_trips(flow), span)
        _draw_curves(axes, tcp, span)
    else:
        style.say_empty(axes, "the sender made no decision in this time")
    axes.set_ylim(bottom=0)


def _draw_round_trips(axes: Axes, acked_at: Floats, round_trip: Floats, span: Span) -> None:
    shown = span.holds(acked_at)
    if shown.any():
        axes.plot(
            acked_at[shown],
            round_trip[shown] * MILLISECONDS,
            linestyle="none",
            marker=".",
            markersize=2.5,
            markeredgewidth=0,
            color=style.GREY,
            zorder=2,
            rasterized=raster_if_many(int(shown.sum())),
            label="round trip, sent once",
        )


def _draw_curves(axes: Axes, tcp: Columns, span: Span) -> None:
    time = tcp.seconds("time_ns")
    for column, words, colour, dashes in (
        ("rto_ns", "timer (RTO)", style.ORANGE, (0, (4, 1.2))),
        ("srtt_ns", "smoothed (SRTT)", style.BLUE, "-"),
    ):
        length = tcp.seconds(column) * MILLISECONDS
        if np.isfinite(length[span.holds(time)]).any():
            axes.step(time, length, where="post", color=colour, linestyle=dashes, zorder=3, label=words)
    srtt, deviation = tcp.seconds("srtt_ns") * MILLISECONDS, tcp.seconds("rttvar_ns") * MILLISECONDS
    if np.isfinite(srtt + deviation).any():
        axes.fill_between(
            time,
            srtt - deviation,
            srtt + deviation,
            step="post",
            color=style.BLUE,
            alpha=0.15,
            linewidth=0,
            zorder=1,
            label="± deviation (RTTVAR)",
        )


KIND: Final = Kind(
    id="rtt",
    summary="round-trip times, their smoothed value and deviation, and the retransmission timer of each flow",
    needs=("tcp", "segments"),
    uses=(),
    draw=draw,
    options=("flow", "start_s", "end_s"),
)
