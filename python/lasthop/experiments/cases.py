"""The cases of a sweep's or a study's folder, and a run of one of them with its tables.

Such a folder keeps summaries. Pictures and explanations need tables, so the case is run again, from the resolved
scenario: the same run, to the bit, with more of it recorded. Its result is a folder below, and is used again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lasthop import _native
from lasthop.errors import InputError
from lasthop.experiments.sweeps import read_sweep_index
from lasthop.results import open_run
from lasthop.results.folder import CASES_FOLDER, STUDY_FILE, SWEEP_FILE, whole_folder
from lasthop.results.run import write_index
from lasthop.study import load_study

TABLES: Final = ("segments", "tcp", "packets", "queue", "progress")
"""The tables that pictures and explanations of any run use."""


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A case: its name, the hash of its resolved scenario, and this scenario as JSON under the first seed."""

    name: str
    hash: str
    scenario: str = field(repr=False)

    def under(self, seed: int | None) -> dict[str, Any]:
        """Return the resolved scenario under a seed; None for its own."""
        specification: dict[str, Any] = json.loads(self.scenario)
        return specification if seed is None else {**specification, "seed": seed}


def cases_in(folder: Path) -> list[StoredCase]:
    """Return the cases of a sweep's or a study's folder, in order. Raises InputError if they cannot be read."""
    if (folder / SWEEP_FILE).is_file():
        return _cases_of_sweep(folder)
    return _cases_of_study(folder)


def chosen(folder: Path, wanted: str | None) -> StoredCase:
    """Return the case of a name, or else of a number from 1; the first for None. Raises InputError if there is none."""
    cases = cases_in(folder)
    if wanted is None:
        return cases[0]
    # A name comes first: the values of a sweep may be numbers.
    by_name = {str(number): case for number, case in enumerate(cases, 1)} | {case.name: case for case in cases}
    if wanted not in by_name:
        raise InputError(f"there is no case {wanted!r}", file=str(folder), key="--case", help=listed(cases))
    return by_name[wanted]


def listed(cases: Sequence[StoredCase]) -> str:
    """Return the names of cases as words, without those beyond the first `MOST_LISTED`."""
    names = "; ".join(case.name for case in cases[:MOST_LISTED])
    more = f"; and {len(cases) - MOST_LISTED} more" if len(cases) > MOST_LISTED else ""
    return f"the cases are {names}{more}"


def run_case(folder: Path, case: StoredCase, seed: int | None = None) -> Path:
    """Return the result folder of a case's run, below that of its sweep or study. Runs it unless the result is there.

    Raises InputError if the folder cannot be written or the case brings a program, and RunError if the run fails.
    """
    specification = case.under(seed)
    _refuse_programs(folder, case.name, specification)
    target = folder / CASES_FOLDER / f"{_file_name(case.name)}-seed-{specification['seed']}"
    if _is_of(target, case.hash):
        return target
    recorded = specification["record"]
    tables = list(dict.fromkeys([*recorded["tables"], *TABLES]))
    record = {"tables": tables, "captures": recorded["captures"]}
    with whole_folder(target) as partial:
        finished = _native.run(json.dumps(specification), record, None, partial)
        write_index(partial, json.loads(finished.summary_json), case.hash, specification)
    return target


def _refuse_programs(folder: Path, name: str, specification: Mapping[str, Any]) -> None:
    """Raise InputError if a host or flow brings a program: a result may be a stranger's, and drawing is no consent."""
    for owner in (*specification["hosts"], *specification["flows"]):
        congestion = (owner.get("tcp") or {}).get("congestion")
        if not isinstance(congestion, Mapping):
            continue
        programs = [congestion.get("python", {}).get("class"), congestion.get("linux", {}).get("file")]
        if program := programs[0] or programs[1]:
            message = f"the case {name} runs {program}, and a result's program is not executed"
            help = "run the case by lasthop run with --out, and name that folder"
            raise InputError(message, file=str(folder), key="--case", help=help)


MOST_LISTED: Final = 20


def _cases_of_sweep(folder: Path) -> list[StoredCase]:
    cases = read_sweep_index(folder)["cases"]
    if not all("scenario" in case for case in cases):
        help = "run the sweep again: it then keeps the scenarios of its cases"
        raise InputError("the sweep was written by an older lasthop, without scenarios", file=str(folder), help=help)
    return [
        StoredCase(",".join(case["values"].values()), case["scenario"]["hash"], case["scenario"]["json"])
        for case in cases
    ]


def _cases_of_study(folder: Path) -> list[StoredCase]:
    study = load_study(_study_file(folder))
    found = [
        StoredCase(case.id, case.variant().hash, case.variant().scenario)
        for case in study.cases.values()
        if case.variants and case.is_in_virtual_time
    ]
    if not found:
        raise InputError("no case of the study runs in virtual time", file=str(folder), help="lasthop report reads it")
    return found


def _study_file(folder: Path) -> str:
    index = json.loads((folder / STUDY_FILE).read_text("utf-8"))
    file = index.get("file")
    return file if file is not None and Path(file).is_file() else str(index["study"])


def _is_of(target: Path, hash: str) -> bool:
    """Whether a folder has the run of a resolved scenario."""
    try:
        return bool(open_run(target).index["hash"] == hash)
    except InputError:
        return False


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.=-]+", "-", name).strip("-.") or "case"
