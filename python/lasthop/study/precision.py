"""Replicating until the intervals are narrow enough: which cases need more runs, and how many."""

from __future__ import annotations

from dataclasses import dataclass

from lasthop.errors import RunError
from lasthop.stats import is_narrow, spread
from lasthop.study.measures import measure
from lasthop.study.plan import Row, Study
from lasthop.study.rows import Outcomes


@dataclass(frozen=True, slots=True)
class Precision:
    """How far the 95 % interval of a row's median may reach, as a share of it, and how many runs that may cost."""

    within: float
    at_most: int = 100


def widened(study: Study, outcomes: Outcomes, precision: Precision) -> Study | None:
    """Return the study with half as many runs again for each case that has a row too wide; None where none has.

    A case that has `at_most` runs is left as it is, and so is one with a run that gave no number: more of them would
    not help.
    """
    rows = [row for row in study.rows if row.table in study.selected]
    wide = dict.fromkeys(row.case for row in rows if _is_wide(study, row, outcomes, precision.within))
    more = {case: _more(len(study.cases[case].seeds), precision.at_most) for case in wide}
    more = {case: number for case, number in more.items() if number > len(study.cases[case].seeds)}
    return study.with_seeds(more) if more else None


def _is_wide(study: Study, row: Row, outcomes: Outcomes, within: float) -> bool:
    case, metric = study.cases[row.case], study.metrics[row.measure]
    scope_bytes = None if row.scope is None else study.scopes[row.scope]
    for variant in case.variants:
        runs = outcomes.get((case.id, variant.span), ())
        try:
            numbers = [measure(metric, run, scope_bytes) for run in runs]
        except RunError:
            return False
        if len(numbers) < len(case.seeds):
            return False
        if not is_narrow(spread(numbers), within):
            return True
    return False


def _more(runs: int, at_most: int) -> int:
    # Half as many again: few rounds, and never far more than is needed.
    return min(max(runs + (runs + 1) // 2, FIRST_ROUND), at_most)


FIRST_ROUND = 6
"""The fewest runs whose interval has 95 % (see `lasthop.stats.precision`)."""
