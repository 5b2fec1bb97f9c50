"""The throughput of each flow over time: data acknowledged in each interval, of one or several runs."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.figure import Figure

from lasthop.plots import style
from lasthop.plots.axes import set_amount_axis, set_time_axis, set_title
from lasthop.plots.columns import Floats
from lasthop.plots.kind import Kind, View
from lasthop.plots.runs import acknowledged_by, flows_of_runs
from lasthop.plots.source import Source
from lasthop.plots.span import Span, span_of

HEIGHT_IN: Final = 2.8

INTERVALS: Final = 120
"""Approximate number of intervals of the time axis."""


def draw(source: Source, view: View) -> Figure:
    """Draw the throughput of the flows."""
    drawn, note = flows_of_runs(source, view, "throughput", KIND.needs)
    span = span_of(view, *(one.flow.times() for one in drawn))
    figure = style.new_figure(view.width, HEIGHT_IN)
    axes = figure.subplots()
    edges = round_edges(span)
    length = float(edges[1] - edges[0])
    unit, divisor = "Mbit/s", 1e6
    rates = [np.diff(acknowledged_by(one.flow, edges)) * 8 / length for one in drawn]
    if max((float(rate.max(initial=0.0)) for rate in rates), default=0.0) < 1e6:
        unit, divisor = "kbit/s", 1e3
    for one, rate in zip(drawn, rates, strict=True):
        axes.stairs(
            rate / divisor, edges, baseline=None, color=one.colour, linestyle=one.dashes, linewidth=0.9, label=one.words
        )
    set_title(axes, view, source, f"throughput, acknowledged in each {length:g} s")
    set_amount_axis(axes, f"Throughput ({unit})")
    axes.set_ylim(bottom=0)
    set_time_axis(axes, span)
    style.legend_below(figure, [axes], [one.words for one in drawn], note)
    return figure


def round_edges(span: Span) -> Floats:
    """Short times of a round length (1, 2 or 5 times a power of ten) over the span, which begin at a multiple of it."""
    rough = (span.end - span.start) / INTERVALS
    power = 10.0 ** np.floor(np.log10(rough))
    length = next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.999)
    first = max(np.floor(span.start / length), 0.0)
    return np.asarray(np.arange(first, np.ceil(span.end / length) + 1) * length)


KIND: Final = Kind(
    id="throughput",
    summary="each flow's acknowledged data in each interval; of several runs too (--with)",
    needs=("segments",),
    uses=(),
    draw=draw,
    options=("flow", "start_s", "end_s", "beside"),
)
