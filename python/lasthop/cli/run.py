"""`lasthop run`: one scenario in virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from lasthop.cli.console import print_json, remark, warn
from lasthop.cli.names import completing
from lasthop.cli.options import ALLOW_CODE, JSON, OVERRIDES, RESULT_FOLDER, SEED
from lasthop.cli.progress import ProgressLine
from lasthop.cli.summary import print_summary
from lasthop.errors import InputError
from lasthop.scenario import (
    Scenario,
    check_effect,
    check_virtual_time,
    load_scenario,
    run_to_folder,
    summary_of,
    unread_keys,
)


@click.command(name="run")
@click.argument("file", shell_complete=completing("scenarios"))
@SEED
@OVERRIDES
@click.option("--replications", type=click.IntRange(2), help="Number of seeds to run it under; prints means.")
@click.option(
    "--sweep", "axes", multiple=True, metavar="PATH=VALUE,…", help="Vary one key; repeat the option for a grid."
)
@RESULT_FOLDER
@ALLOW_CODE
@JSON
def command(
    file: str,
    seed: int | None,
    overrides: tuple[str, ...],
    replications: int | None,
    axes: tuple[str, ...],
    out: Path | None,
    allow_code: bool,
    as_json: bool,
) -> None:
    """Run the scenario FILE (a path, or a name of `lasthop list scenarios`) in virtual time.

    The same file and seed give the same run, to the bit. --out writes the result as a folder: run.json, the tables as
    Parquet, the captures as pcapng. [record] in the file says what is recorded.
    --replications runs it under that number of seeds, the first one its own; measures are means with their 95 %
    intervals (Student's t), and nothing is recorded.
    --sweep runs it once for each value, or for every combination of the values of several keys; --out writes the grid
    as sweep.json, sweep.parquet (a row for each flow of each run) and a chart. A sweep with --out that was stopped, or
    in which runs failed, continues with the same command: finished runs are not repeated.

    \b
    Examples:
      lasthop run quickstart
      lasthop run quickstart --json
      lasthop run quickstart --seed 2 --out results/quickstart-2
      lasthop run gilbert-elliott --replications 20
      lasthop run quickstart --set links.lasthop.down.rate="1 Mbit/s" --set flows.download.bytes="200 kB"
      lasthop run three-cubic --sweep links.access.down.queue.discipline=tail-drop,codel,fq-codel --replications 5
    """
    if axes:
        _sweep(file, axes, overrides, seed, replications or 1, out, allow_code, as_json)
    elif replications is not None:
        _replicate(file, overrides, seed, replications, out, allow_code, as_json)
    else:
        _run(load_scenario(file, overrides=overrides, seed=seed, allow_code=allow_code), out, as_json)


def _run(scenario: Scenario, out: Path | None, as_json: bool) -> None:
    """Run the scenario once, into a folder if there is one, and print its summary."""
    check_virtual_time(scenario)
    check_effect(scenario)
    for error in unread_keys(scenario):
        warn(str(error))
    summary = _run_with_progress(scenario, out)
    if out is not None:
        remark(f"wrote {out}")
    if as_json:
        print_json(summary)
        return
    windows = scenario.specification.get("measure", {}).get("windows", ())
    print_summary(summary, [window["name"] for window in windows])


def _run_with_progress(scenario: Scenario, out: Path | None) -> Mapping[str, Any]:
    """Run the scenario and return its summary."""
    with ProgressLine(scenario.name, "s of the run", has_bar=False) as line:
        if out is None:
            return summary_of(scenario, progress=line.update)
        return run_to_folder(scenario, out, progress=line.update).summary


def _replicate(
    file: str,
    overrides: tuple[str, ...],
    seed: int | None,
    replications: int,
    out: Path | None,
    allow_code: bool,
    as_json: bool,
) -> None:
    """Run the scenario under several seeds, and print the means."""
    from lasthop.cli.replication_tables import print_replications
    from lasthop.experiments.replications import replicate

    scenario = load_scenario(file, overrides=overrides, seed=seed, allow_code=allow_code)
    check_effect(scenario)
    if out is not None:
        help = "leave out --replications, or keep what --json prints"
        raise InputError("a result folder holds one run", key="--out", help=help)
    seeds = range(scenario.seed, scenario.seed + replications)
    scenarios = [load_scenario(file, overrides=overrides, seed=each, allow_code=allow_code) for each in seeds]
    with ProgressLine(scenario.name, "runs", replications) as line:
        found = replicate(scenarios, tick=line.update)
    if as_json:
        print_json(found.to_json())
    else:
        print_replications(found)


def _sweep(
    file: str,
    axes: tuple[str, ...],
    overrides: tuple[str, ...],
    seed: int | None,
    replications: int,
    out: Path | None,
    allow_code: bool,
    as_json: bool,
) -> None:
    """Run the grid, write it into the folder if there is one, and print it."""
    from lasthop.cli.sweep_tables import print_sweep
    from lasthop.experiments.sweeps import check_sweep_target, parse_axis, sweep

    grid = [parse_axis(axis) for axis in axes]
    if out is not None:
        check_sweep_target(out)
    with ProgressLine("sweep", "runs") as line:
        found = sweep(
            file,
            grid,
            replications=replications,
            seed=seed,
            overrides=overrides,
            allow_code=allow_code,
            tick=line.update,
            folder=out,
        )
    if out is not None:
        found.write(out)
        remark(f"wrote {out}")
    if as_json:
        print_json(found.to_json())
    else:
        print_sweep(found)
