"""Replicating until the intervals are narrow enough: which cases need more runs, and how many."""

from __future__ import annotations

from dataclasses import dataclass

from lasthop.stats import is_narrow, spread
from lasthop.stats.precision import FEWEST
from lasthop.study.plan import Row, Study
from lasthop.study.rows import Outcomes, cases_of, numbers_of


@dataclass(frozen=True, slots=True)
class Precision:
    """How far the 95 % interval of a row's median may reach, as a share of it, and how many runs that may cost."""

    within: float
    at_most: int = 100


def widened(study: Study, outcomes: Outcomes, precision: Precision) -> Study | None:
    """Return the study with half as many runs again for each case of a row that is too wide; None where no row is.

    A case that has `at_most` runs is left as it is, and so is one with a run that gave no number: more of them would
    not help.
    """
    rows = [row for row in study.rows if row.table in study.selected]
    wide = [row for row in rows if _is_wide(study, row, outcomes, precision.within)]
    runs = {case: len(study.cases[case].seeds) for row in wide for case in cases_of(study, row)}
    more = {case: _more(number, precision.at_most) for case, number in runs.items()}
    more = {case: number for case, number in more.items() if number > runs[case]}
    return study.with_seeds(more) if more else None


def wide_rows(study: Study, outcomes: Outcomes, precision: Precision) -> list[int]:
    """Return the places of the selected rows whose intervals are still too wide."""
    places = [place for place, row in enumerate(study.rows) if row.table in study.selected]
    return [place for place in places if _is_wide(study, study.rows[place], outcomes, precision.within)]


def _is_wide(study: Study, row: Row, outcomes: Outcomes, within: float) -> bool:
    for variant in study.cases[row.case].variants:
        numbers = numbers_of(study, row, variant.span, outcomes)
        if numbers is None:
            return False
        if not is_narrow(spread(numbers), within):
            return True
    return False


def _more(runs: int, at_most: int) -> int:
    # Half as many again: few rounds, and never far more than is needed.
    return min(max(runs + (runs + 1) // 2, FEWEST), at_most)
