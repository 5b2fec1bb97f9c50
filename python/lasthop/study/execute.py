"""Running a study: its cases under all their seeds, in one batch on all processors, resumable.

A case that fails is reported and its other runs are dropped; the other cases run, and finished runs stay in the store.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from os import PathLike, fspath
from pathlib import Path

from lasthop import _native
from lasthop.errors import InputError, RunError
from lasthop.parallel import processors
from lasthop.progress_bar import Tick, reporting
from lasthop.results.run import Run
from lasthop.scenario import in_memory
from lasthop.study.batch import Batch, Checks, Job, Progress, record_of
from lasthop.study.checks import Check, checks_key, find_check, load_checks
from lasthop.study.claims import Judge
from lasthop.study.cluster import connected, run_on_cluster
from lasthop.study.oracle import published_values
from lasthop.study.plan import Case, Oracle, Study, load_parts
from lasthop.study.precision import Precision, wide_rows, widened
from lasthop.study.published import Key, Published
from lasthop.study.result import Reached, StudyResult, joined, write_study
from lasthop.study.rows import Reported, names_of, plain, report
from lasthop.study.store import Outcome, Store

Runner = Callable[[Mapping[str, Job], Store, Mapping[str, Checks], Progress, Callable[[int], None]], None]
"""Runs the missing runs, by their keys, and puts them into the store; calls back with the number of finished runs."""


def run_study(
    study: Study | str | PathLike[str],
    folder: str | PathLike[str],
    *,
    only: Iterable[str] = (),
    jobs: int | None = None,
    tick: Tick | None = None,
    progress: bool = False,
    precision: Precision | None = None,
    cluster: str | None = None,
) -> StudyResult:
    """Run the runs of the selected tables that `folder` lacks, and return the rows and the claims.

    `study` is a study, or the path or the name of one with its parts, of which `only` selects tables. `jobs` is the
    number of parallel runs (default: the number of processors). `progress` shows a bar of finished runs, and `tick` is
    called with their number and that of all. `failures` of the result has the cases that failed. After Ctrl-C the next
    start continues with the missing runs. With a `precision`, cases run under further seeds until the intervals of
    their rows are narrow enough. With a `cluster` (the address of a Dask scheduler, or "local") its workers run them;
    the result is the same. Raises InputError if a check or a claim is wrong, or the folder is something else, and
    OracleError if a program that the study compares with is missing.

    >>> import lasthop
    >>> study = lasthop.load_study("sarolahti2000", ["14"]).only(["14"]).replicated(2)
    >>> lasthop.run_study(study, "results/table-14")
    <StudyResult sarolahti2000: ... rows, ... runs, 0 failures>
    """
    parts = _chosen(study, only) if isinstance(study, Study) else load_parts(fspath(study), only)
    with reporting(tick, progress=progress) as notify:
        return run_parts(parts, Path(folder), jobs=jobs, tick=notify, precision=precision, cluster=cluster)


def _chosen(study: Study, only: Iterable[str]) -> list[Study]:
    tables = list(only)
    return [study.only(tables) if tables else study]


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect cyclic garbage a hundred times more rarely.

    A large study keeps millions of dictionaries, none of them in a cycle, and each collection visits them all: at
    Python's own thresholds that takes a third of the time of reading them. Collections are not switched off, because
    the checks of a study may make cycles.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(100 * thresholds[0], *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


@_rare_collections()
def run_parts(
    studies: Sequence[Study],
    folder: Path,
    *,
    jobs: int | None = None,
    tick: Tick | None = None,
    precision: Precision | None = None,
    cluster: str | None = None,
) -> StudyResult:
    """Run a study and its parts in sequence, and return all rows and claims under the name of the first.

    Raises what `run_study` does.
    """
    started = time.perf_counter(), time.process_time()
    parts = [
        _Part(study, jobs or processors(), tick_from(place, studies, tick), precision, cluster)
        for place, study in enumerate(studies)
    ]
    with Store(folder) as store:
        results = [part.run(store, folder) for part in parts]
        result = joined(results)
        result.damaged = store.damaged
        result.wall_s, result.cpu_s = time.perf_counter() - started[0], time.process_time() - started[1]
        write_study(result, [(part.study, part.progress.outcomes) for part in parts])
    return result


def tick_from(place: int, studies: Sequence[Study], tick: Tick | None) -> Tick:
    """Return the tick of the study at `place`, which calls `tick` with the numbers of all studies together."""
    if tick is None:
        return lambda _done, _all: None
    notify, before = tick, sum(len(jobs_of(study)) for study in studies[:place])
    after = sum(len(jobs_of(study)) for study in studies[place + 1 :])
    return lambda done, every: notify(before + done, before + every + after)


def names_checks(study: Study) -> bool:
    """Whether the study's file names a check, so that its `checks.py` is wanted: that is code of its author."""
    return (
        any(metric.check is not None for metric in study.metrics.values())
        or any(claim.check is not None for claim in study.claims)
        or isinstance(study.published, Oracle)
    )


class _Part:
    """One of the studies that run together: its checks, runs, rows and claims."""

    def __init__(
        self, study: Study, workers: int, notify: Tick, precision: Precision | None, cluster: str | None
    ) -> None:
        self.study = study
        self.workers = workers
        self.notify = notify
        self.precision = precision
        self.cluster = cluster
        self.progress = Progress()
        self.own_checks = load_checks(study.folder) if names_checks(study) else {}
        # Before any run, so that an error in the last part is reported before the runs of the first.
        Judge(study, _no_row, record_case, self.own_checks).check_claims()
        self.checks = _checks_by_case(study, self.own_checks)

    def run(self, store: Store, folder: Path) -> StudyResult:
        """Run the missing runs, and return the result."""
        published = published_values(self.study, self.own_checks, self.workers)
        precision = self.precision
        checked_only = all(metric.check is not None for metric in self.study.metrics.values())
        with _runner(self.study, self.cluster, self.workers, checked_only) as run:
            self._run_missing(store, run)
            reused = self.progress.reused
            while (
                precision is not None and (wider := widened(self.study, self.progress.outcomes, precision)) is not None
            ):
                self.study = wider
                self.progress.outcomes.clear()
                self._run_missing(store, run)
        self.progress.reused = reused
        study, outcomes = self.study, self.progress.outcomes
        reported = cache(lambda place: report(study, study.rows[place], outcomes, published))
        judge = Judge(study, reported, record_case, self.own_checks)
        return StudyResult(
            study=study.name,
            title=study.title,
            folder=folder,
            rows=[reported(place) for place, row in enumerate(study.rows) if row.table in study.selected],
            claims=[judge.judge(claim) for claim in study.claims],
            runs=sum(len(runs) for runs in outcomes.values()),
            reused=reused,
            failures=self.progress.failures,
            unmatched=unmatched(study, published),
            precision=None if precision is None else _reached(study, outcomes, precision),
        )

    def _run_missing(self, store: Store, run: Runner) -> None:
        _run_missing(jobs_of(self.study), store, self.checks, self.progress, self.notify, run)


def _reached(study: Study, outcomes: Mapping[tuple[str, int], Sequence[Outcome]], precision: Precision) -> Reached:
    wide = [names_of(study, study.rows[place]) for place in wide_rows(study, outcomes, precision)]
    return Reached(precision.within, precision.at_most, wide)


def unmatched(study: Study, published: Mapping[Key, Published]) -> list[dict[str, int | str]]:
    """Return the published rows without a row of the study, by the study's columns, in the file's order."""
    own = {tuple(row.columns[column] for column in study.columns) for row in study.rows}
    return [
        {column: plain(text) for column, text in zip(study.columns, key, strict=True)}
        for key in published
        if key not in own
    ]


def _no_row(place: int) -> Reported:
    raise RunError(f"row {place} is asked for before anything has run")


def jobs_of(study: Study) -> list[Job]:
    """Return every run of the selected tables: all cases under their first seed, then all under their second, …

    Cases that cannot run in virtual time are left out; an oracle may have their values.
    """
    cases = [case for case in study.selected_cases if case.is_in_virtual_time]
    most = max((len(case.seeds) for case in cases), default=0)
    keys = {case: checks_key(names, study.folder) for case, names in _check_names(study).items()}
    return [
        Job(case, variant, case.seeds[place], keys[case.id])
        for place in range(most)
        for case in cases
        if place < len(case.seeds)
        for variant in case.variants
    ]


def record_case(case: Case, tables: Sequence[str], *, span: int = 0, seed: int | None = None) -> Run:
    """Run a case with tables recorded, at a step of its span, under `seed` or its first seed."""
    scenario = Job(case, case.variant(span), case.seeds[0] if seed is None else seed).scenario()
    return in_memory(_native.run(scenario.json, record_of(tables)), scenario)


def _run_missing(
    every: Sequence[Job],
    store: Store,
    checks: Mapping[str, Checks],
    progress: Progress,
    tick: Tick,
    run: Runner,
) -> None:
    keys = [job.key for job in every]
    missing = {key: job for key, job in zip(keys, every, strict=True) if store.get(key) is None}
    progress.reused = len(every) - len(missing)
    if missing:
        run(missing, store, checks, progress, lambda done: tick(progress.reused + done, len(every)))
    for key, job in zip(keys, every, strict=True):
        outcome = store.get(key)
        if outcome is not None:
            progress.outcomes.setdefault((job.case.id, job.variant.span), []).append(outcome)


@contextmanager
def _runner(study: Study, cluster: str | None, workers: int, checked_only: bool) -> Iterator[Runner]:
    """Yield the runner of missing runs: threads of this process, or the workers of a cluster."""
    if cluster is None:
        yield lambda missing, store, checks, progress, tick: Batch(
            missing, store, checks, progress, tick, checked_only=checked_only
        ).run(workers)
        return
    own = study.folder / "checks.py"
    source = own.read_text("utf-8") if own.is_file() else ""
    with connected(cluster, workers) as client:
        yield lambda missing, store, checks, progress, tick: run_on_cluster(
            client,
            missing,
            store,
            {case: sorted(of_case) for case, of_case in checks.items()},
            source,
            progress,
            tick,
            checked_only=checked_only,
        )


def _checks_by_case(study: Study, own_checks: Mapping[str, Check]) -> dict[str, Checks]:
    """Return the checks of each case's runs, by case and name."""
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
