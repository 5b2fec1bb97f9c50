"""`lasthop study bcp133 --profile …`: the items of RFC 9743, answered for one candidate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lasthop.cli.console import print_json, print_line, print_table, remark
from lasthop.cli.progress import ProgressLine
from lasthop.errors import InputError

if TYPE_CHECKING:
    from lasthop.judge.bcp133 import Answers

NAME: Final = "bcp133"
"""The name of the study."""


def check_options(study: str, profile: str | None, others: Mapping[str, object]) -> None:
    """Raise InputError for `--profile` of another study, for this one without it, and for options that it has not."""
    if study != NAME:
        if profile is not None:
            raise InputError(f"the study {study} has no candidate", key="--profile", help=f"lasthop study {NAME}")
        return
    if profile is None:
        help = "name a profile, a class of Python or a module of Linux: --profile mine.py:Mine"
        raise InputError("the study needs a candidate", key="--profile", help=help)
    given = next((option for option, value in others.items() if value), None)
    if given is not None:
        raise InputError(f"the study {NAME} has no such option", key=given, help="--replications, --out, --json")


def run(profile: str, replications: int | None, out: Path | None, as_json: bool) -> None:
    """Answer the items for `profile` with `replications` seeds, write the page, and print the comparisons."""
    from lasthop.judge.bcp133 import answer
    from lasthop.judge.bcp133.answers import SEEDS, number_of_runs
    from lasthop.judge.entries import parse_entry

    candidate = parse_entry(profile)
    seeds = SEEDS if replications is None else range(1, replications + 1)
    folder = out or Path("results") / NAME
    with ProgressLine(NAME, "runs", number_of_runs(len(seeds))) as line:
        answers = answer(candidate, seeds=seeds, tick=line.update)
    from lasthop.judge.bcp133.page import write_answers

    write_answers(answers, folder)
    if as_json:
        print_json(answers.to_json())
    else:
        _print(answers)
    remark(f"the page is {folder / 'bcp133.html'}")


def _print(answers: Answers) -> None:
    from lasthop.judge.bcp133.measures import MEASURES
    from lasthop.judge.bcp133.page import said, shown

    names = [answers.candidate.name, "Reno", "CUBIC"]
    rows = [
        [
            f"§{each.item.section}",
            finding.case,
            f"{finding.asked.flow}: {MEASURES[finding.asked.measure].head}",
            *(shown(finding.values.get(name)) for name in names),
            "; ".join(said(comparison) for comparison in finding.comparisons),
        ]
        for each in answers.answers
        for finding in each.findings
    ]
    print_table(None, ["item", "case", "measure", *names, "verdict"], rows)
    left = [f"§{each.item.section}" for each in answers.answers if not each.findings]
    print_line(f"not measured, with the reason on the page: {', '.join(left)}")
