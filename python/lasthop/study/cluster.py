"""A study on several machines: batches of its runs on the workers of a Dask cluster.

Workers get specifications and return outcomes; the store, the rows and the claims stay here. A batch whose worker dies
is run again by another. A worker with another build of the engine is refused, because it could compute another result.
Needs the package `distributed`, which the extra `cluster` names.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from lasthop.errors import InputError, RunError
from lasthop.extras import remedy_of
from lasthop.provenance import engine
from lasthop.study.batch import Batch, Job, Progress
from lasthop.study.checks import find_check, load_checks
from lasthop.study.store import Store

LOCAL = "local"
"""The address that starts a cluster on this machine for the duration of the study."""

LARGEST_BATCH = 50
"""Largest number of runs in a batch, which are lost if the worker dies."""
BATCHES_PER_WORKER = 4
"""Least number of batches for each worker, so that a slow worker does not delay the end."""


MOST_LOSSES = 25
"""Number of times that a batch is submitted again. Dask gives one up whose worker has died four times
(`distributed.scheduler.allowed-failures`), which machines that come and go reach without a fault of the batch."""


@dataclass(frozen=True)
class Order:
    """A message to a worker: runs, and the checks that measure them."""

    engine: str
    jobs: Mapping[str, Job]
    """The runs, by their keys in the store."""
    checks: Mapping[str, Sequence[str]]
    """The names of the checks of each case."""
    source: str
    """The study's own checks.py."""
    checked_only: bool


@dataclass
class Answer:
    """The answer of a worker: key, further keys and summary of each run, and the cases that failed."""

    kept: list[tuple[str, Mapping[str, Any], str]] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    refused: str | None = None

    def put(self, key: str, about: Mapping[str, Any], summary_json: str) -> None:
        """Keep a finished run, as a store does."""
        self.kept.append((key, about, summary_json))

    def flush(self) -> None:
        """Do nothing: the answer is in memory."""


def fulfil(order: Order) -> Answer:
    """Run an order, as a worker. A worker with another build runs nothing, and returns its build."""
    answer = Answer()
    if engine() != order.engine:
        answer.refused = engine()
        return answer
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="lasthop-checks-") as folder:
        if order.source:
            (Path(folder) / "checks.py").write_text(order.source, "utf-8", newline="\n")
        own = load_checks(Path(folder))
        checks = {case: {name: find_check(name, own) for name in names} for case, names in order.checks.items()}
        batch = Batch(order.jobs, answer, checks, progress, lambda _done: None, checked_only=order.checked_only)
        batch.run(1)
    answer.failures = progress.failures
    return answer


def run_on_cluster(
    client: Any,
    missing: Mapping[str, Job],
    store: Store,
    checks: Mapping[str, Sequence[str]],
    source: str,
    progress: Progress,
    tick: Callable[[int], None],
    *,
    checked_only: bool,
) -> None:
    """Run the missing runs on the workers of a Dask `client`, and put each batch into the store when it returns."""
    orders = list(_orders(missing, checks, source, checked_only, _workers_of(client)))
    futures = {client.submit(fulfil, order, pure=False): place for place, order in enumerate(orders)}
    losses: Counter[int] = Counter()
    failures: dict[int, Mapping[str, str]] = {}
    done = 0
    try:
        completed = _dask().as_completed(list(futures))
        for future in completed:
            # A worker keeps an answer as long as a future refers to it. When that worker dies, Dask computes the answer
            # again, also one that has arrived here.
            place = futures.pop(future)
            try:
                answer = future.result()
            except _dask().KilledWorker as error:
                losses[place] += 1
                if losses[place] > MOST_LOSSES:
                    raise RunError(f"workers die of a batch again and again: {error}") from error
                again = client.submit(fulfil, orders[place], pure=False)
                futures[again] = place
                completed.add(again)
                continue
            if answer.refused is not None:
                raise _refusal([f"one with the build {answer.refused}"])
            for key, about, summary_json in answer.kept:
                store.put(key, about, summary_json)
            store.flush()
            failures[place] = answer.failures
            done += len(orders[place].jobs)
            tick(done)
    finally:
        client.cancel(list(futures))
    # In the order of the runs, not of their ends, so that the same failure is reported as on one machine.
    for place in sorted(failures):
        for case, what in failures[place].items():
            progress.failures.setdefault(case, what)


def _orders(
    missing: Mapping[str, Job], checks: Mapping[str, Sequence[str]], source: str, checked_only: bool, workers: int
) -> Iterator[Order]:
    entries = list(missing.items())
    size = max(1, min(LARGEST_BATCH, len(entries) // (BATCHES_PER_WORKER * workers)))
    for first in range(0, len(entries), size):
        jobs = dict(entries[first : first + size])
        names = {job.case.id: checks[job.case.id] for job in jobs.values()}
        yield Order(engine(), jobs, names, source, checked_only)


def _workers_of(client: Any) -> int:
    """Return the number of workers. Raises InputError if there are none, or one has another build."""
    try:
        client.wait_for_workers(1, timeout=WAIT_S)
    except TimeoutError as error:
        raise InputError(
            "the cluster has no workers", key="--cluster", help="start some: dask worker ADDRESS"
        ) from error
    builds = client.run(engine)
    others = [f"{address} ({build})" for address, build in sorted(builds.items()) if build != engine()]
    if others:
        raise _refusal(others)
    return len(builds)


WAIT_S = 30
"""Longest wait for the first worker, in seconds."""


def _refusal(workers: Sequence[str]) -> InputError:
    return InputError(
        f"workers have another build of lasthop than this one ({engine()}): {', '.join(workers)}",
        key="--cluster",
        help="install the same wheel everywhere: another build may compute another result",
    )


def _dask() -> Any:
    try:
        return import_module("distributed")
    except ImportError as error:
        raise InputError(
            "a cluster needs Dask, which is not installed", key="--cluster", help=remedy_of("cluster")
        ) from error


@contextmanager
def connected(address: str, workers: int) -> Iterator[Any]:
    """Yield a Dask client of a scheduler ("tcp://host:8786"), or of a cluster of `workers` processes started here."""
    dask = _dask()
    if address == LOCAL:
        options = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
        with dask.LocalCluster(**options) as cluster, dask.Client(cluster) as client:
            yield client
        return
    try:
        client = dask.Client(address, timeout=WAIT_S)
    except (OSError, ValueError) as error:
        raise RunError(f"no scheduler answers at {address}: {error}") from error
    with client:
        yield client
