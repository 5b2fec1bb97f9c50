"""The kernel of this machine asked for each cell of the study, and the claims about how well virtual time agrees.

The kernel's answers are kept (`results/kernel.jsonl`) by the hash of what concerns it, which profiles do not, by its
release and by the number of runs: what is known is not run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lasthop.errors import LiveError, OracleError
from lasthop.experiments.overlay import draw_overlay
from lasthop.experiments.real_against_virtual import MEASURES, Compared, measures_of
from lasthop.real_time.live import live_result
from lasthop.scenario import Scenario
from lasthop.study import Case, Evidence, Verdict

RUNS = int(os.environ.get("LASTHOP_KERNEL_RUNS", "6"))
"""Number of the kernel's runs in each cell, which show its own variation."""

AT_A_TIME = threading.Semaphore(int(os.environ.get("LASTHOP_KERNEL_AT_A_TIME", "1")))
"""Number of live runs at a time: several disturb each other if the machine has few processors."""

ANSWERS = Path(os.environ.get("LASTHOP_KERNEL_ANSWERS", "results/kernel.jsonl"))
"""Folder of the kernel's answers."""

ATTEMPTS = 3
"""A run whose clock was late by more than 10 ms is made again, so often at most."""

METRICS = {
    "goodput_Bps": "goodput_Bps",
    "retransmissions": "retransmissions",
    "timeouts": "timeouts",
    "jain": "fairness",
    "queue_mean": "queue_mean",
}
"""The measure of a run by the metric of the study."""

SHARE = 0.9
"""The share of cells in which virtual time is to agree with the kernel."""

_answers: dict[str, list[dict[str, float]]] = {}
_cases: dict[tuple[str, ...], Case] = {}
_by_cell: dict[tuple[str, ...], list[dict[str, float]]] = {}
_off: list[tuple[str, ...]] = []
"""The cells that do not agree, once they are judged."""
_lock = threading.Lock()


def kernel(case: Case) -> dict[str, float]:
    """Run the case live, several times; return the mean of each metric.

    Raises OracleError where this machine does not allow it.
    """
    scenario = Scenario(case.id, case.seeds[0], case.variant().hash, case.variant().under(case.seeds[0]))
    key = f"{_hash_for_kernel(scenario)} {platform.release()} {RUNS}"
    with _lock:
        known = _known().get(key)
    runs = known or [_run(scenario) for _ in range(RUNS)]
    with _lock:
        if known is None:
            _keep(key, runs)
        _by_cell[_cell(case.values)] = runs
        _cases[_cell(case.values)] = case
    return {
        metric: sum(run[measure] for run in runs) / len(runs)
        for metric, measure in METRICS.items()
        if all(measure in run for run in runs)
    }


def _hash_for_kernel(scenario: Scenario) -> str:
    """Return the hash of the scenario without the profiles of its hosts, in whose place the kernel stands."""
    hosts = [
        {name: value for name, value in host.items() if name not in {"tcp", "profile"}}
        for host in scenario.specification["hosts"]
    ]
    text = json.dumps({**scenario.specification, "hosts": hosts}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _run(scenario: Scenario) -> dict[str, float]:
    """Run once, and again where the machine was too busy to keep time."""
    for made_again in range(ATTEMPTS):
        with AT_A_TIME:
            try:
                with live_result(scenario, quiet_output=True) as result:
                    summary = result.summary
            except LiveError as error:
                raise OracleError(f"the kernel cannot run case {scenario.name}: {error}") from error
        found = {"fairness": 1.0, **measures_of(summary), "made_again": float(made_again)}
        if not summary["lateness"]["tainted"]:
            break
    return found


def _known() -> dict[str, list[dict[str, float]]]:
    if not _answers and ANSWERS.is_file():
        _answers.update(json.loads(line) for line in ANSWERS.read_text().splitlines())
    return _answers


def _keep(key: str, runs: list[dict[str, float]]) -> None:
    _answers[key] = runs
    ANSWERS.parent.mkdir(parents=True, exist_ok=True)
    with ANSWERS.open("a") as file:
        file.write(json.dumps([key, runs]) + "\n")


def _cell(values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(values[name]) for name in ("tcp", "path", "errors", "queue", "options", "flows", "size"))


def goodput_agrees(evidence: Evidence) -> Verdict:
    """Judge goodput in all cells."""
    return _judge(evidence, {"goodput_Bps"})


def retransmissions_agree(evidence: Evidence) -> Verdict:
    """Judge retransmissions in all cells."""
    return _judge(evidence, {"retransmissions"})


def timeouts_agree(evidence: Evidence) -> Verdict:
    """Judge timeouts in all cells."""
    return _judge(evidence, {"timeouts"})


def fairness_agrees(evidence: Evidence) -> Verdict:
    """Judge Jain's index in all cells with several flows."""
    return _judge(evidence, {"jain"})


def cells_agree(evidence: Evidence) -> Verdict:
    """Judge all four together."""
    verdict, _off[:] = _judged(evidence, {"goodput_Bps", "retransmissions", "timeouts", "jain"})
    return verdict


def figures(folder: Path) -> list[Path]:
    """Lay the two time-sequence diagrams of each cell that does not agree over each other, from one more run."""
    return [_draw(_cases[cell], folder / f"{_name(cell).replace(' ', '_').replace('%', '')}.svg") for cell in _off]


def _draw(case: Case, file: Path) -> Path:
    specification = json.loads(case.variant().under(case.seeds[0]))
    specification.setdefault("record", {})["tables"] = ["packets"]
    draw_overlay(Scenario(file.stem, case.seeds[0], case.variant().hash, json.dumps(specification)), file)
    return file


def _judge(evidence: Evidence, metrics: set[str]) -> Verdict:
    return _judged(evidence, metrics)[0]


def _judged(evidence: Evidence, metrics: set[str]) -> tuple[Verdict, list[tuple[str, ...]]]:
    """Return the verdict, and the cells that do not agree."""
    cells: dict[tuple[str, ...], list[str]] = {}
    for row in evidence.rows:
        if row["metric"] in metrics:
            cells.setdefault(_cell(row), []).extend(_difference(row))
    off = {cell: differences for cell, differences in cells.items() if differences}
    agree = len(cells) - len(off)
    others = "; ".join(f"{_name(cell)}: {', '.join(differences)}" for cell, differences in off.items())
    agreeing = f"{agree} of {len(cells)} cells"
    holds = agree >= SHARE * len(cells)
    return Verdict(holds, f"{agreeing}; others: {others}" if others else agreeing), list(off)


def _difference(row: Mapping[str, Any]) -> Iterable[str]:
    """Yield what a cell's metric is here and in the kernel, if the two differ."""
    metric = str(row["metric"])
    runs = tuple(run[METRICS[metric]] for run in _by_cell.get(_cell(row), []))
    if row["measured"] is None or not runs:
        yield f"{metric} has no value"
        return
    measure = next(measure for measure in MEASURES if measure.name == METRICS[metric])
    compared = Compared(measure, runs, float(row["measured"]))
    if compared.differs:
        yield f"{metric} {compared.virtual:.4g}, kernel {min(runs):.4g} to {max(runs):.4g}"


def _name(cell: tuple[str, ...]) -> str:
    return " ".join(part for part in cell if part not in {"none", "fifo", "default", "path", "1"})
