"""Each case live, on this machine, and the claims about what the stacks do.

What real time gave is kept (`results/stacks.jsonl`) by the hash of the case, the kernel's release and the number of
runs.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import threading
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from statistics import mean
from typing import Any

from lasthop.errors import LiveError, OracleError
from lasthop.real_time.live import Program, live_result
from lasthop.scenario import Scenario
from lasthop.study import Case, Evidence, Verdict
from lasthop.study.recovery_check import time_to_recover_s

RUNS = int(os.environ.get("LASTHOP_STACKS_RUNS", "1"))
"""Runs in real time of each case."""

ANSWERS = Path(os.environ.get("LASTHOP_STACKS_ANSWERS", "results/stacks.jsonl"))
"""Folder of the answers."""

PROGRAMS = Path(os.environ.get("LASTHOP_STACKS_PROGRAMS", "results/stacks-programs"))
"""Folder in which `programs/build` puts the stacks that are programs."""

ATTEMPTS = 3
"""A run whose clock was late by more than 10 ms is made again, so often at most."""

METRICS = {
    "elapsed_s": "elapsed_s",
    "received": "received",
    "retransmissions": "retransmissions",
    "needless": "unnecessary_retransmissions",
    "timeouts": "timeouts",
    "spurious_timeouts": "spurious_timeouts",
}
"""The key of a flow's summary by the metric of the study."""

RECOVERY = "recovery_s"
"""The metric that is seen in a run's packets."""

TCPS = (
    "linux-cubic",
    "linux-reno",
    "linux-bbr",
    "linux-cubic-without-frto",
    "linux-cubic-without-frto-or-timestamps",
    "smoltcp",
)
BACK = ("linux-cubic-without-frto-or-timestamps", "smoltcp")
"""Stacks that go back N."""

AS_PROGRAMS = ("lwip", "netstack")
"""Stacks that run in real time only, if they are built."""

WITH_FRTO = ("linux-cubic", "linux-reno", "linux-bbr")
DELAYS = ("1s", "3s", "10s")
TIMED_OUT = ("3s", "10s")
"""The delays after which every sender has timed out."""

FEW = 2
"""A difference between two runs of a kernel."""

PROBES = 1
"""A tail loss probe is sent before the first timeout (RFC 8985 §7)."""

MUCH = 10
SHARE = 0.9
WINDOW_S = 0.25
"""A time to recover is as exact as the window that it is measured by: 20 packets at 1 Mbit/s."""

TRANSFER = 400_000
NEAR = 0.05

BUILD = Path(__file__).parent / "programs" / "build"
NOT_BUILT = f"not judged: neither is built here ({BUILD})"

_answers: dict[str, list[dict[str, float]]] = {}
_warned: set[str] = set()
_lock = threading.Lock()
_one_at_a_time = threading.Lock()

Cells = Mapping[tuple[str, str, str, str], float]
"""Measured values by stack, delay, receiver and metric."""


def live(case: Case) -> dict[str, float]:
    """Run the case in real time; return the mean of each metric, and nothing for a program that is not built here.

    Raises OracleError where this machine does not allow it.
    """
    variant, stack = case.variant(), str(case.values["stack"])
    key = f"{variant.hash} {platform.release()} {RUNS}"
    programs: list[Program] = []
    if stack in AS_PROGRAMS:
        program = PROGRAMS / stack
        if not program.is_file():
            _warn_once(f"{stack} is not built, and left out: {BUILD} builds it")
            return {}
        key += f" {stack} {sha256(program.read_bytes()).hexdigest()[:16]}"
        programs = [("server", [str(program.resolve())])]
    with _lock:
        known = _known().get(key)
    scenario = Scenario(case.id, case.seeds[0], variant.hash, variant.under(case.seeds[0]))
    runs = known or [_run(scenario, programs) for _ in range(RUNS)]
    if known is None:
        with _lock:
            _keep(key, runs)
    return {
        metric: mean(run[metric] for run in runs)
        for metric in (*METRICS, RECOVERY)
        if all(metric in run for run in runs)
    }


def _warn_once(said: str) -> None:
    with _lock:
        if said not in _warned:
            _warned.add(said)
            print(said, file=sys.stderr)


def _run(scenario: Scenario, programs: Sequence[Program]) -> dict[str, float]:
    """Run once, and again where the machine was too busy to keep time. A transfer that did not end has no length."""
    for _ in range(ATTEMPTS):
        with _one_at_a_time:
            try:
                with live_result(scenario, programs=programs, quiet_output=True) as result:
                    summary, recovery_s = result.summary, time_to_recover_s(result)
            except LiveError as error:
                raise OracleError(f"case {scenario.name} cannot run live: {error}") from error
        if not summary["lateness"]["tainted"]:
            break
    (flow,) = summary["flows"]
    found = {metric: flow[key] for metric, key in METRICS.items()} | {RECOVERY: recovery_s}
    return {metric: float(value) for metric, value in found.items() if value is not None}


def _known() -> dict[str, list[dict[str, float]]]:
    if not _answers and ANSWERS.is_file():
        _answers.update(json.loads(line) for line in ANSWERS.read_text().splitlines())
    return _answers


def _keep(key: str, runs: list[dict[str, float]]) -> None:
    _answers[key] = runs
    ANSWERS.parent.mkdir(parents=True, exist_ok=True)
    with ANSWERS.open("a") as file:
        file.write(json.dumps([key, runs]) + "\n")


def nothing_without_delay(evidence: Evidence) -> Verdict:
    """Judge the cases without a delay."""
    again = {
        row[0]: value for row, value in _measured(evidence).items() if row[1] == "none" and _is(row, "retransmissions")
    }
    return Verdict(not any(again.values()), _listed(again))


def all_time_out(evidence: Evidence) -> Verdict:
    """Judge the timeouts after 3 s: those of TCPs are spurious, those of quinn are probes."""
    cells = _measured(evidence)
    spurious = {stack: cells[stack, "3s", "honest", "spurious_timeouts"] for stack in TCPS}
    probes = cells["quinn", "3s", "honest", "timeouts"]
    figures = f"spurious timeouts: {_listed(spurious)}; probes of quinn: {probes:g}"
    return Verdict(all(spurious.values()) and probes > 0, figures)


def linux_sends_few_again(evidence: Evidence) -> Verdict:
    """Judge what Linux sends again for nothing, in virtual and in real time, beyond one segment for each timeout."""
    beyond = {
        f"{stack} {delay}{clock}": cells[stack, delay, "honest", "needless"] - cells[stack, delay, "honest", "timeouts"]
        for clock, cells in (("", _measured(evidence)), (" live", _published(evidence)))
        for stack in WITH_FRTO
        for delay in DELAYS
        if (stack, delay, "honest", "needless") in cells
    }
    return Verdict(all(count <= PROBES for count in beyond.values()), _listed(beyond))


def smoltcp_goes_back(evidence: Evidence) -> Verdict:
    """Judge what smoltcp sends again for nothing."""
    cells = _measured(evidence)
    again = {delay: cells["smoltcp", delay, "honest", "needless"] for delay in DELAYS}
    return Verdict(all(count >= MUCH for count in again.values()), _listed(again))


def division_gains_nothing(evidence: Evidence) -> Verdict:
    """Judge the length of transfers to a receiver that divides ACKs, of that to an honest one."""
    cells = {**_of_programs(_published(evidence)), **_measured(evidence)}
    stacks = dict.fromkeys(stack for stack, _, receiver, _ in cells if receiver == "divides")
    ratios = {
        stack: cells[stack, "none", "divides", "elapsed_s"] / cells[stack, "none", "honest-10Mbit", "elapsed_s"]
        for stack in stacks
    }
    return Verdict(all(ratio >= 1 - NEAR for ratio in ratios.values()), _listed(ratios))


def repetition_moves_nothing(evidence: Evidence) -> Verdict:
    """Judge what Linux and quinn send again to a receiver that repeats its ACKs."""
    cells = _measured(evidence)
    stacks = (*WITH_FRTO, "quinn")
    again = {stack: cells[stack, "none", "repeats", "retransmissions"] for stack in stacks}
    return Verdict(not any(again.values()), _listed(again))


def quinn_finds_out(evidence: Evidence) -> Verdict:
    """Judge what a receiver that is ahead gets from quinn, in both clocks."""
    cell = ("quinn", "none", "is-ahead", "received")
    got = {
        clock: cells[cell]
        for clock, cells in (("virtual", _measured(evidence)), ("live", _published(evidence)))
        if cell in cells
    }
    return Verdict(bool(got) and all(received < TRANSFER for received in got.values()), _listed(got))


def go_back_n_takes_time(evidence: Evidence) -> Verdict:
    """Judge the times to recover from timeouts of who goes back N and of who does not."""
    cells = _measured(evidence)
    times = {f"{stack} {delay}": cells[stack, delay, "honest", RECOVERY] for stack in BACK for delay in TIMED_OUT}
    quick = {f"{stack} {delay}": cells[stack, delay, "honest", RECOVERY] for stack in WITH_FRTO for delay in TIMED_OUT}
    return Verdict(min(times.values()) > max(quick.values()), f"{_listed(times)}; Linux: {_listed(quick)}")


def clocks_agree(evidence: Evidence) -> Verdict:
    """Judge each case in both clocks."""
    measured, published = _measured(evidence), _published(evidence)
    off: dict[tuple[str, ...], list[str]] = {}
    for cell, value in measured.items():
        off.setdefault(cell[:3], [])
        other = published.get(cell)
        if other is None or cell[3] in {"needless", "spurious_timeouts"}:
            continue
        allowed = {"elapsed_s": NEAR * other, "received": NEAR * other, RECOVERY: WINDOW_S}.get(cell[3], FEW)
        if abs(value - other) > allowed:
            off[cell[:3]].append(f"{cell[3]} {value:.4g}, live {other:.4g}")
    apart = [f"{' '.join(cell)}: {', '.join(differences)}" for cell, differences in off.items() if differences]
    agreeing = f"{len(off) - len(apart)} of {len(off)} cases"
    return Verdict(
        len(apart) <= (1 - SHARE) * len(off), f"{agreeing}; others: {'; '.join(apart)}" if apart else agreeing
    )


def programs_go_back(evidence: Evidence) -> Verdict:
    """Judge what lwIP and netstack send again for nothing after a timeout; nothing is said of what is not built."""
    again = {
        f"{stack} {delay}": value
        for (stack, delay, _, metric), value in _of_programs(_published(evidence)).items()
        if metric == "needless" and delay in TIMED_OUT
    }
    return Verdict(all(count >= MUCH for count in again.values()) if again else None, _listed(again) or NOT_BUILT)


def lwip_believes_copies(evidence: Evidence) -> Verdict:
    """Judge what lwIP sends again to a receiver that repeats its ACKs, and netstack does not."""
    cells = _of_programs(_published(evidence))
    again = {
        stack: value
        for (stack, _, receiver, metric), value in cells.items()
        if (receiver, metric) == ("repeats", "retransmissions")
    }
    right = again.get("lwip", MUCH) >= MUCH and again.get("netstack", 0) == 0
    return Verdict(right if again else None, _listed(again) or NOT_BUILT)


def _of_programs(cells: Cells) -> Cells:
    return {cell: value for cell, value in cells.items() if cell[0] in AS_PROGRAMS}


def _measured(evidence: Evidence) -> Cells:
    return _cells(evidence, "measured")


def _published(evidence: Evidence) -> Cells:
    return _cells(evidence, "published")


def _cells(evidence: Evidence, column: str) -> Cells:
    return {_cell(row): float(row[column]) for row in evidence.rows if row[column] is not None}


def _cell(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return str(row["stack"]), str(row["delay"]), str(row["receiver"]), str(row["metric"])


def _is(cell: tuple[str, str, str, str], metric: str) -> bool:
    return cell[2] == "honest" and cell[3] == metric


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in values.items())
