"""A document's published values next to the measured ones, row by row.

The rows are those of `lasthop study`. The columns of a row that are not measured name its case: those with one value in
the whole picture go into the title, the column with fewest values makes groups, the others name the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from lasthop.errors import InputError
from lasthop.plots import style
from lasthop.plots.columns import Booleans, Columns, Floats
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import Source, columns_of
from lasthop.plots.study_rows import WORDS, Name, names_of

ROW_IN: Final = 0.158
FRAME_IN: Final = 0.85
"""Height of one row, and of the title and the axis below."""

TOLERANCE_PERCENT: Final = 2.5
"""The band that is shaded in a panel of ratios."""

WIDEST_PERCENT: Final = 30.0
"""Ratios beyond this are drawn as arrows at the edge, so that one wild row does not flatten the others."""

MOST_PANELS: Final = 4

DERIVED: Final = ("throughput_Bps",)
"""Metrics that say the same as the elapsed time: drawn if there is room or if they are asked for."""


PUBLISHED: Final = "published"
MEASURED: Final = "measured median"
QUARTILES: Final = "measured quartiles"
PUBLISHED_QUARTILES: Final = "published quartiles"
SPAN: Final = "span of the runs"
TOLERANCE: Final = f"within {TOLERANCE_PERCENT:g} %"

LEGEND: Final = (PUBLISHED, PUBLISHED_QUARTILES, MEASURED, QUARTILES, SPAN, TOLERANCE)

APART: Final = 0.17
"""Distance of the published value above its line and of the measured value below it, as a share of a row."""

PUBLISHED_BAR: Final[dict[str, Any]] = {
    "color": style.BLACK,
    "linewidth": 0.7,
    "zorder": 3.5,
}


@dataclass(frozen=True)
class Panel:
    """One panel: a metric, as itself or as the ratio of measured to published."""

    metric: str
    shows: Literal["value", "ratio"]


@dataclass(frozen=True)
class Values:
    """One metric's values, one per row of the picture from the top; NaN where there is none."""

    published: Floats
    published_q25: Floats
    published_q75: Floats
    measured: Floats
    q25: Floats
    q75: Floats
    low: Floats
    high: Floats

    def as_ratio(self) -> Values:
        """All as deviations from the published value in percent."""

        def percent(values: Floats) -> Floats:
            # Nothing is a share of a published 0.
            return 100 * (values / np.where(self.published == 0, np.nan, self.published) - 1)

        return Values(
            percent(self.published),
            percent(self.published_q25),
            percent(self.published_q75),
            percent(self.measured),
            percent(self.q25),
            percent(self.q75),
            percent(self.low),
            percent(self.high),
        )


@dataclass(frozen=True)
class Line:
    """One line of the picture: a row, or the heading of a group, which has no name."""

    words: str
    name: Name | None


def draw(source: Source, view: View) -> Figure:
    """Draw the rows of one table of the document (the view's, else the first)."""
    rows = _choose_table(columns_of(source, "rows"), view.table)
    names = names_of(rows)
    lines = _lines(list(dict.fromkeys(names)))
    panels = _panels(rows.distinct("metric"), view)
    figure = style.new_figure("page", FRAME_IN + ROW_IN * max(len(lines), 3))
    all_axes = list(figure.subplots(1, max(len(panels), 1), sharey=True, squeeze=False)[0])
    for axes, panel in zip(all_axes, panels, strict=False):
        _draw_panel(axes, panel, _values(rows, names, lines, panel.metric))
    _name_lines(all_axes, lines)
    title = f"{source.name} published and measured{_same_in_all(list(dict.fromkeys(names)))}".strip()
    words = style.wrapped(title if view.title is None else view.title, "page")
    style.title_above(figure, words)
    if not lines:
        style.say_empty(all_axes[0], "no row to draw")
    style.legend_below(figure, all_axes, LEGEND)
    return figure


def _choose_table(rows: Columns, table: str | None) -> Columns:
    if "table" not in rows or not len(rows):
        return rows
    tables = rows.distinct("table")
    if table is not None and table not in tables:
        raise InputError(f"no table {table!r} among the rows", key="table", help=f"choose one of {', '.join(tables)}")
    return rows.equal("table", table or tables[0])


def _panels(metrics: list[str], view: View) -> list[Panel]:
    """The metrics that fit: those in seconds first, each with its ratio."""
    if view.metric is not None:
        if view.metric not in metrics:
            raise InputError(
                f"no metric {view.metric!r} among the rows",
                key="metric",
                help=f"choose one of {', '.join(metrics)}",
            )
        return [Panel(view.metric, "value"), Panel(view.metric, "ratio")]
    ranked = sorted(metrics, key=lambda metric: (metric in DERIVED, not metric.endswith("_s")))
    panels: list[Panel] = []
    for metric in ranked:
        panels.append(Panel(metric, "value"))
        if metric.endswith(("_s", "_Bps")):
            panels.append(Panel(metric, "ratio"))
    return panels[:MOST_PANELS]


def _values(rows: Columns, names: list[Name], lines: list[Line], metric: str) -> Values:
    """The metric's values, one for each line of the picture."""
    place = {line.name: number for number, line in enumerate(lines) if line.name is not None}
    places = np.array([place[name] for name in names], dtype=np.intp)
    mine: Booleans = np.asarray(rows.texts("metric") == metric, dtype=np.bool_)

    def arranged(column: str) -> Floats:
        values = np.full(len(lines), np.nan)
        if column in rows:
            values[places[mine]] = rows.numbers(column)[mine]
        return values

    return Values(
        arranged("published"),
        arranged("published_q25"),
        arranged("published_q75"),
        arranged("measured"),
        arranged("q25"),
        arranged("q75"),
        arranged("low"),
        arranged("high"),
    )


def _draw_panel(axes: Axes, panel: Panel, values: Values) -> None:
    ratio = panel.shows == "ratio"
    shown = values.as_ratio() if ratio else values
    y = np.arange(len(shown.measured), dtype=np.float64)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    _set_limits(axes, shown, ratio)
    if ratio:
        _draw_band(axes)
    axes.set_xlabel(
        "Measured against\npublished (%)" if ratio else WORDS.get(panel.metric, panel.metric.replace("_", " "))
    )
    above, below = y - APART, y + APART
    _bars(axes, above, shown.published_q25, shown.published_q75, PUBLISHED_QUARTILES, **PUBLISHED_BAR)
    if not ratio:
        _dots(axes, shown.published, above, "D", "white", style.BLACK, PUBLISHED, 4)
    _bars(axes, below, shown.low, shown.high, SPAN, color=style.CYAN, linewidth=4, alpha=0.4, zorder=2)
    _bars(axes, below, shown.q25, shown.q75, QUARTILES, color=style.BLUE, linewidth=1.1, zorder=3)
    _dots(axes, shown.measured, below, "o", style.BLUE, style.BLUE, MEASURED, 5)
    if ratio:
        _arrows_beyond(axes, shown.measured, below)


def _draw_band(axes: Axes) -> None:
    band: dict[str, Any] = {"color": style.LIGHT_GREY, "alpha": 0.6, "linewidth": 0, "zorder": 0}
    axes.axvspan(-TOLERANCE_PERCENT, TOLERANCE_PERCENT, label=TOLERANCE, **band)
    axes.axvline(0, color=style.BLACK, linewidth=0.6, zorder=1)


def _bars(axes: Axes, y: Floats, low: Floats, high: Floats, label: str, **looks: Any) -> None:
    known = high > low
    if known.any():
        axes.hlines(y[known], low[known], high[known], label=label, **looks)


def _dots(axes: Axes, x: Floats, y: Floats, marker: str, face: str, edge: str, label: str, zorder: int) -> None:
    if not np.isfinite(x).any():
        return
    axes.plot(
        x,
        y,
        linestyle="none",
        marker=marker,
        markersize=3.6 if marker == "D" else 3.2,
        markerfacecolor=face,
        markeredgecolor=edge,
        markeredgewidth=0.8,
        zorder=zorder,
        label=label,
    )


def _set_limits(axes: Axes, shown: Values, ratio: bool) -> None:
    every = np.concatenate([shown.published, shown.measured, shown.q25, shown.q75, shown.low, shown.high])
    every = every[np.isfinite(every)]
    if ratio:
        reach = min(max(float(np.abs(every).max(initial=0.0)) * 1.08, 2 * TOLERANCE_PERCENT), WIDEST_PERCENT)
        axes.set_xlim(-reach, reach)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _signed(value)))
    elif len(every):
        room = 0.06 * (float(np.ptp(every)) or 1.0)
        axes.set_xlim(float(every.min()) - room, float(every.max()) + room)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 5, 10]))


def _arrows_beyond(axes: Axes, x: Floats, y: Floats) -> None:
    low, high = axes.get_xlim()
    for beyond, edge, marker in ((x < low, low, "<"), (x > high, high, ">")):
        if beyond.any():
            axes.plot(
                np.full(int(beyond.sum()), edge),
                y[beyond],
                linestyle="none",
                marker=marker,
                markersize=4,
                color=style.BLUE,
                clip_on=False,
                zorder=6,
            )


def _signed(percent: float) -> str:
    sign = "\N{MINUS SIGN}" if percent < 0 else "+" if percent > 0 else ""
    return f"{sign}{abs(percent):g}"


def _lines(order: list[Name]) -> list[Line]:
    """The lines of the picture: each row, and over each group its heading."""
    varying = _varying(order)
    if len(varying) < 2:
        return [Line(_label(name, varying), name) for name in order]
    heading = min(varying, key=lambda column: len({dict(name)[column] for name in order}))
    rest = [column for column in varying if column != heading]
    groups: dict[str, list[Line]] = {}
    for name in order:
        words = _label(name, [heading])
        groups.setdefault(words, [Line(words, None)]).append(Line(_label(name, rest), name))
    return [line for lines in groups.values() for line in lines]


def _name_lines(all_axes: list[Axes], lines: list[Line]) -> None:
    """Name each line at the left; over each heading but the first runs a rule."""
    first = all_axes[0]
    first.set_ylim(max(len(lines), 1) - 0.5, -0.5)
    first.set_yticks(range(len(lines)), [line.words for line in lines])
    for number, (line, label) in enumerate(zip(lines, first.get_yticklabels(), strict=True)):
        if line.name is None:
            label.set_fontweight("bold")
        for axes in all_axes:
            if line.name is not None:
                axes.axhline(number, color=style.LIGHT_GREY, linewidth=0.4, linestyle=(0, (1, 2)), zorder=0.5)
            elif number:
                axes.axhline(number - 0.5, color=style.GREY, linewidth=0.5, zorder=1)


def _varying(order: list[Name]) -> list[str]:
    """The columns that do not have the same text in all rows."""
    columns = [column for column, _ in order[0]] if order else []
    return [column for place, column in enumerate(columns) if len({name[place][1] for name in order}) > 1]


def _same_in_all(order: list[Name]) -> str:
    """The columns that have the same text in all rows, as words for the title."""
    varying = _varying(order)
    first = order[0] if order else ()
    same = [f"{_plain(column)} {text}" for column, text in first if column not in varying and text]
    return f" ({', '.join(same)})" if same else ""


def _label(name: Name, columns: list[str]) -> str:
    parts = dict(name)
    if columns == ["delay_spec"]:
        return parts["delay_spec"]
    return ", ".join(f"{_plain(column)} {parts[column]}" for column in columns)


def _plain(column: str) -> str:
    return column.removesuffix("_pkts").removesuffix("_spec").replace("_", " ")


KIND: Final = Kind(
    id="published",
    summary="a study's rows: the published and the measured value, with quartiles, spans and ratios",
    needs=("rows",),
    uses=(),
    draw=draw,
    options=("table", "metric"),
)
