"""Several runs over one another: what was acknowledged, the congestion window and the queue, on one time axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lasthop.errors import InputError
from lasthop.plots import style
from lasthop.plots.columns import Columns, Floats
from lasthop.plots.flow import FlowTables, flow_names
from lasthop.plots.source import Source

PANEL_IN: Final = 1.9
FRAME_IN: Final = 0.5
DASHES: Final = ("-", "--", ":", "-.")
MOST_POINTS: Final = 4000
"""Points of a curve: more are not to be told apart on a page."""

Run = tuple[str, Source]
"""A run with the words that name it."""

Curve = Callable[[Source, str], tuple[Floats, Floats]]
"""Times and values of a flow of a run."""


def draw_overlay(runs: Sequence[Run], flow: str | None = None) -> Figure:
    """Draw the runs' flows of one name (the first that all have) over one another.

    Raises InputError where no flow is common, or a run recorded no segments.
    """
    name = flow or _common_flow(runs)
    panels: list[tuple[str, Curve]] = [("acknowledged (kB)", _acknowledged)]
    if all("tcp" in source.table_names for _, source in runs):
        panels.append(("cwnd (segments)", _window))
    if all("queue" in source.table_names for _, source in runs):
        panels.append(("longest queue (packets)", _queue))
    with style.settings():
        figure = style.new_figure("page", FRAME_IN + PANEL_IN * len(panels))
        grid = figure.subplots(len(panels), 1, squeeze=False, sharex=True)[:, 0]
        for axes, (label, curve) in zip(grid, panels, strict=True):
            for place, (words, source) in enumerate(runs):
                time, value = _thinned(*curve(source, name))
                _draw(axes, time, value, words, place)
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
            axes.grid(axis="y")
        grid[-1].set_xlabel("time (s)")
        grid[-1].set_xlim(left=0)
        figure.suptitle(f"flow {name}", x=0.01, ha="left", fontsize=style.TITLE_PT)
        style.legend_below(figure, grid)
    return figure


def _common_flow(runs: Sequence[Run]) -> str:
    for words, source in runs:
        if "segments" not in source.table_names:
            raise InputError(
                f"{words} recorded no segments, from which the picture is drawn",
                help='run it again with --set \'record.tables=["segments", "tcp", "queue"]\'',
            )
    names = [flow_names(source) for _, source in runs]
    common = [name for name in names[0] if all(name in others for others in names[1:])]
    if not common:
        raise InputError("the runs have no flow of the same name", help="compare runs of one scenario")
    return common[0]


def _acknowledged(source: Source, flow: str) -> tuple[Floats, Floats]:
    time, total = FlowTables(source, flow).acknowledged()
    return time, total / 1e3


def _window(source: Source, flow: str) -> tuple[Floats, Floats]:
    tables = FlowTables(source, flow)
    decisions = tables.decisions()
    return decisions.seconds("time_ns"), decisions.numbers("cwnd") / max(tables.segment_size(), 1.0)


def _queue(source: Source, flow: str) -> tuple[Floats, Floats]:
    """The queue that was longest at any time, of any flow's packets."""
    del flow
    rows = Columns("queue", source.table("queue"))
    places = rows.texts("link") + "." + rows.texts("direction")
    packets = rows.numbers("packets")
    longest = max(dict.fromkeys(places), key=lambda place: float(packets[places == place].max()), default="")
    chosen = places == longest
    return rows.seconds("time_ns")[chosen], packets[chosen]


def _thinned(time: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Of a long curve, the lowest and the highest point of each short time, so that no peak is lost."""
    if len(time) <= MOST_POINTS:
        return time, value
    kept = []
    for part in np.array_split(np.arange(len(time)), MOST_POINTS // 2):
        kept += sorted({int(part[value[part].argmin()]), int(part[value[part].argmax()])})
    return time[kept], value[kept]


def _draw(axes: Axes, time: Floats, value: Floats, words: str, place: int) -> None:
    axes.step(
        time,
        value,
        where="post",
        label=words,
        color=style.SERIES[place % len(style.SERIES)],
        linestyle=DASHES[place % len(DASHES)],
    )
