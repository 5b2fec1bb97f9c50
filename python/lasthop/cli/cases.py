"""The folder of a sweep or a study where a command takes that of a run: its options, and the runs that it means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from lasthop.cli.console import remark
from lasthop.errors import InputError
from lasthop.results.folder import has_cases, results_in

MOST_AT_ONCE: Final = 8
"""Cases that a page of several results shows if none is chosen."""

CASE: Final = click.option(
    "--case", "case", metavar="CASE", help="Of a sweep or study: the case, by its name or number [the first]."
)
CASES: Final = click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="CASE",
    help="Of a sweep or study: a case, by its name or number; may be repeated [the first].",
)


def one_run(result: Path, case: str | None) -> Path:
    """Return the folder of the run that `result` stands for: itself or, of a sweep or study, the run of a case."""
    return runs_of(result, () if case is None else (case,), most=1)[0]


def runs_of(result: Path, cases: Sequence[str], *, most: int = MOST_AT_ONCE) -> list[Path]:
    """Return the folders of the runs that `result` stands for; of a sweep or study the chosen cases, or the first ones,
    and of a folder of results, as `lasthop fetch` writes it, likewise.

    A case of which there is no run yet is run. Raises InputError if there is no such case, or `result` has none.
    """
    if not has_cases(result):
        return _among(results_in(result), result, cases, most)
    from lasthop.experiments.cases import cases_in, chosen, listed, run_case

    every = cases_in(result)
    wanted = [chosen(result, case) for case in cases] or every[:most]
    if not cases and len(every) > most:
        names = ", ".join(case.name for case in wanted)
        remark(f"{result} has {len(every)} cases, shown is {names}; --case chooses another: {listed(every)}")
    return [run_case(result, case) for case in wanted]


def _among(runs: Sequence[Path], result: Path, wanted: Sequence[str], most: int) -> list[Path]:
    """Return the runs of these names, or the first ones, among the runs directly below a folder."""
    if list(runs) == [result]:
        if wanted:
            help = "leave it out: this is one run, and sweeps, studies and folders of results have cases"
            raise InputError("the result has no cases", file=str(result), key="--case", help=help)
        return [result]
    by_name = {run.name: run for run in runs}
    names = ", ".join(by_name)
    if unknown := next((name for name in wanted if name not in by_name), None):
        raise InputError(f"there is no result {unknown!r}", file=str(result), key="--case", help=f"there are {names}")
    if not wanted and len(runs) > most:
        shown = ", ".join(run.name for run in runs[:most])
        remark(f"{result} has {len(runs)} results, shown is {shown}; --case chooses another: {names}")
    return [by_name[name] for name in wanted] or list(runs[:most])
