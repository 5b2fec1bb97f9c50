"""Curves through a study's rows: means over one column, with their 95 % intervals.

The rows are those of `lasthop study`. A curve connects the rows that differ in the column of the bottom axis; each
value of another column has a curve.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from lasthop.chart import Chart
from lasthop.errors import InputError
from lasthop.plots import style
from lasthop.plots.columns import Columns, Floats
from lasthop.plots.source import Source, columns_of
from lasthop.plots.study_rows import WORDS, names_of

PANEL_IN: Final = 1.9
FRAME_IN: Final = 0.35
"""Height of a row of panels, and of the title."""

MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: Final = ("-", "--", ":")
"""A curve's mark, and its dashes for each time that the colours begin again."""

FEWEST_FOR_BARS: Final = 3
"""Least number of runs for an interval: that of two is twelve times as wide as their difference."""

MOST_TICKS: Final = 10
"""Numbers that a logarithmic axis names one by one, if it shows no more."""


@dataclass(frozen=True)
class Curve:
    """Points in ascending order of `x`; NaN where there is no interval."""

    words: str
    x: Floats
    mean: Floats
    low: Floats
    high: Floats


def draw_curves(source: Source, chart: Chart, title: str) -> Figure:
    """Draw a chart of a study's rows. Raises InputError if there is no row of the table."""
    rows = _shown(columns_of(source, "rows"), chart)
    panels = [""] if chart.panels is None else rows.distinct(chart.panels)
    with style.settings():
        figure = style.new_figure("page", FRAME_IN + PANEL_IN * len(chart.metrics))
        scales: Literal["none", "row"] = "none" if chart.own_scales else "row"
        grid = figure.subplots(len(chart.metrics), len(panels), squeeze=False, sharex="col", sharey=scales)
        for line, metric in zip(grid, chart.metrics, strict=True):
            line[0].set_ylabel(_words(chart, metric))
            for axes, panel in zip(line, panels, strict=True):
                _draw_panel(axes, rows, chart, metric, panel)
        for axes in grid[-1]:
            axes.set_xlabel(_words(chart, chart.over))
        style.title_above(figure, style.wrapped(title, "page"))
        style.legend_below(figure, grid.flat if chart.by else ())
    return figure


def _shown(rows: Columns, chart: Chart) -> Columns:
    rows = rows.equal("table", chart.table)
    for column, texts in chart.only.items():
        rows = rows.where(np.isin(rows.texts(column), list(texts)))
    if not len(rows):
        raise InputError(f"there is no row of table {chart.table!r} to draw", key="charts")
    return rows


def _draw_panel(axes: Axes, rows: Columns, chart: Chart, metric: str, panel: str) -> None:
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    mine = rows if chart.panels is None else rows.equal(chart.panels, panel)
    if chart.panels is not None:
        own = chart.words.get(f"{chart.panels} {panel}")
        axes.set_title(own or f"{_words(chart, chart.panels)} {panel}")
    curves = list(_curves(mine, chart, metric))
    # The same thing looks the same in every panel, also where a panel lacks others.
    words = [""] if chart.by is None else rows.distinct(chart.by)
    for curve in curves:
        label = chart.words.get(f"{chart.by} {curve.words}", curve.words)
        _draw_curve(axes, curve, words.index(curve.words), label)
    _set_bottom(axes, curves, chart.log)


def _curves(rows: Columns, chart: Chart, metric: str) -> Iterator[Curve]:
    shown = rows.equal("metric", metric)
    for words in [""] if chart.by is None else shown.distinct(chart.by):
        mine = shown if chart.by is None else shown.equal(chart.by, words)
        x = mine.numbers(chart.over) if chart.over in mine else _means(rows, chart.over, mine)
        order = np.argsort(x, kind="stable")
        mean, low, high, runs = (mine.numbers(key)[order] for key in ("mean", "mean_low", "mean_high", "n"))
        has_bars = runs >= FEWEST_FOR_BARS
        yield Curve(words, x[order], mean, np.where(has_bars, low, np.nan), np.where(has_bars, high, np.nan))


def _means(rows: Columns, metric: str, of: Columns) -> Floats:
    """The mean of another metric of the same cases, in their order."""
    others = rows.equal("metric", metric)
    means = dict(zip(names_of(others), others.numbers("mean"), strict=True))
    return np.array([means.get(name, np.nan) for name in names_of(of)], dtype=np.float64)


def _draw_curve(axes: Axes, curve: Curve, place: int, label: str) -> None:
    lap, colour = divmod(place, len(style.SERIES))
    looks: dict[str, Any] = {
        "color": style.SERIES[colour],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": DASHES[lap % len(DASHES)],
    }
    axes.plot(curve.x, curve.mean, markersize=3.2, markeredgewidth=0.4, label=label, zorder=3, **looks)
    known = np.isfinite(curve.low) & (curve.high > curve.low)
    axes.vlines(curve.x[known], curve.low[known], curve.high[known], colors=style.SERIES[colour], linewidth=0.6)


def _set_bottom(axes: Axes, curves: Sequence[Curve], log: bool) -> None:
    every = np.unique(np.concatenate([np.empty(0), *(curve.x[np.isfinite(curve.x)] for curve in curves)]))
    if log and len(every) and every[0] > 0:
        axes.set_xscale("log")
        if len(every) <= MOST_TICKS:
            axes.xaxis.set_major_locator(FixedLocator([float(x) for x in every]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))


def _words(chart: Chart, name: str) -> str:
    return chart.words.get(name) or WORDS.get(name, name.replace("_", " "))
