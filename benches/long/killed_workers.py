"""A study on Dask workers that are killed at random, against the same study undisturbed: the bytes must be equal.

python benches/long/killed_workers.py --runs 1000000 --out target/long
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from samples import sampled

from lasthop.results.folder import STORE_FILE
from lasthop.study import load_study, run_study

STUDY: Final = """
title = "Loss and queues, for workers that die"
source = "this bench"
scenario = "./base.toml"
columns = ["table", "queue", "metric"]

[[variables.queue]]
form = "{packets}"
set = { "links.lasthop.down.queue.limit" = "{packets} packets" }

[metrics.elapsed_s]
says = "seconds until the last ACK"
flow = "elapsed_s"

[[tables]]
id = "1"
title = "elapsed time"
cases = [{ queue = [3, 7, 20, 50] }]
metrics = ["elapsed_s"]
"""

BASE: Final = """
name = "base"
hosts = { server = { profile = "newreno" }, mobile = { profile = "newreno" } }
flows = [{ name = "download", from = "server", to = "mobile", bytes = "30 kB" }]
[[links]]
name = "lasthop"
between = ["server", "mobile"]
down = { rate = "100 kbit/s", propagation = "50 ms", errors = { per = "packet", probability = 0.02, effect = "drop" } }
up = { rate = "100 kbit/s", propagation = "50 ms" }
"""


@contextmanager
def deaths(cluster: Any, every_s: float, draw: random.Random) -> Iterator[list[int]]:
    """Kill a worker of the cluster now and then, until the block ends; its nanny starts another one."""
    killed: list[int] = []
    over = threading.Event()

    def kill() -> None:
        while not over.wait(draw.expovariate(1 / every_s)):
            processes = [nanny.pid for nanny in list(cluster.workers.values()) if nanny.pid]
            with contextlib.suppress(ProcessLookupError, IndexError):
                victim = draw.choice(processes)
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def main() -> None:
    """Run the study twice, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--death-every", type=float, default=5.0, help="mean time between deaths, in seconds")
    parser.add_argument("--out", type=Path, default=Path("target/long"))
    given = parser.parse_args()
    folder = given.out / "killed"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "study").mkdir(parents=True)
    (folder / "study" / "study.toml").write_text(STUDY)
    (folder / "study" / "base.toml").write_text(BASE)
    plan = load_study(folder / "study").replicated(max(given.runs // 4, 1))
    alone = run_study(plan, folder / "alone")
    began = time.monotonic()
    cluster = import_module("distributed").LocalCluster(
        n_workers=given.workers, threads_per_worker=1, dashboard_address=None
    )
    dying = deaths(cluster, given.death_every, random.Random(1))
    with cluster, sampled(os.getpid(), every_s=0.2) as samples, dying as killed:
        shared = run_study(plan, folder / "shared", cluster=cluster.scheduler_address)
    elapsed = time.monotonic() - began
    tables = [(folder / name / "study.parquet").read_bytes() for name in ("alone", "shared")]
    stores = [sorted((folder / name / STORE_FILE).read_text().splitlines()) for name in ("alone", "shared")]
    equal = tables[0] == tables[1] and stores[0] == stores[1] and shared.runs == alone.runs
    samples.draw(given.out / "killed-workers.svg", f"{shared.runs} runs, {len(killed)} workers killed")
    print(f"{shared.runs} runs in {elapsed:.0f} s, {len(killed)} workers killed; {samples.words()}")
    print("the same bytes as undisturbed" if equal else "OTHER BYTES than undisturbed")
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
