"""The picture of the answers: each measure of the candidate as a multiple of that of Reno and of CUBIC in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, NullFormatter

from lasthop.errors import naming
from lasthop.judge.bcp133.answers import REFERENCES, Answers
from lasthop.judge.bcp133.measures import MEASURES
from lasthop.plots.style import BLUE, GREY, LIGHT_GREY, ORANGE

MOST: Final = 10.0
"""Multiples beyond this, or below its inverse, are drawn at the edge."""

COLORS: Final = dict(zip([entry.name for entry in REFERENCES], (BLUE, ORANGE), strict=True))


def draw_answers(answers: Answers, file: Path) -> None:
    """Draw, for each measure, how many times as bad the candidate is: to the right of 1 it does worse."""
    rows = [
        (f"§{each.item.section}  {finding.case}: {finding.asked.flow}, {finding.asked.measure}", finding)
        for each in answers.answers
        for finding in each.findings
    ]
    figure, axes = plt.subplots(figsize=(9, 0.9 + 0.22 * len(rows)), layout="constrained")
    for place, (_, finding) in enumerate(rows):
        own = finding.values.get(answers.candidate.name)
        for shift, (name, color) in zip((-0.15, 0.15), COLORS.items(), strict=True):
            reference = finding.values.get(name)
            if own is None or reference is None:
                continue
            more = MEASURES[finding.asked.measure].more_is_better
            worse = _ratio(reference.median, own.median) if more else _ratio(own.median, reference.median)
            axes.plot(worse, place + shift, "o", color=color, markersize=4)
    for name, color in COLORS.items():
        axes.plot([], [], "o", color=color, markersize=4, label=f"against {name}")
    axes.axvline(1, color=GREY, linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlim(1 / MOST / 1.2, MOST * 1.2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(rows)), [label for label, _ in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(f"times as bad as the reference (medians; beyond {MOST:g} at the edge)")
    axes.grid(axis="x", color=LIGHT_GREY, linewidth=0.5)
    axes.legend(loc="lower right", fontsize=8, frameon=False, bbox_to_anchor=(1.0, 1.0), ncols=2)
    # Neither a date nor random identifiers: equal answers have equal files.
    with naming(file), plt.rc_context({"svg.hashsalt": file.name}):
        figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def _ratio(worse: float, better: float) -> float:
    if worse == better:
        return 1.0
    return min(max(worse / better, 1 / MOST), MOST) if better > 0 else MOST
