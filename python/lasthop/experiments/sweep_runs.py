"""The runs of a sweep, on several processors, with a journal of the finished runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lasthop import _native
from lasthop.errors import InputError, RunError
from lasthop.experiments.journal import Journal, Known
from lasthop.progress_bar import Tick
from lasthop.scenario import RECORD_NOTHING, Scenario

CaseEnded = Callable[[int, Sequence[Mapping[str, Any]]], None]
"""Called with the place of a case and the summaries of its runs, after the last of them."""


class SweepRuns:
    """Every case under every seed. The runs that the journal has are not repeated."""

    def __init__(
        self,
        cases: Sequence[Scenario],
        seeds: Sequence[int],
        journal: Journal | None,
        tick: Tick,
        case_ended: CaseEnded,
    ) -> None:
        self._cases, self._seeds, self._journal = cases, seeds, journal
        self._tick, self._case_ended = tick, case_ended
        self._summaries: list[dict[int, Mapping[str, Any]]] = [{} for _ in cases]
        self._missing: list[tuple[int, int]] = []
        """Place of the case, and seed, of each run to do."""
        self._failures: list[RunError] = []

    def run(self, jobs: int) -> list[list[Mapping[str, Any]]]:
        """Return the summaries of each case, in the order of the seeds."""
        self._take_known({} if self._journal is None else self._journal.known)
        specifications = [(case.json, RECORD_NOTHING) for case in self._cases]
        try:
            _native.run_batch(specifications, self._missing, jobs, self._finished)
        finally:
            if self._journal is not None:
                self._journal.close()
        if self._failures:
            raise _failure_of(self._failures)
        return [[found[seed] for seed in self._seeds] for found in self._summaries]

    def _take_known(self, known: Known) -> None:
        for place, case in enumerate(self._cases):
            for seed in self._seeds:
                if (case.hash, seed) in known:
                    self._take(place, seed, known[case.hash, seed])
                else:
                    self._missing.append((place, seed))

    def _take(self, place: int, seed: int, summary: Mapping[str, Any]) -> None:
        found = self._summaries[place]
        found[seed] = summary
        if len(found) == len(self._seeds):
            self._case_ended(place, [found[each] for each in self._seeds])

    def _finished(self, batch: Sequence[tuple[int, _native.Run | Exception | None]]) -> list[int]:
        for number, result in batch:
            place, seed = self._missing[number]
            if isinstance(result, InputError):
                # A mistake in a program that the scenario brings, with its own place: it stops every run.
                raise result
            if isinstance(result, Exception):
                self._failed(place, seed, result)
            elif result is not None:
                summary = json.loads(result.summary_json)
                if self._journal is not None:
                    self._journal.add(self._cases[place].hash, seed, summary)
                self._take(place, seed, summary)
        self._tick(sum(map(len, self._summaries)), len(self._cases) * len(self._seeds))
        return []

    def _failed(self, place: int, seed: int, reason: Exception) -> None:
        failure = RunError(f"{', '.join(self._cases[place].overrides)}, seed {seed}: {reason}")
        failure.__cause__ = reason
        if self._journal is None:
            raise failure
        self._journal.fail(self._cases[place].hash, seed, str(failure))
        self._failures.append(failure)


def _failure_of(failures: Sequence[RunError]) -> RunError:
    """Return the first failure, with the number of the others."""
    if len(failures) == 1:
        return failures[0]
    return RunError(f"{failures[0]} ({len(failures) - 1} more runs failed)")
