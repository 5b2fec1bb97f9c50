"""Runs side by side in threads (the engine releases the interpreter lock), which end soon when one of them must."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event


class _Stopped(Exception):  # noqa: N818 - no error: another run has failed, or the user pressed Ctrl-C
    """Raised inside a run to end it."""


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def run_pool(workers: int, stop: Event) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool whose runs end soon after an exception (Ctrl-C above all) leaves the block: those that `heed` it."""
    with ThreadPoolExecutor(workers, thread_name_prefix="run") as pool:
        try:
            yield pool
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def heed(stop: Event) -> None:
    """End the run that calls this once `stop` is set; for a run's progress callback."""
    if stop.is_set():
        raise _Stopped
