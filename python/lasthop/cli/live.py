"""`lasthop live`: the same scenario in real time, between real kernels."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from lasthop.cli.console import print_json, remark, warn
from lasthop.cli.names import completing
from lasthop.cli.summary import print_beside_virtual, print_real_time, print_summary
from lasthop.errors import InputError, RunError
from lasthop.experiments.real_against_virtual import Compared, compare_runs, measures_of
from lasthop.real_time.calibration import beyond_calibration
from lasthop.real_time.kernel_settings import congestion_control
from lasthop.real_time.live import Program, live_result
from lasthop.real_time.machines import placement_of
from lasthop.results.run import Run, RunResult
from lasthop.scenario import Scenario, load_scenario, run

ROUND_TRIPS = "packets"
"""The table that round trips are computed from."""


@click.command(name="live")
@click.argument("file", shell_complete=completing("scenarios"))
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND…]")
@click.option(
    "--in",
    "programs",
    nargs=2,
    multiple=True,
    metavar="HOST COMMAND",
    help="Run this in HOST as well, from before the COMMAND until the end; what it writes is kept with the result.",
)
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Another seed for every random stream.")
@click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Override one key of the file.")
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True, help="Runs in real time.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the result folder DIR.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def command(
    file: str,
    program: tuple[str, ...],
    programs: tuple[tuple[str, str], ...],
    seed: int | None,
    overrides: tuple[str, ...],
    repeat: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the scenario FILE in real time: each host is a network namespace with this kernel's TCP, joined by the very
    links that `lasthop run` uses. With a COMMAND, that is run instead of the file's flows, in the first host that no
    --in names.

    Packets are released on the wall clock; how late each was is reported, and a run with a release over 10 ms late
    (`live.tainted_from` is another bound), or with a packet that a device or a socket dropped, is marked as tainted.
    What matters of the transfers is printed beside the same
    scenario in virtual time, with a warning where the two differ by more than the kernel does from run to run: --repeat
    tells how much that is. `lasthop doctor` says whether this machine allows real time, and the remedy; with
    --calibrate it measures how fast links may be here, and from then on a faster one is warned of.

    \b
    Examples:
      lasthop live quickstart
      lasthop live quickstart --repeat 5
      lasthop live live-workloads --out results/live
      lasthop live scenarios/quickstart.toml --json --out results/live
      lasthop live quickstart -- sh -c 'ping -c 3 $LASTHOP_PEER'
      lasthop live quickstart --in server 'python3 -m http.server 80' -- sh -c 'curl -s $LASTHOP_ADDRESS_SERVER'

    Every workload runs between kernels, with the numbers that it draws in virtual time. With --out, what the COMMAND
    writes is shown and kept.

    Hosts and links with `at = "ssh://machine"` are there: lasthop of the same version is started by ssh, and packets
    go as IP in UDP (docs/recipes/several-machines.md).

    A COMMAND that fails makes the run fail (status 1); its own status is in the summary.
    """
    if repeat > 1 and (program or out is not None):
        raise InputError("a COMMAND, or a result folder, is one run", key="--repeat", help="leave it out")
    scenario = load_scenario(file, overrides=overrides, seed=seed)
    metered = scenario if program else _metered(file, scenario, overrides, seed)
    _warn_of_fast_links(scenario)
    others = [(host, shlex.split(words)) for host, words in programs]
    with live_result(metered, command=program, programs=others, out=out, quiet_output=as_json) as result:
        summary = result.summary
        real = [] if program or _has_program(scenario) else [_measures(result)]
    real += [_again(metered, others) for _ in range(repeat - 1)]
    if not as_json:
        print_summary(summary)
        print_real_time(summary)
    compared = compare_runs(real, _measures(run(_without_kernels(metered)))) if real else []
    _tell(summary, compared, scenario, as_json)
    if out is not None:
        remark(f"wrote {out}")
    fail_with(summary.get("command"))


def _warn_of_fast_links(scenario: Scenario) -> None:
    if placement_of(scenario).emulator is None:
        for too_fast in beyond_calibration(scenario):
            warn(too_fast)


def _again(scenario: Scenario, programs: Sequence[Program]) -> dict[str, float]:
    """Return what another run in real time measures."""
    with live_result(scenario, programs=programs, quiet_output=True) as result:
        return _measures(result)


def _tell(summary: Mapping[str, Any], compared: list[Compared], scenario: Scenario, as_json: bool) -> None:
    """Print the summary as JSON, or what stands beside virtual time below what is printed of it."""
    control = congestion_control(scenario)
    if as_json:
        print_json({**summary, **_as_json(compared, control)})
    elif compared:
        profiles = dict.fromkeys(str(host["profile"] or host["stack"]) for host in _hosts(scenario))
        print_beside_virtual(compared, control, list(profiles))


def _metered(file: str, scenario: Scenario, overrides: tuple[str, ...], seed: int | None) -> Scenario:
    """Return the scenario with its links metered and its packets recorded, for queues and round trips."""
    tables = dict.fromkeys([*scenario.specification["record"]["tables"], ROUND_TRIPS])
    listed = ", ".join(f'"{table}"' for table in tables)
    added = ("measure.links=true", f"record.tables=[{listed}]")
    return load_scenario(file, overrides=(*overrides, *added), seed=seed)


def _without_kernels(scenario: Scenario) -> Scenario:
    """Return the scenario for virtual time: hosts whose stack is the kernel's have our TCP there."""
    ours = [{**host, "stack": "lasthop"} if host.get("stack") == "kernel" else host for host in _hosts(scenario)]
    return replace(scenario, json=json.dumps({**scenario.specification, "hosts": ours}))


def _has_program(scenario: Scenario) -> bool:
    """Whether a program is the stack of some host, which virtual time does not have."""
    return any(host.get("stack") == "program" for host in _hosts(scenario))


def _hosts(scenario: Scenario) -> list[dict[str, Any]]:
    hosts: list[dict[str, Any]] = scenario.specification["hosts"]
    return hosts


def _measures(result: Run | RunResult) -> dict[str, float]:
    return measures_of(result.summary, result.table(ROUND_TRIPS))


def _as_json(compared: list[Compared], control: str) -> dict[str, Any]:
    return {"congestion_control": control, "beside_virtual": [one.to_json() for one in compared]}


def fail_with(ended: Mapping[str, Any] | None) -> None:
    """A program that did not end well makes the command end with status 1."""
    if ended is None or ended["status"] == 0:
        return
    how = f"signal {ended['signal']}" if ended["signal"] is not None else f"status {ended['status']}"
    raise RunError(f"the program in the first host ended with {how}")
