"""`lasthop stress`: where a congestion control does worst."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lasthop.cli.console import print_json, print_line, print_table, remark
from lasthop.cli.options import JSON, RESULT_FOLDER
from lasthop.cli.progress import ProgressLine

if TYPE_CHECKING:
    from lasthop.judge.stress import Stress
    from lasthop.judge.stress.goals import Goal
    from lasthop.judge.stress.search import Method


@click.command(name="stress")
@click.option("--profile", "entry", required=True, metavar="ENTRY", help="What is searched: cubic, or mine.py:Mine.")
@click.option("--against", metavar="ENTRY", help="The reference [the best that the path allows; harm: cubic].")
@click.option(
    "--goal",
    type=click.Choice(["goodput", "delay", "fairness", "needless", "harm"]),
    default="goodput",
    show_default=True,
    help="What is to be as bad as possible.",
)
@click.option("--steps", type=click.IntRange(2, 5), default=3, show_default=True, help="Number of steps of a path.")
@click.option("--runs", type=click.IntRange(1), default=300, show_default=True, help="Number of runs of the search.")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=1, show_default=True, help="Seed of the search.")
@click.option(
    "--search",
    "method",
    type=click.Choice(["both", "random", "cma"]),
    default="both",
    show_default=True,
    help="A third at random and then CMA-ES, or one of them alone.",
)
@RESULT_FOLDER
@JSON
def command(
    entry: str,
    against: str | None,
    goal: Goal,
    steps: int,
    runs: int,
    seed: int,
    method: Method,
    out: Path | None,
    as_json: bool,
) -> None:
    """Search for the path on which an ENTRY does worst: a profile, or a class of Python in a file, with your rights.

    A path has 2 to 5 steps of 3 s, each with a rate, a delay and a share of cross traffic, one queue and one
    probability of loss. A score is from 0, as good as the reference, to 1. The worst paths are run again under six
    other seeds, and the worst of them is simplified as long as 90 % of its score is left; a decision tree over all
    trials says when the score is high. CMA-ES is the package cmaes (the extra `stress` of the wheel).

    --out writes the path as a scenario file, worst.toml, its diagram, its story, and stress.json.

    \b
    Examples:
      lasthop stress --profile cubic --runs 40
      lasthop stress --profile bbr3 --against cubic --goal delay --runs 40 --out results/stress
      lasthop stress --profile prague --goal harm --steps 2 --runs 40 --search random --json
    """
    from lasthop.judge.entries import parse_entry
    from lasthop.judge.stress import hunt

    with ProgressLine("stress", "runs", has_bar=False) as line:
        found = hunt(
            parse_entry(entry),
            goal=goal,
            against=None if against is None else parse_entry(against),
            steps=steps,
            runs=runs,
            seed=seed,
            method=method,
            tick=line.update,
        )
    if out is not None:
        from lasthop.judge.stress.record import write_stress

        write_stress(found, out)
        remark(f"wrote {out}")
    if as_json:
        print_json(found.to_json())
    else:
        _print(found)


def _print(found: Stress) -> None:
    from lasthop.judge.stress.goals import MEANINGS

    measure = found.score
    print_line(
        f"{found.entry.name} against {found.reference}: {found.goal} {measure.median:.2f} "
        f"({measure.low:.2f} to {measure.high:.2f} over {measure.n} seeds)",
        style="bold",
    )
    print_line(f"  {MEANINGS[found.goal]}")
    best = ", ".join(f"{name} {score:.2f}" for name, score in found.by_method.items())
    print_line(f"  runs: {found.runs}; best in the search: {best}")
    genome = found.simplest.genome
    rows = [
        [str(number), f"{step.rate_bps / 1e6:g}", f"{1e3 * step.delay_s:g}", f"{100 * step.cross:g}"]
        for number, step in enumerate(genome.steps, start=1)
    ]
    print_table(None, ["step of 3 s", "rate, Mbit/s", "delay, ms", "cross traffic, %"], rows)
    print_line(f"  queue {genome.queue_bytes} bytes, random loss {100 * genome.loss:g} %")
    print_line(f"  {found.rule}")
