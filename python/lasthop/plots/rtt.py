"""The measured round trips, with the sender's estimate and its retransmission timer."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lasthop.plots import style, thinning
from lasthop.plots.axes import set_amount_axis
from lasthop.plots.columns import Columns, Floats
from lasthop.plots.delivery import round_trips
from lasthop.plots.flow_panels import FlowPanel, draw_flows
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import Source
from lasthop.plots.span import Span
from lasthop.plots.thinning import Sheet

HEIGHT_IN: Final = 2.7

MILLISECONDS: Final = 1e3
"""Units of the axis in a second, as in pictures of delays."""


def draw(source: Source, view: View) -> Figure:
    """Draw the round-trip times of each flow and, where its decisions are recorded, its retransmission timer."""
    return draw_flows(source, view, HEIGHT_IN, _draw_flow, of_decisions="tcp" in source.table_names)


def _draw_flow(panel: FlowPanel) -> None:
    axes, flow, span = panel.axes, panel.flow, panel.span
    if not flow.has_decisions():
        _draw_packets_only(panel)
        return
    tcp = flow.decisions()
    set_amount_axis(axes, "Round trip and timer (ms)")
    if span.holds(tcp.seconds("time_ns")).any():
        _draw_round_trips(axes, *round_trips(flow), span)
        _draw_curves(axes, tcp, span)
    else:
        style.say_empty(axes, "the sender made no decision in this time")
    axes.set_ylim(bottom=0)


def _draw_packets_only(panel: FlowPanel) -> None:
    """Draw the round trips of a capture, whose sender's estimate is not known."""
    at, trip = round_trips(panel.flow)
    set_amount_axis(panel.axes, "Round trip (ms)")
    if panel.span.holds(at).any():
        _draw_round_trips(panel.axes, at, trip, panel.span)
        least = float(trip.min()) * MILLISECONDS
        panel.axes.axhline(least, color=style.BLUE, linewidth=0.8, zorder=1, label=f"shortest, {least:.1f} ms")
    else:
        style.say_empty(panel.axes, "no round trip was measured in this time")
    panel.axes.set_ylim(bottom=0)


def _draw_round_trips(axes: Axes, acked_at: Floats, round_trip: Floats, span: Span) -> None:
    shown = span.holds(acked_at)
    if shown.any():
        at, trip = acked_at[shown], round_trip[shown] * MILLISECONDS
        drawn, _ = thinning.spots(Sheet(span, 0.0, float(trip.max())), at, trip)
        axes.plot(
            at[drawn], trip[drawn], linestyle="none", marker=".", markersize=2.5, markeredgewidth=0,
            color=style.GREY, zorder=2, label=f"round trip, sent once ({len(at)})",
        )  # fmt: skip


def _draw_curves(axes: Axes, tcp: Columns, span: Span) -> None:
    time = tcp.seconds("time_ns")
    lengths = {column: tcp.seconds(column) * MILLISECONDS for column in ("rto_ns", "srtt_ns", "rttvar_ns")}
    shown = span.holds(time)
    sheet = Sheet(span, 0.0, float(np.nanmax(lengths["rto_ns"][shown], initial=1.0)))
    for column, words, colour, dashes in (
        ("rto_ns", "timer (RTO)", style.ORANGE, (0, (4, 1.2))),
        ("srtt_ns", "smoothed (SRTT)", style.BLUE, "-"),
    ):
        if np.isfinite(lengths[column][shown]).any():
            at, length = thinning.steps(sheet, time, lengths[column])
            axes.step(at, length, where="post", color=colour, linestyle=dashes, zorder=3, label=words)
    low, high = (lengths["srtt_ns"] + sign * lengths["rttvar_ns"] for sign in (-1, 1))
    if np.isfinite(low[shown]).any():
        rows = thinning.rows_of_steps(sheet, time, low, high)
        axes.fill_between(
            time[rows], low[rows], high[rows], step="post", color=style.BLUE, alpha=0.15, linewidth=0, zorder=1,
            label="± deviation (RTTVAR)",
        )  # fmt: skip


KIND: Final = Kind(
    id="rtt",
    summary="round-trip times, their smoothed value and deviation, and the retransmission timer of each flow",
    needs=("segments",),
    uses=("tcp",),
    draw=draw,
    options=("flow", "start_s", "end_s"),
)
