"""The values that a study compares with: the file of a document's values, or an oracle.

An oracle is another program that computes the same numbers. It runs for every selected case each time the study runs;
its answers are not kept, so they always come from this machine.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from lasthop.errors import OracleError
from lasthop.study.checks import Check, find_check
from lasthop.study.plan import Case, Oracle, Study
from lasthop.study.published import Key, Published, read_published

Ask = Callable[[Case], Mapping[str, float]]
"""Runs the oracle for a case, and returns a number for each metric that it computes."""


def published_values(study: Study, own_checks: Mapping[str, Check], workers: int) -> dict[Key, Published]:
    """Return the values to compare with, by row. Raises OracleError if the oracle's program is missing."""
    if isinstance(study.published, Oracle):
        return _answers(study, study.published, find_check(study.published.ask, own_checks), workers)
    return read_published(study.published, study.columns)


def _answers(study: Study, oracle: Oracle, ask: Ask, workers: int) -> dict[Key, Published]:
    if shutil.which(oracle.program) is None:
        raise OracleError(
            f"study {study.name} compares with the program {oracle.program}, which is not on this machine; nothing "
            f"was run. Install it: {oracle.install}"
        )
    cases = study.selected_cases
    with ThreadPoolExecutor(workers) as pool:
        answers = dict(zip((case.id for case in cases), pool.map(ask, cases), strict=True))
    return {
        tuple(row.columns[column] for column in study.columns): Published({"median": answers[row.case][row.measure]})
        for row in study.rows
        if row.case in answers and row.measure in answers[row.case]
    }
