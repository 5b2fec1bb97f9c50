"""`lasthop live`: the same scenario in real time, between real kernels."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from lasthop.cli.console import print_json, remark, warn
from lasthop.cli.names import completing
from lasthop.cli.options import JSON, OVERRIDES, RESULT_FOLDER, SEED
from lasthop.cli.real_time_tables import print_beside_virtual, print_real_time
from lasthop.cli.summary import print_summary
from lasthop.errors import InputError, RunError
from lasthop.experiments.real_against_virtual import (
    Compared,
    Measured,
    Runs,
    compare_runs,
    measures_of,
    untainted_runs,
)
from lasthop.real_time.calibration import beyond_calibration
from lasthop.real_time.kernel_keys import kernel_keys
from lasthop.real_time.kernel_profiles import Beside, beside
from lasthop.real_time.live import Program, live_result
from lasthop.real_time.machines import placement_of
from lasthop.real_time.watching import Watched
from lasthop.results.run import Run, RunResult
from lasthop.scenario import Scenario, load_scenario, run

ROUND_TRIPS = "packets"
"""Table from which round trips are computed."""


@click.command(name="live")
@click.argument("file", shell_complete=completing("scenarios"))
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND…]")
@click.option(
    "--in",
    "programs",
    nargs=2,
    multiple=True,
    metavar="HOST COMMAND",
    help="Run COMMAND in HOST too, from the start to the end of the run; its output is kept with the result.",
)
@click.option("--name", help="Name of the run, by which `lasthop set` changes its links during the run.")
@SEED
@OVERRIDES
@click.option(
    "--repeat", type=click.IntRange(1), default=1, show_default=True, help="Number of untainted runs in real time."
)
@RESULT_FOLDER
@JSON
def command(
    file: str,
    program: tuple[str, ...],
    programs: tuple[tuple[str, str], ...],
    name: str | None,
    seed: int | None,
    overrides: tuple[str, ...],
    repeat: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the scenario FILE in real time: each host is a network namespace with this kernel's TCP, and the links are
    those of `lasthop run`. A COMMAND runs instead of the file's flows, in the first host that no --in names.

    Every workload runs between kernels, with the random numbers that it draws in virtual time. Sockets have the
    congestion control of their host's profile, where this kernel has it (`live.congestion` sets another). Throughput,
    losses and round trips are printed next to those of the same scenario in virtual time, in which hosts have the
    profile that the kernel is, with a warning if the two differ; --repeat measures how far the kernel varies from run
    to run, with as many runs that are not tainted. A key such as `hosts.server.tcp.sack` is set in the host's
    namespace (net.ipv4.tcp_sack); one that a kernel does not have is named, and refused in --set.

    Packets are released by the wall clock, and their lateness is reported. A run is marked as tainted if a release was
    over 10 ms late (`live.tainted_from` sets another bound), or if a device or a socket dropped a packet. `lasthop
    doctor` says whether this machine allows real time; with --calibrate it measures the fastest link that this machine
    carries, and `lasthop live` then warns of faster ones.

    \b
    Examples:
      lasthop live quickstart
      lasthop live quickstart --repeat 5
      lasthop live live-workloads --out results/live
      lasthop live quickstart --json --out results/live
      lasthop live quickstart --name lab
      lasthop live quickstart -- sh -c 'ping -c 3 $LASTHOP_PEER'
      lasthop live quickstart --in server 'python3 -m http.server 80' -- sh -c 'curl -s $LASTHOP_ADDRESS_SERVER'

    A host or a link with `at = "ssh://machine"` is on that machine: lasthop of the same version is started there by
    ssh, and packets travel as IP in UDP (lasthop show recipes/several-machines).

    A COMMAND that fails makes the run fail (status 1); its own status is in the summary. --out keeps its output.
    """
    if repeat > 1 and (program or name or out is not None):
        raise InputError("a COMMAND, a name or a result folder is of one run", key="--repeat", help="leave it out")
    scenario = load_scenario(file, overrides=overrides, seed=seed)
    metered = scenario if program else _metered(file, scenario, overrides, seed)
    _warn_of_fast_links(scenario)
    _report_kernel_keys(scenario)
    others = [(host, shlex.split(words)) for host, words in programs]
    is_compared = not program and not name and not _has_program(scenario)
    watched = Watched(name, file, overrides=overrides, seed=seed) if name else None
    summary, first = _first(metered, program, others, out, is_compared, as_json, watched)
    runs = untainted_runs(first, lambda: _again(metered, others), repeat) if first else Runs()
    other = beside(metered, summary["kernel"]["flows"])
    compared = compare_runs(runs.measures, _measures(run(other.scenario))) if first else []
    _print(summary, compared, other, runs, as_json)
    if out is not None:
        remark(f"wrote {out}")
    fail_with(summary.get("command"))


def _first(
    scenario: Scenario,
    program: Sequence[str],
    others: Sequence[Program],
    out: Path | None,
    is_compared: bool,
    as_json: bool,
    watched: Watched | None,
) -> tuple[Mapping[str, Any], Measured | None]:
    """Return the summary of the run that is shown, and its measures if it is compared with virtual time."""
    with live_result(
        scenario, command=program, programs=others, out=out, quiet_output=as_json, watched=watched
    ) as result:
        if not as_json:
            print_summary(result.summary)
            print_real_time(result.summary)
        return result.summary, _measured(result) if is_compared else None


def _warn_of_fast_links(scenario: Scenario) -> None:
    if placement_of(scenario).emulator is None:
        for too_fast in beyond_calibration(scenario):
            warn(too_fast)


def _report_kernel_keys(scenario: Scenario) -> None:
    """Name the settings of the hosts' kernels, and the keys of the file that a kernel does not have."""
    keys = kernel_keys(scenario)
    for setting in keys.settings:
        remark(str(setting))
    for error in keys.without_effect:
        warn(f"without effect in real time: {error}")


def _again(scenario: Scenario, programs: Sequence[Program]) -> Measured:
    """Run the scenario in real time once more, and return its measures."""
    with live_result(scenario, programs=programs, quiet_output=True) as result:
        return _measured(result)


def _measured(result: RunResult) -> Measured:
    return Measured(_measures(result), tuple(result.summary["tainted_by"]))


def _print(summary: Mapping[str, Any], compared: list[Compared], other: Beside, runs: Runs, as_json: bool) -> None:
    """Print the summary with the comparison as JSON, or the comparison below the tables of the summary."""
    if as_json:
        print_json({**summary, **_as_json(compared, other, runs)})
    elif compared:
        print_beside_virtual(compared, other, runs)


def _metered(file: str, scenario: Scenario, overrides: tuple[str, ...], seed: int | None) -> Scenario:
    """Return the scenario with queues measured and packets recorded, for mean queues and round trips."""
    tables = dict.fromkeys([*scenario.specification["record"]["tables"], ROUND_TRIPS])
    listed = ", ".join(f'"{table}"' for table in tables)
    added = ("measure.links=true", f"record.tables=[{listed}]")
    return load_scenario(file, overrides=(*overrides, *added), seed=seed)


def _has_program(scenario: Scenario) -> bool:
    """Whether some host's stack is a program, which cannot run in virtual time."""
    return any(host.get("stack") == "program" for host in _hosts(scenario))


def _hosts(scenario: Scenario) -> list[dict[str, Any]]:
    hosts: list[dict[str, Any]] = scenario.specification["hosts"]
    return hosts


def _measures(result: Run | RunResult) -> dict[str, float]:
    return measures_of(result.summary, result.table(ROUND_TRIPS))


def _as_json(compared: list[Compared], other: Beside, runs: Runs) -> dict[str, Any]:
    return {
        "congestion_control": ", ".join(other.controls),
        "compared_with": list(other.profiles),
        "compared_remarks": list(other.remarks),
        "runs": runs.to_json(),
        "beside_virtual": [one.to_json() for one in compared],
    }


def fail_with(ended: Mapping[str, Any] | None) -> None:
    """Raise RunError, which ends the command with status 1, if the program in the first host failed."""
    if ended is None or ended["status"] == 0:
        return
    how = f"signal {ended['signal']}" if ended["signal"] is not None else f"status {ended['status']}"
    raise RunError(f"the program in the first host ended with {how}")
