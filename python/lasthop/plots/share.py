"""Each flow's share of the throughput over time: rates, stacked."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.figure import Figure

from lasthop.plots import style
from lasthop.plots.axes import set_time_axis, set_title
from lasthop.plots.kind import Kind, View
from lasthop.plots.runs import acknowledged_by, flows_of_runs
from lasthop.plots.source import Source
from lasthop.plots.span import span_of
from lasthop.plots.throughput import round_edges

HEIGHT_IN: Final = 2.8

HATCHES: Final = ("", "//", "\\\\", "..", "xx", "--", "++")
"""Hatches that distinguish the flows in print without colour."""


def draw(source: Source, view: View) -> Figure:
    """Draw the shares of all flows in the data acknowledged in each interval."""
    drawn, note = flows_of_runs(source, view, "share", KIND.needs)
    span = span_of(view, *(one.flow.times() for one in drawn))
    figure = style.new_figure(view.width, HEIGHT_IN)
    axes = figure.subplots()
    edges = round_edges(span)
    bytes_ = np.array([np.diff(acknowledged_by(one.flow, edges)) for one in drawn]).reshape(len(drawn), -1)
    total = bytes_.sum(axis=0)
    shares = np.divide(bytes_, total, out=np.zeros_like(bytes_), where=total > 0)
    below = np.zeros(len(edges) - 1)
    for place, (one, share) in enumerate(zip(drawn, shares, strict=True)):
        axes.stairs(
            below + share, edges, baseline=below, fill=True, facecolor=one.colour, alpha=0.7, edgecolor="white",
            linewidth=0.2, hatch=HATCHES[place % len(HATCHES)], label=one.words,
        )  # fmt: skip
        below = below + share
    length = float(edges[1] - edges[0])
    set_title(axes, view, source, f"share of what was acknowledged in each {length:g} s")
    axes.set_ylabel("Share")
    axes.set_ylim(0, 1)
    set_time_axis(axes, span)
    if not total.any():
        style.say_empty(axes, "nothing was acknowledged in this time")
    style.legend_below(figure, [axes], [one.words for one in drawn], note)
    return figure


KIND: Final = Kind(
    id="share",
    summary="each flow's share of the throughput",
    needs=("segments",),
    uses=(),
    draw=draw,
    options=("start_s", "end_s"),
)
