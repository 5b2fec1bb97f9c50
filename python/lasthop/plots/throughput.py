"""The throughput of each flow over time: data that arrived in each interval, of one or several runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from lasthop.plots import style
from lasthop.plots.axes import set_amount_axis, set_time_axis, set_title
from lasthop.plots.delivery import Arrivals, arrivals
from lasthop.plots.flow import group_of
from lasthop.plots.kind import Kind, View
from lasthop.plots.runs import MOST_FLOWS, Drawn, flows_of_runs, look_of
from lasthop.plots.source import Source
from lasthop.plots.span import round_edges, span_of

HEIGHT_IN: Final = 2.8

INTERVALS: Final = 120
"""Approximate number of intervals of the time axis."""


def draw(source: Source, view: View) -> Figure:
    """Draw the throughput of the flows."""
    found, note = arrived(source, view, "throughput")
    span = span_of(view, *(one.flow.times() for one, _ in found))
    figure = style.new_figure(view.width, HEIGHT_IN)
    axes = figure.subplots()
    edges = round_edges(span, INTERVALS)
    length = float(edges[1] - edges[0])
    rates = [arrival.between(edges) * 8 / length for _, arrival in found]
    unit, divisor = style.rate_unit(max((float(rate.max(initial=0.0)) for rate in rates), default=0.0))
    for (one, _), rate in zip(found, rates, strict=True):
        axes.stairs(
            rate / divisor,
            edges,
            baseline=None,
            color=one.colour,
            linestyle=one.dashes,
            linewidth=0.9,
            label=one.words,
        )
    set_title(axes, view, source, f"throughput, data that arrived in each {style.seconds_in_words(length)}")
    set_amount_axis(axes, f"Throughput ({unit})")
    axes.set_ylim(bottom=0)
    set_time_axis(axes, span)
    style.legend_below(figure, [axes], [one.words for one, _ in found], note)
    return figure


def arrived(source: Source, view: View, kind: str) -> tuple[list[tuple[Drawn, Arrivals]], str]:
    """Return the flows to draw with their arrivals, and a note on missing flows.

    Of many flows each group is drawn as one. Where there is one group, or more than can be distinguished, the flows
    with most data are drawn singly, and the others together. Nothing that arrived is missing.
    """
    drawn, _ = flows_of_runs(source, view, kind, ("segments",), most=None)
    found = [(one, arrivals(one.flow)) for one in drawn]
    silent = [one.words for one, arrival in found if not arrival.bytes.any()]
    indirect = [one.words for one, arrival in found if arrival.at_sender and arrival.bytes.any()]
    notes = []
    if silent:
        notes.append(f"Left out: {style.listed(silent)} (no data arrived)")
    if indirect:
        notes.append(f"By the ACKs and SACK blocks at the sender, a way back later: {style.listed(indirect)}")
    with_data = [(one, arrival) for one, arrival in found if arrival.bytes.any()]
    return _few_groups(with_data) or _bundled(with_data), ". ".join(notes)


def _few_groups(found: list[tuple[Drawn, Arrivals]]) -> list[tuple[Drawn, Arrivals]]:
    """Return many flows of a few groups as one for each group; else nothing."""
    groups: dict[tuple[int, str], list[tuple[Drawn, Arrivals]]] = {}
    for one, arrival in found:
        groups.setdefault((one.run, group_of(one.flow.name)), []).append((one, arrival))
    names, runs = list(dict.fromkeys(name for _, name in groups)), len({run for run, _ in groups})
    if len(found) <= MOST_FLOWS or len(names) == 1 or len(groups) > MOST_FLOWS:
        return []
    together = []
    for (run, name), flows in groups.items():
        one, arrival = _together(flows, f"{name}, {len(flows)} flows", several=runs > 1)
        colour, dashes = look_of(names.index(name), run, runs)
        together.append((replace(one, colour=colour, dashes=dashes), arrival))
    return together


def _bundled(found: list[tuple[Drawn, Arrivals]]) -> list[tuple[Drawn, Arrivals]]:
    """Return the flows with most data, in their order, and the others of each run as one."""
    if len(found) <= MOST_FLOWS:
        return found
    order = sorted(range(len(found)), key=lambda place: -float(found[place][1].bytes.sum()))
    single = set(order[: MOST_FLOWS - len({one.run for one, _ in found})])
    others: dict[int, list[tuple[Drawn, Arrivals]]] = {}
    for place, (one, arrival) in enumerate(found):
        if place not in single:
            others.setdefault(one.run, []).append((one, arrival))
    return [pair for place, pair in enumerate(found) if place in single] + [
        _together(those, f"{len(those)} others", several=len(others) > 1) for those in others.values()
    ]


def _together(flows: list[tuple[Drawn, Arrivals]], name: str, *, several: bool) -> tuple[Drawn, Arrivals]:
    """Return some flows of a run as one of that name; with `several` runs, its words begin with the name of the run."""
    first, _ = flows[0]
    run = f"{first.words.partition(':')[0]}: " if several else ""
    words = f"{run}{name}" if len(flows) > 1 else first.words
    time = np.concatenate([arrival.time for _, arrival in flows])
    order = np.argsort(time, kind="stable")
    together = Arrivals(
        time[order],
        np.concatenate([arrival.bytes for _, arrival in flows])[order],
        at_sender=any(arrival.at_sender for _, arrival in flows),
    )
    return replace(first, words=words, colour=style.GREY, dashes="-"), together


KIND: Final = Kind(
    id="throughput",
    summary="each flow's data that arrived in each interval; of several runs too (--with)",
    needs=("segments",),
    uses=(),
    draw=draw,
    options=("flow", "start_s", "end_s", "beside"),
)
