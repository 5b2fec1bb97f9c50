"""Agreement of measured rows with the published values, by the rules of the study's file.

A study sorts its rows into kinds (`[[agreement]]`), each with a rule: a deterministic row may differ by a share, a row
with a span is widened by that share, and a median of random runs may differ by the sampling error of two medians. Rows
whose published value is hard to read are not judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from lasthop.stats import two_medians_interval

Reported = Mapping[str, Any]
"""A row as `lasthop study --json` prints it."""


@dataclass(frozen=True)
class Agreement:
    """A kind of rows, and the rule by which they agree with their published values."""

    kind: str
    only: Mapping[str, Sequence[str]]
    """Values that the rows of this kind have in the study's columns; `*` matches any text."""
    within: float
    """Share of the measured value by which the published one may differ, and by which a span is widened."""
    or_: float
    """Absolute difference that is allowed, if it is larger."""
    deviations: float
    """Number of published standard deviations that is allowed, if it is larger."""
    runs: int | None
    """Number of runs of the document's median; None for other rules."""

    def fits(self, columns: Mapping[str, str]) -> bool:
        """Return whether a row is of this kind."""
        return all(any(fnmatchcase(columns[name], text) for text in texts) for name, texts in self.only.items())


def kind_of(agreement: Sequence[Agreement], columns: Mapping[str, str]) -> Agreement | None:
    """Return the first kind that a row fits; None if there is none."""
    return next((kind for kind in agreement if kind.fits(columns)), None)


def judged(kind: Agreement | None, row: Reported, numbers: Sequence[float] | None) -> dict[str, Any]:
    """Return the keys `kind` and `agrees` of a row; `numbers` are those of its runs.

    `agrees` is None if nothing is published, the published value is hard to read, or the row is of no kind; False if
    nothing could be measured.
    """
    if kind is None:
        return {"kind": None, "agrees": None}
    if row["published"] is None or row["uncertain"]:
        return {"kind": kind.kind, "agrees": None}
    return {"kind": kind.kind, "agrees": numbers is not None and _agrees(kind, row, numbers)}


def _agrees(kind: Agreement, row: Reported, numbers: Sequence[float]) -> bool:
    low, high = _bounds(kind, row, numbers)
    return bool(low - _ROUNDING <= row["published"] <= high + _ROUNDING)


def _bounds(kind: Agreement, row: Reported, numbers: Sequence[float]) -> tuple[float, float]:
    """Return the smallest and the largest published value that agree with the measured one."""
    if kind.runs is not None and len(numbers) > 1:
        low, high = two_medians_interval(sorted(numbers), kind.runs)
    elif row.get("low") is not None:
        low, high = row["low"], row["high"]
    else:
        low = high = row["measured"]
    allowed = max(kind.or_, kind.deviations * (row.get("published_deviation") or 0.0))
    return min(low * (1 - kind.within), low - allowed), max(high * (1 + kind.within), high + allowed)


def counted(rows: Sequence[Reported]) -> dict[str, list[dict[str, Any]]]:
    """Return the number of judged rows that agree, by kind (and scope, if there are several) and by table."""
    several = len({row.get("scope") for row in rows}) > 1
    by_kind = _counts(rows, ("kind", "scope") if several else ("kind",))
    return {"kinds": by_kind, "tables": _counts(rows, ("table",))}


def _counts(rows: Sequence[Reported], names: Sequence[str]) -> list[dict[str, Any]]:
    counts: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        if row.get("agrees") is not None:
            count = counts.setdefault(tuple(row[name] for name in names), [0, 0])
            count[0] += row["agrees"]
            count[1] += 1
    return [
        {**dict(zip(names, key, strict=True)), "agree": agree, "rows": every} for key, (agree, every) in counts.items()
    ]


_ROUNDING = 1e-9
"""Tolerance of rounding: bounds are products of decimal fractions."""
