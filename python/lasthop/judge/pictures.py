"""Pictures of a league: the scatter of delay and goodput, and the heat map of harm."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Final

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from lasthop.errors import naming
from lasthop.judge.entries import Entry
from lasthop.judge.league import League
from lasthop.plots.style import BLACK, GREY, LIGHT_GREY, SERIES

MARKS: Final = "os^DvP*Xh<>p"
"""Shapes of entries, in addition to their colours."""

MOST_WITH_DUELS: Final = 4
"""Number of entries up to which the scatter has every duel."""

TICKS: Final = ((3.0, (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)), (30.0, (1, 2, 5)), (float("inf"), (1,)))
"""Ticks of a decade of the logarithmic axis, each for a range up to a multiple."""


def draw_scatter(league: League, file: Path) -> None:
    """Draw goodput over the delay, which decreases to the right on a logarithmic axis: the best is at the top right.

    A mark is the standing of an entry, with the intervals of both measures; where the colours begin anew, marks are
    hollow. Few entries have the medians of their single duels as faint marks, which of many would hide the standings.
    """
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for place, standing in enumerate(league.standings):
        color, mark = SERIES[place % len(SERIES)], MARKS[place % len(MARKS)]
        if len(league.standings) <= MOST_WITH_DUELS:
            _draw_duels(axes, league, standing.entry, color, mark)
        delay, goodput = standing.measures["delay_p95_s"], standing.measures["goodput"]
        axes.errorbar(
            1000 * delay.median,
            goodput.median,
            xerr=[[1000 * (delay.median - delay.low)], [1000 * (delay.high - delay.median)]],
            yerr=[[goodput.median - goodput.low], [goodput.high - goodput.median]],
            color=color,
            marker=mark,
            markersize=8,
            markerfacecolor=color if place < len(SERIES) else "white",
            linewidth=1,
            label=standing.entry.name,
        )
    axes.set_xscale("log")
    axes.margins(x=0.08)
    axes.invert_xaxis()
    most, least = axes.get_xlim()
    ticks = next(ticks for multiple, ticks in TICKS if most <= multiple * least)
    axes.xaxis.set_major_locator(LogLocator(subs=ticks, numticks=20))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("95th percentile of the one-way delay, ms (less is to the right)")
    axes.set_ylabel("goodput, share of the best on the path")
    axes.set_ylim(0, 1.05)
    axes.grid(color=LIGHT_GREY, linewidth=0.5)
    axes.set_axisbelow(True)
    # A legend at the side: labels at the marks would cover one another where entries are alike.
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)
    _write(figure, file)


def _draw_duels(axes: Axes, league: League, entry: Entry, color: str, mark: str) -> None:
    own = [row for row in league.rows if row.entry == entry]
    delays = [1000 * row.measures["delay_p95_s"].median for row in own]
    shares = [league.share_of_best(row) for row in own]
    axes.scatter(delays, shares, color=color, marker=mark, alpha=0.25, s=12, linewidths=0)


def draw_harm(league: League, file: Path) -> None:
    """Draw the mean over paths of the harm that each entry (a row) does to each other one (a column)."""
    entries = [standing.entry for standing in league.standings]
    names = [entry.name for entry in entries]
    cells = [[league.harm_between(entry, rival) for rival in entries] for entry in entries]
    size = 2.2 + 0.55 * len(names)
    figure, axes = plt.subplots(figsize=(size + 1.2, size), layout="constrained")
    numbers = [[float("nan") if harm is None else harm for harm in row] for row in cells]
    image = axes.imshow(numbers, cmap="RdBu_r", vmin=-1, vmax=1)
    _write_numbers(axes, cells)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("to this rival")
    axes.set_ylabel("harm of this entry")
    figure.colorbar(image, ax=axes, label="share of the rival's goodput", shrink=0.8)
    _write(figure, file)


def _write_numbers(axes: Axes, cells: Sequence[Sequence[float | None]]) -> None:
    for y, row in enumerate(cells):
        for x, given in enumerate(row):
            # Without a negative zero.
            harm = None if given is None else round(given, 2) + 0.0
            text, color = ("–", GREY) if harm is None else (f"{harm:.2f}", "white" if abs(harm) > 0.6 else BLACK)
            axes.text(x, y, text, ha="center", va="center", fontsize=8, color=color)


def load_format() -> None:
    """Load what writes the files of pictures, which matplotlib does with the first file only.

    Raises ModuleNotFoundError where it is not installed: before the runs, and not when they are over.
    """
    figure = plt.figure()
    figure.savefig(BytesIO(), format="svg")
    plt.close(figure)


def _write(figure: Figure, file: Path) -> None:
    # Neither a date nor random identifiers: equal leagues have equal files.
    with naming(file), plt.rc_context({"svg.hashsalt": file.name}):
        figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
