"""The claims of a document, judged by an expression over measured rows, or by a named check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lasthop.errors import InputError
from lasthop.results.run import Run
from lasthop.study.checks import Check, find_check
from lasthop.study.expression import evaluate, parse
from lasthop.study.plan import Case, Claim, Study
from lasthop.study.rows import Reported

Recorder = Callable[[Case, Sequence[str]], Run]
"""Runs a case as in the document, under its first seed, with these tables recorded."""


ELSEWHERE = "not judged: it is about tables that were not chosen"
"""Evidence of a claim that is about none of the selected tables."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a claim: whether it holds (None: it cannot be judged), and the figures that decide."""

    holds: bool | None
    evidence: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for a claim's check: recorded runs by the id of their case, cases, and the rows of its tables."""

    runs: Mapping[str, Run]
    cases: Mapping[str, Case]
    rows: Sequence[Reported] = ()

    def by(self, variable: str) -> dict[Any, Run]:
        """Return the runs by the value of one of the study's variables, in the order of the claim's cases."""
        return {self.cases[case].values[variable]: run for case, run in self.runs.items()}


class Judge:
    """Judges the claims of one study. `row` returns a row by its place, `record` runs a case with tables recorded."""

    def __init__(
        self, study: Study, row: Callable[[int], Reported], record: Recorder, own_checks: Mapping[str, Check]
    ) -> None:
        self.study = study
        self.row = row
        self.record = record
        self.own_checks = own_checks

    def check_claims(self) -> None:
        """Raise InputError if the expression or the check of a claim is wrong. Called before the runs."""
        for place, claim in enumerate(self.study.claims):
            try:
                if claim.holds is not None:
                    parse(claim.holds, claim.values)
                else:
                    self._check(claim)
            except InputError as error:
                key = f"claims.{place}.{'check' if claim.holds is None else 'holds'}"
                raise error.at(file=str(self.study.file), line=claim.line, key=key) from error

    def judge(self, claim: Claim) -> dict[str, Any]:
        """Return the claim as `lasthop study --json` prints it."""
        verdict = self._by_expression(claim) if claim.holds is not None else self._by_check(claim)
        return {
            "id": claim.id,
            "says": claim.says,
            "place": claim.place,
            "setup": claim.setup,
            "holds": verdict.holds,
            "evidence": verdict.evidence,
        }

    def _by_expression(self, claim: Claim) -> Verdict:
        values = {name: self.row(cell["row"])[cell["stat"]] for name, cell in claim.values.items()}
        missing = [name for name, value in values.items() if value is None]
        if missing:
            tables = {self.study.rows[claim.values[name]["row"]].table for name in missing}
            elsewhere = tables.isdisjoint(self.study.selected)
            return Verdict(None, ELSEWHERE if elsewhere else f"not measured: {', '.join(missing)}")
        figures = ", ".join(f"{name} {value:.6g}" for name, value in values.items())
        try:
            holds = bool(evaluate(claim.holds or "", values))
        except ArithmeticError as error:
            return Verdict(None, f"{claim.holds}: {error}; {figures}")
        return Verdict(holds, f"{claim.holds}; {figures}")

    def _by_check(self, claim: Claim) -> Verdict:
        if not self.study.is_whole and not self._is_selected(claim):
            return Verdict(None, ELSEWHERE)
        check = self._check(claim)
        cases = {case: self.study.cases[case] for case in claim.cases}
        runs = {name: self.record(case, claim.tables) for name, case in cases.items()}
        try:
            verdict: Verdict = check(Evidence(runs, cases, self._rows(claim)))
        except Exception as error:
            # A failing check must not lose the rows: the study continues, and reports the claim as not judged.
            return Verdict(None, f"the check {claim.check} failed: {type(error).__name__}: {error}")
        return verdict

    def _check(self, claim: Claim) -> Check:
        return find_check(claim.check or "", self.own_checks)

    def _rows(self, claim: Claim) -> list[Reported]:
        """Return the rows of the selected tables that the claim is about."""
        tables = set(claim.about) & set(self.study.selected)
        return [self.row(place) for place, row in enumerate(self.study.rows) if row.table in tables]

    def _is_selected(self, claim: Claim) -> bool:
        if claim.about:
            return not set(claim.about).isdisjoint(self.study.selected)
        selected = {case.id for case in self.study.selected_cases}
        return bool(claim.cases) and set(claim.cases) <= selected
