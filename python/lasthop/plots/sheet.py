"""The sheet of a document: published against measured values, a panel for each metric.

A point on the diagonal agrees exactly. The band around it is 10 % wide on each side; colours are the study's kinds of
rows, hollow points do not agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from lasthop.plots import style

Row = Mapping[str, Any]

COLUMNS: Final = 3
PANEL_IN: Final = 2.3
BAND: Final = 0.1
WIDE: Final = 10.0
"""Ratio of largest to smallest value above which a panel is logarithmic; a narrower axis would have no numbers."""
OTHER: Final = "not judged"
COLOURS: Final = (*style.SERIES, style.PURPLE)


def draw_sheet(name: str, rows: Sequence[Row]) -> Figure:
    """Draw the rows that have both a published and a measured value."""
    with style.settings():
        shown = [row for row in rows if row["published"] is not None and row["measured"] is not None]
        metrics = list(dict.fromkeys(str(row["metric"]) for row in shown))
        kinds = list(dict.fromkeys(row["kind"] for row in shown if row["agrees"] is not None))
        colours = {kind: COLOURS[place % len(COLOURS)] for place, kind in enumerate(kinds)}
        lines = max(math.ceil(len(metrics) / COLUMNS), 1)
        figure = style.new_figure("page", 0.5 + PANEL_IN * lines)
        panels = list(figure.subplots(lines, COLUMNS, squeeze=False).flat)
        for axes, metric in zip(panels, metrics, strict=False):
            _draw_panel(axes, metric, [row for row in shown if row["metric"] == metric], colours)
        for axes in panels[len(metrics) :]:
            axes.set_axis_off()
        if not shown:
            style.say_empty(panels[0], "no row to draw")
        judged = [row["agrees"] for row in shown if row["agrees"] is not None]
        title = f"{name}: measured over published; {sum(judged)} of {len(judged)} rows agree"
        style.title_above(figure, title)
        style.legend_below(figure, panels, kinds, "Hollow points do not agree. The band is 10 % wide to each side.")
        return figure


def _draw_panel(axes: Axes, metric: str, rows: Sequence[Row], colours: Mapping[str, str]) -> None:
    values = [row[key] for row in rows for key in ("published", "measured")]
    ends = [min(values) / 1.1, max(values) * 1.1] if min(values) > 0 else [min(*values, 0), max(*values, 1) * 1.05]
    if min(values) > 0 and max(values) >= WIDE * min(values):
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            # Numbers at the minor ticks of so small a panel run into each other.
            axis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.fill_between(
        ends, [end * (1 - BAND) for end in ends], [end * (1 + BAND) for end in ends], color=style.LIGHT_GREY, lw=0
    )
    axes.plot(ends, ends, color=style.GREY, linewidth=0.6)
    for kind in dict.fromkeys(_kind(row) for row in rows):
        colour = colours.get(kind, style.GREY)
        for agrees in (True, False):
            chosen = [row for row in rows if _kind(row) == kind and (row["agrees"] is not False) is agrees]
            axes.scatter(
                [row["published"] for row in chosen],
                [row["measured"] for row in chosen],
                s=9,
                linewidths=0.7,
                edgecolors=colour,
                facecolors=colour if agrees else "none",
                label=kind if agrees or all(row["agrees"] is False for row in rows if _kind(row) == kind) else None,
                zorder=3,
            )
    axes.set_title(metric)
    axes.set_xlabel("published")
    axes.set_ylabel("measured")


def _kind(row: Row) -> str:
    return OTHER if row["agrees"] is None else str(row["kind"])
