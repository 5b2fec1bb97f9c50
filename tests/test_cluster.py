"""`--cluster`: a study on real Dask processes on loopback gives what it gives on one machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="Dask is not installed: lasthop[cluster]")

from lasthop.errors import InputError
from lasthop.results.folder import STORE_FILE
from lasthop.study import load_study, run_study
from lasthop.study.cluster import Order, _refusal, fulfil
from lasthop.study.execute import jobs_of


@contextmanager
def dask(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments, "--no-dashboard"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with_group(process, signal.SIGKILL)
        process.wait()


def with_group(process: subprocess.Popen[bytes], what: signal.Signals) -> None:
    if process.poll() is None:
        os.killpg(process.pid, what)


def waited_for(file: Path) -> str:
    for _ in range(600):
        if file.is_file() and file.read_text().rstrip().endswith("}"):
            return str(json.loads(file.read_text())["address"])
        time.sleep(0.1)
    raise TimeoutError("the scheduler does not come up")


def outcome(result: Any) -> Any:
    return [(result.rows, result.claims, result.runs, dict(result.failures))]


def test_a_cluster_gives_the_same_rows_and_bytes_though_a_worker_is_killed(small_study: Path, tmp_path: Path) -> None:
    plan = load_study(small_study).replicated(30)
    alone = run_study(plan, tmp_path / "alone")
    file = tmp_path / "scheduler.json"
    # Without a nanny, so that what is killed stays dead.
    worker = ("worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny")
    killed: list[int] = []
    scheduler = ("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
    with dask(*scheduler):
        address = waited_for(file)
        with dask(*worker) as first, dask(*worker):

            def tick(done: int, every: int) -> None:
                if not killed and 0 < done < every:
                    killed.append(done)
                    with_group(first, signal.SIGKILL)

            shared = run_study(plan, tmp_path / "shared", cluster=address, tick=tick)
    assert killed
    assert outcome(shared) == outcome(alone)
    files = [(tmp_path / name / "study.parquet").read_bytes() for name in ("alone", "shared")]
    assert files[0] == files[1]
    stores = [sorted((tmp_path / name / STORE_FILE).read_text().splitlines()) for name in ("alone", "shared")]
    assert stores[0] == stores[1]


def test_workers_keep_no_answer_that_has_arrived(small_study: Path, tmp_path: Path) -> None:
    plan = load_study(small_study).replicated(30)
    kept: list[int] = []
    distributed = import_module("distributed")

    def kept_by_workers(dask_scheduler: Any) -> int:
        return sum(task.state == "memory" for task in dask_scheduler.tasks.values())

    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:

        def tick(done: int, every: int) -> None:
            if done < every:
                return
            with distributed.Client(cluster) as client:
                # The scheduler hears of it a little later.
                for _ in range(100):
                    kept.append(client.run_on_scheduler(kept_by_workers))
                    if kept[-1] <= 1:
                        return
                    time.sleep(0.1)

        shared = run_study(plan, tmp_path / "shared", cluster=cluster.scheduler_address, tick=tick)
    assert shared.runs > 4
    assert kept[-1] <= 1


def test_what_is_known_goes_to_no_worker(small_study: Path, tmp_path: Path) -> None:
    plan = load_study(small_study)
    run_study(plan, tmp_path / "r")
    again = run_study(plan, tmp_path / "r", cluster="local", jobs=1)
    assert again.reused == again.runs


def test_a_worker_of_another_build_runs_nothing(small_study: Path) -> None:
    job = jobs_of(load_study(small_study))[0]
    order = Order("another build", {job.key: job}, {job.case.id: ()}, "", False)
    answer = fulfil(order)
    assert answer.refused is not None
    assert not answer.kept
    assert len(fulfil(replace(order, engine=answer.refused)).kept) == 1
    with pytest.raises(InputError, match="another build"):
        raise _refusal(["tcp://10.0.0.1:1234 (0)"])
