"""A sweep as a table: a row for each case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lasthop.cli.console import print_line, print_table, shown
from lasthop.experiments.sweeps import Case, Sweep
from lasthop.experiments.totals import period_of
from lasthop.stats import Spread

_COLUMNS: Final = {
    "throughput_Bps": ("Mbit/s", 8e-6),
    "elapsed_s": ("elapsed s", 1.0),
    "fairness": ("Jain's index", 1.0),
    "retransmissions": ("retransmitted", 1.0),
    "unnecessary_retransmissions": ("needless", 1.0),
    "timeouts": ("timeouts", 1.0),
    "drops": ("drops", 1.0),
    "transfer_mean_s": ("transfer s", 1.0),
    "frame_loss": ("lost or late", 1.0),
    "mos": ("worst MOS", 1.0),
    "stalled_s": ("longest stalled s", 1.0),
    "delay_mean_s": ("delay ms", 1e3),
    "delay_p95_s": ("delay 95 % ms", 1e3),
    "queue_mean": ("mean queue", 1.0),
}
"""Measures of a case, with header and factor from the measure's unit to the column's."""


def print_sweep(found: Sweep) -> None:
    """Print the values on the axes and the measures of each case; with several seeds as means ± 95 % interval."""
    print_line(f"{found.scenario}: {_runs(found)}\n")
    measured = [key for key in _COLUMNS if any(key in case.measures for case in found.cases)]
    head = [*_axis_names(found), *(_COLUMNS[key][0] for key in measured)]
    print_table(None, head, [_row(case, measured) for case in found.cases])
    for line in _meanings(found, measured):
        print_line(line)
    for path in found.without_effect:
        print_line(f"\n{path} changes nothing: the runs with each of its values are equal in every number")


def _runs(found: Sweep) -> str:
    """Return the seeds of each case, and the kind of the printed numbers."""
    seeds = found.cases[0].seeds
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    each = f"{len(seeds)} runs each, seeds {seeds[0]} to {seeds[-1]}"
    alike = [case.deterministic for case in found.cases]
    if all(alike):
        return f"{each}, all equal: deterministic"
    some = "; cases without ± are deterministic" if any(alike) else ""
    return f"{each}; means ± 95 % (Student's t){some}"


def _meanings(found: Sweep, measured: Sequence[str]) -> list[str]:
    """Return the scope of the totals if there are several flows."""
    summary, rivals = found.cases[0].summaries[0], found.cases[0].rivals
    flows = len(summary["flows"])
    if flows < 2:
        return []
    lines = [f"\nMbit/s: what all {flows} flows received, {period_of(summary).words}"]
    if "fairness" in measured:
        lines.append(f"Jain's index: of the {len(rivals.flows)} bulk flows that share {rivals.place}")
    return lines


def _axis_names(found: Sweep) -> list[str]:
    """Return the last part of each axis's path, or the whole path if two axes share that part."""
    short = [axis.name for axis in found.axes]
    return [axis.name if short.count(axis.name) == 1 else axis.path for axis in found.axes]


def _row(case: Case, measured: Sequence[str]) -> list[object]:
    measures = case.measures
    return [*case.values, *(_cell(measures.get(key), _COLUMNS[key][1]) for key in measured)]


def _cell(found: Spread | None, factor: float) -> object:
    if found is None:
        return None
    mean = found.mean * factor
    if found.mean_ci95 is None:
        return int(mean) if mean == int(mean) and factor == 1.0 else mean
    return f"{shown(mean)} ± {shown((found.mean_ci95[1] - found.mean) * factor)}"
