"""`lasthop run`: one scenario in virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from lasthop.cli.console import print_json, progress_bar, progress_line, remark
from lasthop.cli.names import completing
from lasthop.cli.summary import print_replications, print_summary
from lasthop.cli.sweep_tables import print_sweep
from lasthop.errors import InputError
from lasthop.experiments.replications import Replications, replicate
from lasthop.experiments.sweeps import check_sweep_target, parse_axis, sweep
from lasthop.scenario import Scenario, load_scenario, run_to_folder, summary_of


@click.command(name="run")
@click.argument("file", shell_complete=completing("scenarios"))
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Another seed for every random stream.")
@click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Override one key of the file.")
@click.option("--replications", type=click.IntRange(2), help="Run it under so many seeds, and tell means.")
@click.option("--sweep", "axes", multiple=True, metavar="PATH=VALUE,…", help="Vary one key; again for a grid.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the result folder DIR.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def command(
    file: str,
    seed: int | None,
    overrides: tuple[str, ...],
    replications: int | None,
    axes: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the scenario FILE (a path, or a name of `lasthop list scenarios`) in virtual time.

    The same file and seed give the same run, to the bit. With --out the result is written as a folder: run.json,
    the tables as Parquet, the captures as pcapng (what is recorded stands under [record] in the file).
    With --replications it runs under that many seeds, from its own on; measures are means with their 95 % intervals
    (Student's t), and nothing is recorded.
    With --sweep it runs once for each value, or for every combination of values of several keys; --out keeps the grid
    as sweep.json, sweep.parquet (a row for each flow of each run) and a chart.

    \b
    Examples:
      lasthop run quickstart
      lasthop run scenarios/quickstart.toml --json
      lasthop run quickstart --seed 2 --out results/quickstart-2
      lasthop run gilbert-elliott --replications 20
      lasthop run quickstart --set links.lasthop.down.rate="1 Mbit/s" --set flows.download.bytes="200 kB"
      lasthop run three-cubic --sweep links.access.down.queue.discipline=tail-drop,codel,fq-codel --replications 5
    """
    if axes:
        return _sweep(file, axes, overrides, seed, replications or 1, out, as_json)
    scenario = load_scenario(file, overrides=overrides, seed=seed)
    if replications is not None:
        if out is not None:
            raise InputError(
                "a result folder holds one run",
                key="--out",
                help="leave out --replications, or keep what --json prints",
            )
        seeds = range(scenario.seed, scenario.seed + replications)
        found = _replicate_with_progress([load_scenario(file, overrides=overrides, seed=each) for each in seeds])
        return print_json(found.to_json()) if as_json else print_replications(found)
    summary = _run_with_progress(scenario, out)
    if out is not None:
        remark(f"wrote {out}")
    if as_json:
        print_json(summary)
    else:
        windows = scenario.specification.get("measure", {}).get("windows", ())
        print_summary(summary, [window["name"] for window in windows])
    return None


def _run_with_progress(scenario: Scenario, out: Path | None) -> Mapping[str, Any]:
    """Run the scenario and return its summary."""
    with progress_line() as line:
        task = line.add_task(scenario.name, total=None)

        def progress(seconds: float) -> None:
            line.update(task, completed=seconds)

        if out is None:
            return summary_of(scenario, progress=progress)
        return run_to_folder(scenario, out, progress=progress).summary


def _sweep(
    file: str,
    axes: tuple[str, ...],
    overrides: tuple[str, ...],
    seed: int | None,
    replications: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the grid, write it where it is to be kept, and print it."""
    grid = [parse_axis(axis) for axis in axes]
    if out is not None:
        check_sweep_target(out)
    with progress_bar("runs") as bar:
        task = bar.add_task("sweep", total=None)
        found = sweep(
            file,
            grid,
            replications=replications,
            seed=seed,
            overrides=overrides,
            tick=lambda done, all_: bar.update(task, completed=done, total=all_),
        )
    if out is not None:
        found.write(out)
        remark(f"wrote {out}")
    if as_json:
        print_json(found.to_json())
    else:
        print_sweep(found)


def _replicate_with_progress(scenarios: list[Scenario]) -> Replications:
    with progress_bar("runs") as bar:
        task = bar.add_task(scenarios[0].name, total=len(scenarios))
        return replicate(scenarios, tick=lambda done: bar.update(task, completed=done))
