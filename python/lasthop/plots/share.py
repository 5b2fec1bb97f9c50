"""Each flow's share of the throughput over time: rates, stacked."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.figure import Figure

from lasthop.plots import style
from lasthop.plots.axes import set_time_axis, set_title
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import Source
from lasthop.plots.span import round_edges, span_of
from lasthop.plots.throughput import INTERVALS, arrived

HEIGHT_IN: Final = 2.8

HATCHES: Final = ("", "//", "\\\\", "..", "xx", "--", "++")
"""Hatches that distinguish the flows in print without colour."""


def draw(source: Source, view: View) -> Figure:
    """Draw the shares of all flows in the data that arrived in each interval."""
    found, note = arrived(source, view, "share")
    span = span_of(view, *(one.flow.times() for one, _ in found))
    figure = style.new_figure(view.width, HEIGHT_IN)
    axes = figure.subplots()
    edges = round_edges(span, INTERVALS)
    bytes_ = np.array([arrival.between(edges) for _, arrival in found]).reshape(len(found), len(edges) - 1)
    total = bytes_.sum(axis=0)
    shares = np.divide(bytes_, total, out=np.zeros_like(bytes_), where=total > 0)
    of_all = bytes_.sum(axis=1) / max(float(total.sum()), 1.0)
    words = [f"{one.words} ({_percent(part)})" for (one, _), part in zip(found, of_all, strict=True)]
    below = np.zeros(len(edges) - 1)
    for place, ((one, _), share) in enumerate(zip(found, shares, strict=True)):
        axes.stairs(
            below + share, edges, baseline=below, fill=True, facecolor=one.colour, alpha=0.7, edgecolor="white",
            linewidth=0.2, hatch=HATCHES[place % len(HATCHES)], label=words[place],
        )  # fmt: skip
        below = below + share
    length = float(edges[1] - edges[0])
    set_title(axes, view, source, f"share of the data that arrived in each {style.seconds_in_words(length)}")
    axes.set_ylabel("Share")
    axes.set_ylim(0, 1)
    set_time_axis(axes, span)
    if not total.any():
        style.say_empty(axes, "no data arrived in this time")
    style.legend_below(figure, [axes], words, note)
    return figure


def _percent(part: float) -> str:
    return "under 0.1 %" if part < 0.001 else f"{100 * part:.1f} %"


KIND: Final = Kind(
    id="share",
    summary="each flow's share of the throughput",
    needs=("segments",),
    uses=(),
    draw=draw,
    options=("start_s", "end_s"),
)
