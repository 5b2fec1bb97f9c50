"""A sweep's cases side by side: a panel for each measure, the first axis along the bottom, the others by colour."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lasthop.experiments.sweeps import Case, Sweep
from lasthop.plots import style
from lasthop.plots.output import save

PANELS: Final = {
    "throughput_Bps": ("throughput\n(Mbit/s)", 8e-6),
    "fairness": ("Jain's index", 1.0),
    "retransmissions": ("retransmissions", 1.0),
    "delay_p95_s": ("delay, 95 %\n(ms)", 1e3),
    "queue_mean": ("mean queue\n(packets)", 1.0),
    "timeouts": ("timeouts", 1.0),
}
"""The panels: measure, label, and factor to the label's unit."""

MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
PANEL_IN: Final = 1.15
FRAME_IN: Final = 0.6
SPREAD: Final = 0.5
"""Spread of the marks of one value on the bottom axis, as a share of the distance between values."""


def save_sweep(found: Sweep, path: Path) -> None:
    """Draw the grid into an SVG file. Raises InputError if it cannot be written."""
    save(draw_sweep(found), path, "svg")


def draw_sweep(found: Sweep) -> Figure:
    """Draw the grid: the mean of each case, with its 95 % interval where there are several seeds."""
    drawn = [key for key in PANELS if any(key in case.measures for case in found.cases)]
    groups = list(dict.fromkeys(case.values[1:] for case in found.cases))
    with style.settings():
        figure = style.new_figure("page", FRAME_IN + PANEL_IN * len(drawn))
        panels = figure.subplots(len(drawn), 1, squeeze=False, sharex=True)[:, 0]
        for axes, key in zip(panels, drawn, strict=True):
            for place, group in enumerate(groups):
                cases = [case for case in found.cases if case.values[1:] == group]
                _draw_group(axes, cases, key, place, len(groups), ", ".join(group))
            axes.set_ylabel(PANELS[key][0])
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
            axes.grid(axis="y")
            axes.set_axisbelow(True)
        values = found.axes[0].values
        panels[-1].set_xticks(range(len(values)), values)
        panels[-1].set_xlim(-0.5, len(values) - 0.5)
        panels[-1].set_xlabel(found.axes[0].path)
        figure.suptitle(style.wrapped(_title(found), "page"), x=0.01, ha="left", fontsize=style.TITLE_PT)
        style.legend_below(figure, panels if len(groups) > 1 else ())
    return figure


def _draw_group(axes: Axes, cases: list[Case], key: str, place: int, groups: int, label: str) -> None:
    factor = PANELS[key][1]
    colour = style.SERIES[place % len(style.SERIES)]
    shift = 0.0 if groups == 1 else SPREAD * (place / (groups - 1) - 0.5)
    known = [(x, case.measures[key]) for x, case in enumerate(cases) if key in case.measures]
    bottom = [x + shift for x, _ in known]
    axes.plot(
        bottom,
        [spread.mean * factor for _, spread in known],
        linestyle="none",
        clip_on=False,
        zorder=3,
        marker=MARKERS[place % len(MARKERS)],
        markersize=4,
        color=colour,
        label=label,
    )
    for x, (_, spread) in zip(bottom, known, strict=True):
        if spread.mean_ci95 is not None:
            low, high = (max(end * factor, 0.0) for end in spread.mean_ci95)
            axes.vlines(x, low, high, colors=colour, linewidth=0.8)


def _title(found: Sweep) -> str:
    seeds = len(found.cases[0].seeds)
    others = [axis.path for axis in found.axes[1:]]
    by = f", by {', '.join(others)}" if others else ""
    runs = f"means of {seeds} runs with their 95 % intervals" if seeds > 1 else "one run each"
    if all(case.deterministic for case in found.cases):
        runs = f"{seeds} runs each, all equal"
    return f"{found.scenario}: {found.axes[0].path}{by}; {runs}"
