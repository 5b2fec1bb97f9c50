"""The sender's RTT estimate and its retransmission timer, beside the measured round trips."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lasthop.plots import style
from lasthop.plots.axes import raster_if_many, set_amount_axis
from lasthop.plots.columns import Columns, Floats
from lasthop.plots.flow import Acks, Sent
from lasthop.plots.flow_panels import FlowPanel, draw_flows
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import Source
from lasthop.plots.span import Span

HEIGHT_IN: Final = 2.7


def draw(source: Source, view: View) -> Figure:
    """Draw the round-trip times and the retransmission timer of each flow."""
    return draw_flows(source, view, HEIGHT_IN, _draw_flow, of_decisions=True)


def _draw_flow(panel: FlowPanel) -> None:
    axes, flow, span = panel.axes, panel.flow, panel.span
    tcp = flow.decisions()
    set_amount_axis(axes, "Round trip and timer (s)")
    if span.holds(tcp.seconds("time_ns")).any():
        _draw_round_trips(axes, *round_trips(flow.sent(), flow.acks()), span)
        _draw_curves(axes, tcp, span)
    else:
        style.say_empty(axes, "the sender made no decision in this time")
    axes.set_ylim(bottom=0)


def round_trips(sent: Sent, acks: Acks) -> tuple[Floats, Floats]:
    """Return the time at which each segment was first covered by an ACK, and its round trip, in seconds.

    Only segments that were sent once count: an ACK does not say which copy it is for (Karn's algorithm, RFC 6298 §3).
    """
    again = sent.verdict != "original"
    starts_again = np.unique(sent.start[again])
    once = ~again & ~np.isin(sent.start, starts_again)
    if not once.any() or not len(acks.ack):
        return np.empty(0), np.empty(0)
    first = np.searchsorted(acks.ack, sent.end[once])
    covered = first < len(acks.ack)
    acked_at = acks.time[first[covered]]
    return acked_at, acked_at - sent.time[once][covered]


def _draw_round_trips(axes: Axes, acked_at: Floats, round_trip: Floats, span: Span) -> None:
    shown = span.holds(acked_at)
    if shown.any():
        axes.plot(
            acked_at[shown],
            round_trip[shown],
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
        seconds = tcp.seconds(column)
        if np.isfinite(seconds[span.holds(time)]).any():
            axes.step(time, seconds, where="post", color=colour, linestyle=dashes, zorder=3, label=words)
    srtt, deviation = tcp.seconds("srtt_ns"), tcp.seconds("rttvar_ns")
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
