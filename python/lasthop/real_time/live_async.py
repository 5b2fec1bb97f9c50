"""Real-time runs for programs with an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from os import PathLike

from lasthop.errors import LasthopError
from lasthop.real_time.live import STARTED, live
from lasthop.results.run import Run, RunResult
from lasthop.scenario import Given, Overrides


async def live_async(
    given: Given, folder: str | PathLike[str] | None = None, *, overrides: Overrides = (), seed: int | None = None
) -> Run | RunResult:
    """Run a scenario in real time without blocking the event loop. Arguments, result and errors are those of `live`.

    If the task is cancelled, the run is stopped, its namespaces end, and nothing is written.

    >>> import asyncio, lasthop
    >>> asyncio.run(lasthop.live_async("quickstart")).summary["clock"]  # doctest: +SKIP
    'real'
    """
    children = _Children()
    token = STARTED.set(children.add)
    try:
        running = asyncio.ensure_future(asyncio.to_thread(_live, given, folder, overrides, seed))
    finally:
        STARTED.reset(token)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        children.stop()
        with contextlib.suppress(LasthopError):
            await running
        raise


def _live(given: Given, folder: str | PathLike[str] | None, overrides: Overrides, seed: int | None) -> Run | RunResult:
    if folder is None:
        return live(given, overrides=overrides, seed=seed)
    return live(given, folder, overrides=overrides, seed=seed)


class _Children:
    """The processes of a run. After `stop`, a process that starts is ended at once."""

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[bytes]] = []
        self._stopped = False

    def add(self, child: subprocess.Popen[bytes]) -> None:
        self._started.append(child)
        if self._stopped:
            child.terminate()

    def stop(self) -> None:
        self._stopped = True
        for child in self._started:
            child.terminate()
