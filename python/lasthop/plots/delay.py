"""Delays of packets with data: over time, as a distribution, and as boxes; of one or several runs."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.figure import Figure

from lasthop.plots import style, thinning
from lasthop.plots.axes import set_amount_axis, set_log_axis, set_time_axis, set_title
from lasthop.plots.columns import Floats
from lasthop.plots.kind import Kind, View
from lasthop.plots.runs import Drawn, each_delay, flows_of_runs
from lasthop.plots.source import Source
from lasthop.plots.span import Span, span_of
from lasthop.plots.thinning import Sheet

HEIGHT_IN: Final = 2.8
BOX_IN: Final = 0.3
FRAME_IN: Final = 0.9

MOST_STEPS: Final = 1000
"""Largest number of steps of a distribution's curve; more would not be visible."""

FAR_APART: Final = 10.0
"""Ratio of two flows' medians from which an axis of delays is logarithmic."""

WHISKERS: Final = (5.0, 95.0)
"""Percentiles to which a box's lines reach."""

Delays = list[tuple[Drawn, Floats, Floats]]


def draw_over_time(source: Source, view: View) -> Figure:
    """Draw a point for each packet, where it arrived."""
    found, note, span = _read(source, view, "delay")
    figure = style.new_figure(view.width, HEIGHT_IN)
    axes = figure.subplots()
    highest = max((float(delay.max(initial=0.0)) for _, _, delay in found), default=0.0) or 1.0
    lowest = min((float(delay.min(initial=highest)) for _, _, delay in found), default=highest)
    is_log = _are_far_apart([delay for _, _, delay in found])
    sheet = Sheet(span, float(np.log(lowest)), float(np.log(highest))) if is_log else Sheet(span, 0.0, highest)
    for one, time, delay in found:
        drawn, _ = thinning.spots(sheet, time, np.log(delay) if is_log else delay)
        marker, size = one.marker
        axes.plot(
            time[drawn], delay[drawn] * 1e3, linestyle="none", marker=marker, markersize=size, markeredgewidth=0,
            color=one.colour,
        )  # fmt: skip
        # A mark in the legend is larger than those of the packets, so that its colour can be seen.
        axes.plot(
            [], [], linestyle="none", marker=marker, markersize=3.5, color=one.colour,
            label=f"{one.words} ({len(time)})",
        )  # fmt: skip
    set_title(axes, view, source, "delay of packets with data, from sender to receiver")
    if is_log:
        axes.set_ylabel("Delay (ms)")
        set_log_axis(axes, "y")
    else:
        set_amount_axis(axes, "Delay (ms)")
        axes.set_ylim(0, 1.05e3 * highest)
    set_time_axis(axes, span)
    if not any(len(time) for _, time, _ in found):
        style.say_empty(axes, "no data arrived in this time")
    style.legend_below(figure, [axes], note=note)
    return figure


def draw_distribution(source: Source, view: View) -> Figure:
    """Draw the share of packets with at most each delay."""
    found, note, _ = _read(source, view, "cdf")
    figure = style.new_figure(view.width, HEIGHT_IN)
    axes = figure.subplots()
    for one, _, delay in found:
        if len(delay):
            value, share = distribution(delay)
            axes.step(value * 1e3, share, where="post", color=one.colour, linestyle=one.dashes, label=one.words)
    set_title(axes, view, source, "distribution of the delay of packets with data")
    axes.set_xlabel("Delay (ms)")
    if _are_far_apart([delay for _, _, delay in found]):
        set_log_axis(axes, "x")
    axes.set_ylabel("Share of packets")
    axes.set_ylim(0, 1.02)
    if not any(len(delay) for _, _, delay in found):
        style.say_empty(axes, "no data arrived in this time")
    style.legend_below(figure, [axes], note=note)
    return figure


def draw_boxes(source: Source, view: View) -> Figure:
    """Draw a box for each flow: median, quartiles, and lines to the 5th and 95th percentile."""
    found, note, _ = _read(source, view, "box")
    figure = style.new_figure(view.width, FRAME_IN + BOX_IN * max(len(found), 1))
    axes = figure.subplots()
    drawn = [(one, delay * 1e3) for one, _, delay in found if len(delay)]
    if drawn:
        boxes = axes.boxplot(
            [delay for _, delay in drawn], orientation="horizontal", whis=WHISKERS, showfliers=False, patch_artist=True,
            tick_labels=[one.words for one, _ in drawn], widths=0.6,
            medianprops={"color": style.BLACK},
        )  # fmt: skip
        for box, (one, _) in zip(boxes["boxes"], drawn, strict=True):
            box.set(facecolor=one.colour, alpha=0.5)
        axes.invert_yaxis()
        if _are_far_apart([delay for _, _, delay in found]):
            set_log_axis(axes, "x")
        else:
            axes.set_xlim(left=0)
    else:
        style.say_empty(axes, "no data arrived in this time")
    set_title(axes, view, source, "delay of packets with data: quartiles, 5 % and 95 %")
    axes.set_xlabel("Delay (ms)")
    style.legend_below(figure, [axes], note=note)
    return figure


def _are_far_apart(delays: list[Floats]) -> bool:
    """Whether one flow's median is many times those of two others, which on a linear axis were one line."""
    medians = sorted(float(np.median(delay)) for delay in delays if len(delay))
    above_zero = all((delay > 0).all() for delay in delays)
    return len(medians) > 2 and above_zero and medians[-1] > FAR_APART * medians[1]


def distribution(values: Floats) -> tuple[Floats, Floats]:
    """Return values and the shares that are not greater, thinned to a limited number of steps."""
    ordered = np.sort(values)
    share = np.arange(1, len(ordered) + 1) / len(ordered)
    if len(ordered) > MOST_STEPS:
        kept = np.unique(np.linspace(0, len(ordered) - 1, MOST_STEPS).astype(np.int64))
        ordered, share = ordered[kept], share[kept]
    return np.append(ordered[0], ordered), np.append(0.0, share)


def _read(source: Source, view: View, kind: str) -> tuple[Delays, str, Span]:
    drawn, note = flows_of_runs(source, view, kind, ("segments",))
    span = span_of(view, *(one.flow.times() for one in drawn))
    found = []
    for one, time, delay in each_delay(drawn):
        shown = span.holds(time)
        found.append((one, time[shown], delay[shown]))
    return found, note, span


_OPTIONS: Final = ("flow", "start_s", "end_s", "beside")

KIND: Final = Kind(
    id="delay",
    summary="the delay of each packet with data; of several runs too (--with)",
    needs=("segments",),
    uses=(),
    draw=draw_over_time,
    options=_OPTIONS,
)

CDF: Final = Kind(
    id="cdf",
    summary="the distribution of those delays; of several runs too (--with)",
    needs=("segments",),
    uses=(),
    draw=draw_distribution,
    options=_OPTIONS,
)

BOX: Final = Kind(
    id="box",
    summary="median, quartiles, 5 % and 95 % of those delays; of several runs too (--with)",
    needs=("segments",),
    uses=(),
    draw=draw_boxes,
    options=_OPTIONS,
)
