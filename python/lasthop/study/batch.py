"""Runs of a study in one call to the engine, measured and put into the store as they end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lasthop import _native
from lasthop.errors import LasthopError
from lasthop.provenance import engine
from lasthop.results.run import Run
from lasthop.scenario import Record, Scenario, in_memory
from lasthop.study.plan import Case, Variant
from lasthop.study.store import Outcome, run_key

Checks = Mapping[str, Callable[[Run], float]]


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a study: a variant of a case under one seed."""

    case: Case
    variant: Variant
    seed: int
    checks: str = ""
    """The checks that measure its records, from `checks_key`."""

    @property
    def key(self) -> str:
        """The key in the store."""
        return run_key(self.variant.hash, self.seed, self.case.record, engine(), self.checks)

    def scenario(self) -> Scenario:
        """Return the scenario to run."""
        return Scenario(self.case.id, self.seed, self.variant.hash, self.variant.under(self.seed))


def record_of(tables: Iterable[str]) -> Record:
    """Return the records that the engine needs for these tables."""
    return {"tables": list(tables), "captures": []}


class Keeper(Protocol):
    """A destination of finished runs: the study's store, or the answer of a cluster's worker."""

    def put(self, key: str, about: Mapping[str, Any], summary_json: str) -> None:
        """Keep a finished run."""

    def flush(self) -> None:
        """Called after the last of several runs."""


@dataclass
class Progress:
    """The finished runs. `failures` maps the id of a failed case to its error."""

    outcomes: dict[tuple[str, int], list[Outcome]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    reused: int = 0


class Batch:
    """The missing runs, in one call to the engine, which reports finished runs from time to time."""

    def __init__(
        self,
        missing: Mapping[str, Job],
        store: Keeper,
        checks: Mapping[str, Checks],
        progress: Progress,
        tick: Callable[[int], None],
        *,
        checked_only: bool,
    ) -> None:
        self.keys = list(missing)
        self.checked_only = checked_only
        self.missing = list(missing.values())
        self.store = store
        self.checks = checks
        self.progress = progress
        self.tick = tick
        self.done = 0
        variants = {(job.case.id, job.variant.span): job for job in self.missing}
        self.places = {variant: place for place, variant in enumerate(variants)}
        self.scenarios = [(job.variant.scenario, record_of(job.case.record)) for job in variants.values()]

    def run(self, workers: int) -> None:
        """Run everything, `workers` at a time; errors are collected in `progress.failures`."""
        runs = [(self._place(job), job.seed) for job in self.missing]
        if runs:
            _native.run_batch(self.scenarios, runs, workers, self._finished)

    def _finished(self, ended: Sequence[tuple[int, _native.Run | Exception | None]]) -> list[int]:
        """Keep finished runs, and return the scenarios of failed cases, which the engine then drops."""
        failed = set()
        for place, result in ended:
            job = self.missing[place]
            failure = self._keep(self.keys[place], job, result)
            if failure is not None:
                self.progress.failures.setdefault(job.case.id, f"seed {job.seed}: {failure}")
                failed.add(job.case.id)
        self.store.flush()
        self.done += len(ended)
        self.tick(self.done)
        return [place for (case, _), place in self.places.items() if case in failed] if failed else []

    def _keep(self, key: str, job: Job, result: _native.Run | Exception | None) -> str | None:
        """Keep a run's outcome, and return its error, if there is one. A check of the study can raise any exception."""
        if result is None:
            return None
        if isinstance(result, Exception):
            return _words(result)
        try:
            self.store.put(key, self._about(job, result), self._kept(result.summary_json))
        except Exception as error:
            return _words(error)
        return None

    def _kept(self, summary_json: str) -> str:
        """Return the summary; without flows, links and cells if checks compute all metrics."""
        if not self.checked_only:
            return summary_json
        summary = json.loads(summary_json)
        return json.dumps({key: value for key, value in summary.items() if not isinstance(value, list)})

    def _about(self, job: Job, finished: _native.Run) -> dict[str, Any]:
        """Return the keys of a run besides its summary: its case, its span, and the numbers of its checks."""
        checks = self.checks[job.case.id]
        run = in_memory(finished, job.scenario()) if checks else None
        checked = {name: check(run) for name, check in checks.items() if run is not None}
        return {"case": job.case.id, "span": job.variant.span, "checked": checked}

    def _place(self, job: Job) -> int:
        return self.places[job.case.id, job.variant.span]


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, LasthopError) else f"{type(error).__name__}: {error}"
