"""Replication until intervals are narrow enough: the cases that need more runs, and the number of runs."""

from __future__ import annotations

from dataclasses import dataclass

from lasthop.stats import is_narrow, spread
from lasthop.stats.precision import FEWEST
from lasthop.study.plan import Row, Study
from lasthop.study.rows import Outcomes, cases_of, numbers_of


@dataclass(frozen=True, slots=True)
class Precision:
    """The precision of a row: the reach of its median's 95 % interval, as a share, and the largest number of runs."""

    within: float
    at_most: int = 100


def widened(study: Study, outcomes: Outcomes, precision: Precision) -> Study | None:
    """Return the study with 1.5 times the runs for each case of a row whose interval is too wide; None if no row is.

    Cases with `at_most` runs are unchanged, and so are cases with a run that gave no number, which more runs would not
    help.
    """
    rows = [row for row in study.rows if row.table in study.selected]
    wide = [row for row in rows if _is_wide(study, row, outcomes, precision.within)]
    runs = {case: len(study.cases[case].seeds) for row in wide for case in cases_of(study, row)}
    more = {case: _more(number, precision.at_most) for case, number in runs.items()}
    more = {case: number for case, number in more.items() if number > runs[case]}
    return study.with_seeds(more) if more else None


def wide_rows(study: Study, outcomes: Outcomes, precision: Precision) -> list[int]:
    """Return the indices of the selected rows whose intervals are too wide."""
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
    # 1.5 times: few rounds, and at most half more runs than are needed.
    return min(max(runs + (runs + 1) // 2, FEWEST), at_most)
