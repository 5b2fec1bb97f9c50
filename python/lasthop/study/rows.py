"""The rows of a study: measured values with their spread, next to published values. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lasthop.errors import RunError
from lasthop.stats import Spread, are_alike, spread
from lasthop.study.agreement import judged, kind_of
from lasthop.study.measures import measure
from lasthop.study.plan import Row, Smallest, Study
from lasthop.study.published import Key, Published
from lasthop.study.store import Outcome

Outcomes = Mapping[tuple[str, int], Sequence[Outcome]]
"""The finished runs by case and step of its span, in the order of the seeds."""

Reported = dict[str, Any]
"""A row as `lasthop study --json` prints it."""


def report(study: Study, row: Row, outcomes: Outcomes, published: Mapping[Key, Published]) -> Reported:
    """Return one row. A number that could not be measured (not run, or an unfinished flow) is None."""
    case = study.cases[row.case]
    # A case of a table that was not chosen has no variants, and so no runs.
    spans = [variant.span for variant in case.variants] or [0]
    numbers = {span: numbers_of(study, row, span, outcomes) for span in spans}
    spreads = {span: None if of_span is None else spread(of_span) for span, of_span in numbers.items()}
    own = spreads.get(0)  # None if the case belongs to a table that was not chosen
    known = published.get(tuple(row.columns[column] for column in study.columns))
    reported = names_of(study, row)
    reported |= {"published": None if known is None else known.values.get("median"), **_measured(own)}
    reported["deterministic"] = None if own is None else is_deterministic(study, row, outcomes)
    reported |= _over_span(spreads)
    reported["ratio"] = _ratio(reported["measured"], reported["published"])
    reported |= _published_more(known)
    return reported | judged(kind_of(study.agreement, row.columns), reported, numbers.get(0))


def names_of(study: Study, row: Row) -> Reported:
    """Return the name of a row: its table and the study's columns."""
    return {"table": plain(row.table)} | {column: plain(row.columns[column]) for column in study.columns}


def plain(text: str) -> int | str:
    """Return the text of a whole number as an int, any other text unchanged."""
    return int(text) if text.isdecimal() else text


def cases_of(study: Study, row: Row) -> list[str]:
    """Return the ids of the cases of a row; a row computed from other rows has all their cases."""
    places = [place for _, place in row.smallest.tried] if row.smallest is not None else row.quotient
    if places is None:
        return [row.case]
    return [case for place in places for case in cases_of(study, study.rows[place])]


def is_deterministic(study: Study, row: Row, outcomes: Outcomes) -> bool | None:
    """Return whether the runs of each case of a row are equal, so that no random number made a difference.

    None if a case has a single run.
    """
    runs = [outcomes.get((case, 0), ()) for case in cases_of(study, row)]
    return None if any(len(each) < 2 for each in runs) else all(are_alike(each) for each in runs)


def numbers_of(study: Study, row: Row, span: int, outcomes: Outcomes) -> list[float] | None:
    """Return the row's number in each run, in the order of the seeds; a quotient is computed seed by seed."""
    if row.quotient is not None:
        over, under = (numbers_of(study, study.rows[place], span, outcomes) for place in row.quotient)
        if over is None or under is None or not all(under):
            return None
        return [a / b for a, b in zip(over, under, strict=False)]
    if row.smallest is not None:
        return _smallest(study, row.smallest, span, outcomes)
    runs = outcomes.get((row.case, span), ())
    if len(runs) < len(study.cases[row.case].seeds):
        return None
    metric = study.metrics[row.measure]
    scope_bytes = None if row.scope is None else study.scopes[row.scope]
    try:
        return [measure(metric, run, scope_bytes) for run in runs]
    except RunError:
        return None


def _smallest(study: Study, sought: Smallest, span: int, outcomes: Outcomes) -> list[float] | None:
    """Return for each seed the smallest number tried from which all larger ones reach the level, too.

    A number that reaches it among larger ones that do not (a window that happens to fit its buffer) does not count.
    None if a seed has no such number.
    """
    numbers = [number for number, _ in sought.tried]
    measured = [numbers_of(study, study.rows[place], span, outcomes) for _, place in sought.tried]
    by_seed = zip(*(values or () for values in measured), strict=False)
    enough = [_all_from(numbers, [value >= sought.reaches for value in values]) for values in by_seed]
    found = [number for number in enough if number is not None]
    return found if found and len(found) == len(enough) else None


def _all_from(numbers: Sequence[float], reached: Sequence[bool]) -> float | None:
    """Return the first number from which all have reached the level."""
    first = None
    for number, reaches in zip(reversed(numbers), reversed(reached), strict=True):
        if not reaches:
            break
        first = number
    return first


def _measured(own: Spread | None) -> Reported:
    if own is None:
        return dict.fromkeys(("measured", "q25", "q75", "ci95", "mean", "mean_low", "mean_high"), None) | {"n": 0}
    mean_low, mean_high = own.mean_ci95 or (None, None)
    return {
        "measured": own.median,
        "q25": own.q25,
        "q75": own.q75,
        "ci95": None if own.ci95 is None else list(own.ci95),
        "mean": own.mean,
        "mean_low": mean_low,
        "mean_high": mean_high,
        "n": own.n,
    }


def _over_span(spreads: Mapping[int, Spread | None]) -> Reported:
    """Return the lowest and highest median of a span; an empty mapping for a row without a span."""
    if len(spreads) <= 1:
        return {}
    medians = [member.median for member in spreads.values() if member is not None]
    if len(medians) < len(spreads):
        return {"low": None, "high": None}
    return {"low": min(medians), "high": max(medians)}


def _published_more(known: Published | None) -> Reported:
    if known is None:
        return {"published_q25": None, "published_q75": None, "published_deviation": None, "uncertain": None}
    return {
        "published_q25": known.values.get("q25"),
        "published_q75": known.values.get("q75"),
        "published_deviation": known.values.get("deviation"),
        "uncertain": known.uncertain,
    }


def _ratio(measured: float | None, published: float | None) -> float | None:
    return measured / published if measured is not None and published else None
