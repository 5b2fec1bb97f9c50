"""Goodputs of transfers as a distribution: each transfer of the table `transfers` counts once; of several runs too."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from lasthop.plots import style
from lasthop.plots.axes import set_title
from lasthop.plots.columns import Columns, Floats
from lasthop.plots.delay import distribution
from lasthop.plots.kind import Kind, View
from lasthop.plots.runs import look_of, named_runs
from lasthop.plots.source import Source, check_tables
from lasthop.plots.span import span_of

HEIGHT_IN: Final = 2.8
ID: Final = "transfers"


def draw(source: Source, view: View) -> Figure:
    """Draw the share of transfers with at most each goodput, a curve for each run in a shade of one colour."""
    figure = style.new_figure(view.width, HEIGHT_IN)
    axes = figure.subplots()
    found = [(name, goodputs_kbps(run, view)) for name, run in named_runs(source, view)]
    for place, (name, rates) in enumerate(found):
        if len(rates):
            rate, share = distribution(rates)
            colour, dashes = look_of(0, place, len(found))
            axes.step(rate, share, where="post", color=colour, linestyle=dashes, label=f"{name} ({len(rates)})")
    set_title(axes, view, source, "distribution of the goodput of transfers")
    axes.set_xlabel("Goodput of a transfer, from request to last byte (kbit/s)")
    axes.set_ylabel("Share of transfers")
    axes.set_ylim(0, 1.02)
    if any(len(rates) for _, rates in found):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        style.say_empty(axes, "no transfer ended in this time")
    style.legend_below(figure, [axes])
    return figure


def goodputs_kbps(run: Source, view: View) -> Floats:
    """Return the goodput of each transfer that ends in the view's time, in kbit/s."""
    check_tables(run, ID, KIND.needs)
    rows = Columns(ID, run.table(ID))
    if view.flow is not None:
        rows = rows.equal("flow", view.flow)
    started, ended = rows.seconds("start_ns"), rows.seconds("end_ns")
    counted = span_of(view, started, ended).holds(ended) & (ended > started)
    taken = (ended - started)[counted]
    return np.asarray(rows.numbers("bytes")[counted] * 8e-3 / taken, dtype=np.float64)


KIND: Final = Kind(
    id=ID,
    summary="the distribution of the goodput of transfers (pages, files); of several runs too (--with)",
    needs=(ID,),
    uses=(),
    draw=draw,
    options=("flow", "start_s", "end_s", "beside"),
)
