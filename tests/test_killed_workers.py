"""Batches of a study whose workers die, on a cluster that is made up: Dask itself is not needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from lasthop.errors import RunError
from lasthop.study.batch import Progress
from lasthop.study.cluster import Answer, Order, run_on_cluster


class KilledWorker(Exception):  # noqa: N818 - Dask's name
    """Dask's exception for a task whose worker died too often."""


class Cluster:
    """A client of Dask whose workers die under the first batches, and that is its own module."""

    KilledWorker = KilledWorker

    def __init__(self, deaths: int) -> None:
        self.deaths = deaths

    def wait_for_workers(self, _count: int, timeout: float) -> None:
        """There are workers at once."""
        assert timeout > 0

    def run(self, function: Callable[[], str]) -> dict[str, str]:
        return {"tcp://worker": function()}

    def submit(self, _function: object, order: Order, *, pure: bool) -> Future:
        assert not pure
        return Future(self, order)

    def cancel(self, _futures: list[Future]) -> None:
        """Nothing runs any more."""

    def as_completed(self, futures: list[Future]) -> Completed:
        return Completed(futures)


@dataclass(eq=False)
class Future:
    cluster: Cluster
    order: Order

    def result(self) -> Answer:
        if self.cluster.deaths > 0:
            self.cluster.deaths -= 1
            raise KilledWorker("the workers of this batch died")
        return Answer([(key, {}, "{}") for key in self.order.jobs])


@dataclass
class Completed:
    waiting: list[Future]

    def add(self, future: Future) -> None:
        self.waiting.append(future)

    def __iter__(self) -> Iterator[Future]:
        while self.waiting:
            yield self.waiting.pop(0)


def stored_on(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return what a cluster computed of eight runs, by their keys."""
    monkeypatch.setattr("lasthop.study.cluster._dask", lambda: cluster)
    kept: dict[str, str] = {}
    store: Any = SimpleNamespace(put=lambda key, _about, text: kept.update({key: text}), flush=lambda: None)
    runs: Any = {f"run {number}": SimpleNamespace(case=SimpleNamespace(id="a")) for number in range(8)}
    run_on_cluster(cluster, runs, store, {"a": ()}, "", Progress(), lambda _done: None, checked_only=False)
    return kept


def test_a_batch_is_submitted_again_when_its_workers_died(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(stored_on(Cluster(deaths=10), monkeypatch)) == 8


def test_a_batch_that_kills_every_worker_ends_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunError, match="die of a batch again and again"):
        stored_on(Cluster(deaths=10**6), monkeypatch)
