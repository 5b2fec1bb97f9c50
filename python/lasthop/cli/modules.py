"""`lasthop study modules`: Linux' own congestion-control modules compared with ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from lasthop.cli.console import print_json, print_table, remark
from lasthop.cli.progress import ProgressLine
from lasthop.errors import InputError

NAME: Final = "modules"
"""The name of the study."""

RESULT_FILE: Final = "modules.json"


def check_options(others: Mapping[str, object]) -> None:
    """Raise InputError for an option of `lasthop study` that this study has not."""
    given = next((option for option, value in others.items() if value), None)
    if given is not None:
        raise InputError(f"the study {NAME} has no such option", key=given, help="--only, --out, --json")


def run(only: Sequence[str], out: Path | None, as_json: bool) -> None:
    """Compare the modules in `only`, or all, on every path; print a row for each, and keep all under `out`."""
    import json

    from lasthop.judge.modules import MODULES, compare
    from lasthop.judge.paths import paths

    chosen = tuple(only) or MODULES
    with ProgressLine(NAME, "runs", 2 * len(chosen) * len(paths())) as line:
        compared = compare(chosen, tick=line.update)
    folder = out or Path("results") / NAME
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RESULT_FILE).write_text(json.dumps(compared.to_json(), indent=1) + "\n")
    if as_json:
        print_json(compared.to_json())
    else:
        rows = [
            [
                row["module"],
                f"{100 * row['equal_median']:.1f} %",
                f"{row['equal_everywhere']} of {row['paths']}",
                f"{row['worst']}: {100 * row['equal_worst']:.1f} %",
                f"{row['goodput_low']:.2f} {row['goodput_median']:.2f} {row['goodput_high']:.2f}",
            ]
            for row in compared.rows()
        ]
        print_table(None, ["module", "equal", "paths with 95 %", "least", "goodput of ours / module's"], rows)
    remark(f"wrote {folder / RESULT_FILE}")
