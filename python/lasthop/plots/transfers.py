"""Goodputs of transfers as a distribution: each transfer of the table `transfers` counts once; of several runs too."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.figure import Figure

from lasthop.plots import style
from lasthop.plots.axes import set_log_axis, set_title
from lasthop.plots.columns import Columns, Floats
from lasthop.plots.delay import distribution
from lasthop.plots.flow import group_of
from lasthop.plots.kind import Kind, View
from lasthop.plots.runs import look_of, named_runs
from lasthop.plots.source import Source, check_tables
from lasthop.plots.span import span_of

HEIGHT_IN: Final = 2.8
ID: Final = "transfers"


def draw(source: Source, view: View) -> Figure:
    """Draw the share of transfers with at most each goodput: a curve for each group of flows, a shade for each run."""
    figure = style.new_figure(view.width, HEIGHT_IN)
    axes = figure.subplots()
    found = [(name, goodputs_kbps(run, view)) for name, run in named_runs(source, view)]
    groups = list(dict.fromkeys(group for _, rates_of in found for group in rates_of))
    for place, (name, rates_of) in enumerate(found):
        for group, rates in rates_of.items():
            words = name if len(groups) == 1 else group if len(found) == 1 else f"{name}: {group}"
            rate, share = distribution(rates)
            colour, dashes = look_of(groups.index(group), place, len(found))
            axes.step(rate, share, where="post", color=colour, linestyle=dashes, label=f"{words} ({len(rates)})")
    set_title(axes, view, source, "distribution of the goodput of transfers")
    axes.set_xlabel("Goodput of a transfer, from request to last byte (kbit/s)")
    axes.set_ylabel("Share of transfers")
    axes.set_ylim(0, 1.02)
    if groups:
        set_log_axis(axes, "x")
    else:
        style.say_empty(axes, "no transfer ended in this time")
    style.legend_below(figure, [axes])
    return figure


def goodputs_kbps(run: Source, view: View) -> dict[str, Floats]:
    """Return the goodput of each transfer that ends in the view's time, in kbit/s, by its flow's group."""
    check_tables(run, ID, KIND.needs)
    rows = Columns(ID, run.table(ID))
    if view.flow is not None:
        rows = rows.equal("flow", view.flow)
    started, ended = rows.seconds("start_ns"), rows.seconds("end_ns")
    counted = span_of(view, started, ended).holds(ended) & (ended > started)
    taken = (ended - started)[counted]
    rates = np.asarray(rows.numbers("bytes")[counted] * 8e-3 / taken, dtype=np.float64)
    group = np.array([group_of(flow) for flow in rows.texts("flow")[counted]], dtype=np.object_)
    return {name: rates[group == name] for name in dict.fromkeys(group)}


KIND: Final = Kind(
    id=ID,
    summary="the distribution of the goodput of transfers (pages, files); of several runs too (--with)",
    needs=(ID,),
    uses=(),
    draw=draw,
    options=("flow", "start_s", "end_s", "beside"),
)
