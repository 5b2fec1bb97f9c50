"""Running a study: its cases under all their seeds, as one batch on all processors, resumable.

A case that fails is named and its other runs are left out; everything else goes on, and what is finished stays in the
store.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from lasthop import _native
from lasthop.errors import InputError, LasthopError, RunError
from lasthop.parallel import processors
from lasthop.provenance import engine
from lasthop.results.run import Run
from lasthop.scenario import Record, Scenario, in_memory
from lasthop.study.checks import Check, checks_key, find_check, load_checks
from lasthop.study.claims import Judge
from lasthop.study.oracle import published_values
from lasthop.study.plan import Case, Study, Variant
from lasthop.study.precision import Precision, wide_rows, widened
from lasthop.study.result import Reached, StudyResult, write_study
from lasthop.study.rows import Reported, names_of, report
from lasthop.study.store import Outcome, Store, run_key

Tick = Callable[[int, int], None]
"""Told how many runs are done, and how many there are."""

Checks = Mapping[str, Callable[[Run], float]]


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a study: a variant of a case under one seed."""

    case: Case
    variant: Variant
    seed: int
    checks: str = ""
    """What its records are measured by: see `checks_key`."""

    @property
    def key(self) -> str:
        """The key in the store."""
        return run_key(self.variant.hash, self.seed, self.case.record, engine(), self.checks)

    def scenario(self) -> Scenario:
        """Return what is run."""
        return Scenario(self.case.id, self.seed, self.variant.hash, self.variant.under(self.seed))


def record_of(tables: Iterable[str]) -> Record:
    """Return the words that ask the engine for tables."""
    return {"tables": list(tables), "captures": []}


@dataclass
class Progress:
    """What is done so far. `failures` maps a case's id to what went wrong."""

    outcomes: dict[tuple[str, int], list[Outcome]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    reused: int = 0


def run_study(
    study: Study,
    folder: Path,
    *,
    jobs: int | None = None,
    tick: Tick | None = None,
    precision: Precision | None = None,
) -> StudyResult:
    """Run what is missing of the selected tables in `folder`, and return their rows and the claims.

    `jobs` runs go on at a time (as many as there are processors, unless given). Cases that failed stand in `failures`
    of the result. Ctrl-C leaves the store whole: the next start goes on from there. With a `precision`, cases are run
    under more and more seeds until the intervals of their rows are narrow enough.
    """
    started = time.perf_counter(), time.process_time()
    progress = Progress()
    own_checks = load_checks(study.folder)
    Judge(study, _no_row, record_case, own_checks).check_claims()
    checks = _checks_by_case(study, own_checks)
    workers, tell = jobs or processors(), tick or (lambda _done, _all: None)
    published = published_values(study, own_checks, workers)
    with Store(folder) as store:
        _run_missing(jobs_of(study), store, checks, progress, workers, tell)
        reused = progress.reused
        while precision is not None and (wider := widened(study, progress.outcomes, precision)) is not None:
            study = wider
            progress.outcomes.clear()
            _run_missing(jobs_of(study), store, checks, progress, workers, tell)
        progress.reused = reused
        final = study
        reported = cache(lambda place: report(final, final.rows[place], progress.outcomes, published))
        judge = Judge(study, reported, record_case, own_checks)
        result = StudyResult(
            study=study.name,
            title=study.title,
            folder=folder,
            rows=[reported(place) for place, row in enumerate(study.rows) if row.table in study.selected],
            claims=[judge.judge(claim) for claim in study.claims],
            runs=sum(len(runs) for runs in progress.outcomes.values()),
            reused=progress.reused,
            failures=progress.failures,
            damaged=store.damaged,
            precision=None if precision is None else _reached(study, progress.outcomes, precision),
            wall_s=time.perf_counter() - started[0],
            cpu_s=time.process_time() - started[1],
        )
        write_study(result, study, progress.outcomes)
    return result


def _reached(study: Study, outcomes: Mapping[tuple[str, int], Sequence[Outcome]], precision: Precision) -> Reached:
    wide = [names_of(study, study.rows[place]) for place in wide_rows(study, outcomes, precision)]
    return Reached(precision.within, precision.at_most, wide)


def _no_row(place: int) -> Reported:
    raise RunError(f"row {place} is asked for before anything has run")


def jobs_of(study: Study) -> list[Job]:
    """Return every run of the selected tables: all cases under their first seed, then all under their second, …"""
    most = max((len(case.seeds) for case in study.selected_cases), default=0)
    keys = {case: checks_key(names, study.folder) for case, names in _check_names(study).items()}
    return [
        Job(case, variant, case.seeds[place], keys[case.id])
        for place in range(most)
        for case in study.selected_cases
        if place < len(case.seeds)
        for variant in case.variants
    ]


def record_case(case: Case, tables: Sequence[str], *, span: int = 0, seed: int | None = None) -> Run:
    """Run a case once more with tables recorded, under its first seed unless another is given."""
    scenario = Job(case, case.variant(span), case.seeds[0] if seed is None else seed).scenario()
    return in_memory(_native.run(scenario.json, record_of(tables)), scenario)


def _run_missing(
    every: Sequence[Job], store: Store, checks: Mapping[str, Checks], progress: Progress, workers: int, tick: Tick
) -> None:
    keys = [job.key for job in every]
    missing = {key: job for key, job in zip(keys, every, strict=True) if store.get(key) is None}
    progress.reused = len(every) - len(missing)
    Batch(missing, store, checks, progress, lambda done: tick(progress.reused + done, len(every))).run(workers)
    for key, job in zip(keys, every, strict=True):
        outcome = store.get(key)
        if outcome is not None:
            progress.outcomes.setdefault((job.case.id, job.variant.span), []).append(outcome)


class Batch:
    """The runs that are missing: one call to the engine, which tells of finished runs now and then."""

    def __init__(
        self,
        missing: Mapping[str, Job],
        store: Store,
        checks: Mapping[str, Checks],
        progress: Progress,
        tick: Callable[[int], None],
    ) -> None:
        self.keys = list(missing)
        self.missing = list(missing.values())
        self.store = store
        self.checks = checks
        self.progress = progress
        self.tick = tick
        self.done = 0
        variants = {(job.case.id, job.variant.span): job for job in self.missing}
        self.places = {variant: place for place, variant in enumerate(variants)}
        self.scenarios = [(json.dumps(job.variant.scenario), record_of(job.case.record)) for job in variants.values()]

    def run(self, workers: int) -> None:
        """Run everything, `workers` at a time; what goes wrong in a run is told under its case."""
        runs = [(self._place(job), job.seed) for job in self.missing]
        if runs:
            _native.run_batch(self.scenarios, runs, workers, self._finished)

    def _finished(self, ended: Sequence[tuple[int, _native.Run | Exception | None]]) -> list[int]:
        """Keep what has ended, and return the scenarios to give up: those of cases that failed."""
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
        """Keep a run's outcome; return what went wrong, if anything did. A check of the study's may raise anything."""
        if result is None:
            return None
        if isinstance(result, Exception):
            return _words(result)
        try:
            self.store.put(key, self._about(job, result), result.summary_json)
        except Exception as error:
            return _words(error)
        return None

    def _about(self, job: Job, finished: _native.Run) -> dict[str, Any]:
        """Return what is said about a run beside its summary: whose it is, and what its checks found."""
        checks = self.checks[job.case.id]
        run = in_memory(finished, job.scenario()) if checks else None
        checked = {name: check(run) for name, check in checks.items() if run is not None}
        return {"case": job.case.id, "span": job.variant.span, "checked": checked}

    def _place(self, job: Job) -> int:
        return self.places[job.case.id, job.variant.span]


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, LasthopError) else f"{type(error).__name__}: {error}"


def _checks_by_case(study: Study, own_checks: Mapping[str, Check]) -> dict[str, Checks]:
    """Return the checks that each case's runs are measured by."""
    for name, metric in study.metrics.items():
        try:
            if metric.check is not None:
                find_check(metric.check, own_checks)
        except InputError as error:
            raise error.at(file=str(study.file), line=metric.line, key=f"metrics.{name}.check") from error
    return {case: {name: find_check(name, own_checks) for name in names} for case, names in _check_names(study).items()}


def _check_names(study: Study) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {case.id: set() for case in study.selected_cases}
    for row in study.rows:
        name = study.metrics[row.measure].check
        if name is not None and row.case in names:
            names[row.case].add(name)
    return names
