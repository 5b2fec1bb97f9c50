"""Running a study: its cases under all their seeds in threads (the engine releases the interpreter lock), resumable.

A case that fails is named and its other runs are left out; everything else goes on, and what is finished stays in the
store.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Event

from lasthop import _native
from lasthop.errors import InputError, LasthopError, RunError
from lasthop.parallel import heed, processors, run_pool
from lasthop.provenance import engine
from lasthop.results.run import Run
from lasthop.scenario import Scenario, in_memory
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
    variant, seed = case.variant(span), case.seeds[0] if seed is None else seed
    scenario = Scenario(name=case.id, seed=seed, hash=variant.hash, json=variant.under(seed))
    return in_memory(_native.run(scenario.json, {"tables": list(tables), "captures": []}, None), scenario)


def _run_missing(
    every: Sequence[Job], store: Store, checks: Mapping[str, Checks], progress: Progress, workers: int, tick: Tick
) -> None:
    missing = [job for job in every if store.get(job.key) is None]
    progress.reused = len(every) - len(missing)
    stop = Event()

    def run(job: Job) -> None:
        store.put(job.key, _outcome(job, checks[job.case.id], stop))

    with run_pool(workers, stop) as pool:
        for done, (job, failure) in enumerate(_as_done(pool, run, missing, progress.failures), 1):
            if failure is not None:
                progress.failures.setdefault(job.case.id, f"seed {job.seed}: {failure}")
            tick(progress.reused + done, len(every))
    for job in every:
        outcome = store.get(job.key)
        if outcome is not None:
            progress.outcomes.setdefault((job.case.id, job.variant.span), []).append(outcome)


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


def _as_done(
    pool: ThreadPoolExecutor, run: Callable[[Job], None], missing: Sequence[Job], failures: Mapping[str, str]
) -> Iterator[tuple[Job, str | None]]:
    """Run the jobs a few at a time, and yield each with what went wrong, if anything did.

    Only a few are handed to the pool at once, so that a failed case's later runs are never started.
    """
    waiting: dict[Future[None], Job] = {}
    queue = iter(missing)
    while True:
        for job in queue:
            if job.case.id in failures:
                yield job, failures[job.case.id]
                continue
            waiting[pool.submit(run, job)] = job
            if len(waiting) >= AT_ONCE:
                break
        if not waiting:
            return
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            job = waiting.pop(future)
            yield job, _failure(future.exception())


def _failure(error: BaseException | None) -> str | None:
    """Return what went wrong in a run, in words. A check of the study's own may raise anything."""
    if error is None or isinstance(error, LasthopError):
        return None if error is None else str(error)
    if isinstance(error, Exception):
        return f"{type(error).__name__}: {error}"
    raise error


def _outcome(job: Job, checks: Checks, stop: Event) -> Outcome:
    """Run a job, and keep of it what rows are made of."""

    scenario = Scenario(job.case.id, job.seed, job.variant.hash, job.variant.under(job.seed))
    finished = _native.run(
        scenario.json, {"tables": list(job.case.record), "captures": []}, lambda _seconds: heed(stop)
    )
    summary = json.loads(finished.summary_json)
    run = in_memory(finished, scenario) if checks else None
    return {
        "case": job.case.id,
        "span": job.variant.span,
        "seed": job.seed,
        "flows": summary["flows"],
        "links": summary["links"],
        "checked": {name: check(run) for name, check in checks.items() if run is not None},
    }


AT_ONCE = 64
"""Runs handed to the pool at a time: enough to keep any machine busy, few enough to stop soon."""
