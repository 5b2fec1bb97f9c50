"""A sweep's cases side by side: panels for each measure, the first axis along the bottom, the second by colour.

Each combination of the other axes has a column of panels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lasthop.experiments.sweeps import Axis, Case, Sweep
from lasthop.experiments.totals import period_of
from lasthop.plots import style
from lasthop.plots.output import save

PANELS: Final = {
    "throughput_Bps": ("Throughput\n(Mbit/s)", 8e-6),
    "fairness": ("Jain's index", 1.0),
    "retransmissions": ("Segments\nsent again", 1.0),
    "delay_p95_s": ("Delay, 95 %\n(ms)", 1e3),
    "queue_mean": ("Mean queue\n(packets)", 1.0),
    "timeouts": ("Timeouts", 1.0),
}
"""The panels: measure, label, and factor to the label's unit."""

MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
PANEL_IN: Final = 1.15
FRAME_IN: Final = 0.75
SPREAD: Final = 0.5
"""Spread of the marks of one value on the bottom axis, as a share of the distance between values."""

MOST_COLUMNS: Final = 4
"""Largest number of columns of panels; of more combinations, the words go to the legend."""

LONG: Final = 26
"""Letters of all values of the bottom axis, per column, from which they are written aslant."""

OF_A_THING: Final = re.compile(r"(hosts|links|flows|cells)\.([^.]+)\.(?:(down|up)\.)?(.+)")


def save_sweep(found: Sweep, path: Path) -> None:
    """Draw the grid into an SVG file. Raises InputError if it cannot be written."""
    save(draw_sweep(found), path, "svg")


def draw_sweep(found: Sweep) -> Figure:
    """Draw the grid: the mean of each case, with its 95 % interval where there are several seeds."""
    measured = [key for key in PANELS if any(key in case.measures for case in found.cases)]
    drawn = [key for key in measured if _varies(found, key)] or measured[:1]
    columns, by_colour = _columns(found)
    with style.settings():
        figure = style.new_figure("page", FRAME_IN + PANEL_IN * len(drawn))
        grid = figure.subplots(len(drawn), len(columns), squeeze=False, sharex=True, sharey="row")
        for line, key in zip(grid, drawn, strict=True):
            for axes, column in zip(line, columns, strict=True):
                _draw_panel(axes, found, key, column, by_colour)
            line[0].set_ylabel(PANELS[key][0])
            line[0].set_ylim(bottom=0)
        for axes, column in zip(grid[0], columns, strict=True):
            axes.set_title(_values_in_words(found.axes[2:], column))
        for axes in grid[-1]:
            _set_bottom(axes, found.axes[0], len(columns))
        style.title_above(figure, style.wrapped(_title(found), "page"))
        style.legend_below(figure, list(grid.flat) if by_colour != [()] else (), note=_note(found, measured, drawn))
    return figure


def key_in_words(path: str) -> str:
    """A key's path as it reads: "links.lasthop.down.queue.limit" is "queue limit of lasthop.down"."""
    found = OF_A_THING.fullmatch(path)
    if found is None:
        return path.replace(".", " ").replace("_", " ")
    _, name, way, key = found.groups()
    return f"{key.replace('.', ' ').replace('_', ' ')} of {name}{'.' + way if way else ''}"


def _varies(found: Sweep, key: str) -> bool:
    return len({case.measures[key].mean for case in found.cases if key in case.measures}) > 1


def _columns(found: Sweep) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the combinations of values with a column of panels, and the combinations with a colour."""
    columns = list(dict.fromkeys(case.values[2:] for case in found.cases))
    if len(columns) <= MOST_COLUMNS:
        return columns, list(dict.fromkeys(case.values[1:2] for case in found.cases))
    return [()], list(dict.fromkeys(case.values[1:] for case in found.cases))


def _draw_panel(
    axes: Axes, found: Sweep, key: str, column: tuple[str, ...], by_colour: Sequence[tuple[str, ...]]
) -> None:
    for place, group in enumerate(by_colour):
        values = (*group, *column)
        cases = [case for case in found.cases if case.values[1:] == values]
        words = ", ".join(map(_plain, group))
        _draw_group(axes, found.axes[0], cases, key, place, len(by_colour), words)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 5, 10]))
    axes.grid(axis="y")
    axes.set_axisbelow(True)


def _draw_group(axes: Axes, axis: Axis, cases: list[Case], key: str, place: int, groups: int, label: str) -> None:
    factor = PANELS[key][1]
    colour = style.SERIES[place % len(style.SERIES)]
    shift = 0.0 if groups == 1 else SPREAD * (place / (groups - 1) - 0.5)
    known = [(axis.values.index(case.values[0]), case.measures[key]) for case in cases if key in case.measures]
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


def _set_bottom(axes: Axes, axis: Axis, columns: int) -> None:
    aslant = sum(map(len, axis.values)) * columns > 4 * LONG
    axes.set_xticks(
        range(len(axis.values)),
        [_plain(value) for value in axis.values],
        rotation=25 if aslant else 0,
        ha="right" if aslant else "center",
    )
    axes.set_xlim(-0.5, len(axis.values) - 0.5)
    axes.set_xlabel(_capital(key_in_words(axis.path)))


def _values_in_words(axes: Sequence[Axis], values: Sequence[str]) -> str:
    return ", ".join(f"{key_in_words(axis.path)}: {_plain(value)}" for axis, value in zip(axes, values, strict=False))


def _plain(value: str) -> str:
    """A value as it reads, without the quotes of a text in TOML."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


def _title(found: Sweep) -> str:
    seeds = len(found.cases[0].seeds)
    runs = f"means of {seeds} runs with their 95 % intervals" if seeds > 1 else "one run each"
    if seeds > 1 and all(case.deterministic for case in found.cases):
        runs = f"{seeds} runs each, all equal"
    return f"{found.scenario} by {', '.join(key_in_words(axis.path) for axis in found.axes)}; {runs}"


def _note(found: Sweep, measured: Sequence[str], drawn: Sequence[str]) -> str:
    """Meaning of the colours, and the measures that are equal in all cases."""
    summary, rivals = found.cases[0].summaries[0], found.cases[0].rivals
    notes = []
    if len(summary["flows"]) > 1:
        notes.append(f"Throughput: what all {len(summary['flows'])} flows received, {period_of(summary).words}.")
    if "fairness" in measured:
        notes.append(f"Jain's index: of the {len(rivals.flows)} bulk flows that share {rivals.place}.")
    if len(found.axes) > 1:
        columns, _ = _columns(found)
        named = found.axes[1:2] if columns != [()] else found.axes[1:]
        notes.append(f"Colours: {', '.join(key_in_words(axis.path) for axis in named)}.")
    for key in measured:
        if key not in drawn:
            value = found.cases[0].measures[key].mean * PANELS[key][1]
            words = PANELS[key][0].replace("\n", " ")
            notes.append(f"The same in all cases: {words[:1].lower()}{words[1:]} {value:.3g}.")
    return " ".join(notes)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
