"""Jobs: runs, sweeps and analyses, each in a process of its own, which can be watched and cancelled.

What a job leaves are files: a result folder, whole or not at all. The list of jobs is of this server's life only.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from lasthop.errors import InputError
from lasthop.serve.broadcast import Broadcast
from lasthop.serve.settings import Limits

State = Literal["waiting", "running", "done", "failed", "cancelled"]

KEPT: Final = 200
"""Ended jobs that the list keeps."""

LINE: Final = 16 * 2**20
"""Longest line of a worker, in bytes: the summary of a run."""

STATES: Final = 600
"""States of a live run that are kept for clients which come later: a minute of them."""

GRACE_S: Final = 3.0
"""Time that a cancelled worker has to remove its partial folder."""


@dataclass
class Job:
    """One job, as the page shows it."""

    id: int
    kind: str
    title: str
    command: str
    """The equivalent command in the server's folder."""
    state: State = "waiting"
    progress: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    result: str | None = None
    error: dict[str, Any] | None = None
    run_name: str | None = None
    """Of a run in real time, the name by which `lasthop set` changes its links."""
    remarks: list[str] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether nothing about the job will change."""
        return self.state in ("done", "failed", "cancelled")

    def shown(self) -> dict[str, Any]:
        """Return the job as a JSON value."""
        return dict(vars(self))


class Jobs:
    """All jobs of a server. At most `limits.running` run at one time, in the order in which they came."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._jobs: dict[int, Job] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._states: dict[int, Broadcast] = {}
        self._turn = asyncio.Semaphore(limits.running)
        self._next = 1

    def submit(self, kind: str, title: str, command: str, order: Mapping[str, Any]) -> Job:
        """Start a job, or have it wait. Raises InputError if too many wait already."""
        if sum(not job.ended for job in self._jobs.values()) >= self._limits.running + self._limits.waiting:
            raise InputError("too many jobs wait already", help="wait until one has ended, or cancel one")
        job = Job(self._next, kind, title, command)
        self._next += 1
        job.run_name = order.get("run_name")
        self._jobs[job.id] = job
        if job.run_name is not None:
            self._states[job.id] = Broadcast(STATES)
        self._tasks[job.id] = asyncio.create_task(self._do(job, {**order, "kind": kind}))
        self._forget()
        return job

    def get(self, number: int) -> Job:
        """Return a job. Raises InputError if there is none of that number."""
        if number not in self._jobs:
            raise InputError(f"there is no job {number}", help="the server was started again, or it ended long ago")
        return self._jobs[number]

    def live(self, number: int) -> Job:
        """Return a job that runs in real time at present. Raises InputError if there is none of that number."""
        job = self.get(number)
        if job.run_name is None or job.state != "running":
            raise InputError(f"job {number} is no live run that is running", help="start one in real time")
        return job

    def states(self, number: int) -> Broadcast:
        """Return the states of a run in real time, each as JSON. Raises InputError if there are none."""
        self.get(number)
        if number not in self._states:
            raise InputError(f"job {number} is no live run", help="start one in real time")
        return self._states[number]

    def cancel(self, number: int) -> Job:
        """Stop a job, and remove its output."""
        job = self.get(number)
        if not job.ended:
            job.state = "cancelled"
            self._tasks[number].cancel()
        return job

    def all(self) -> list[dict[str, Any]]:
        """Return every job, the newest first, without the rows of sweeps."""
        return [{**job.shown(), "rows": []} for job in reversed(self._jobs.values())]

    async def watch(self, number: int, every_s: float = 0.1) -> AsyncIterator[dict[str, Any]]:
        """Yield a job whenever it changes, at most every `every_s` seconds, until it has ended."""
        job = self.get(number)
        last: dict[str, Any] | None = None
        while True:
            # Read first: a job that ends while its progress is sent is shown once more.
            ended, shown = job.ended, job.shown()
            if shown != last:
                last = json.loads(json.dumps(shown))
                yield shown
            if ended:
                return
            await asyncio.sleep(every_s)

    async def close(self) -> None:
        """Cancel every job and wait until its process has ended."""
        for number, job in self._jobs.items():
            if not job.ended:
                self.cancel(number)
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _do(self, job: Job, order: Mapping[str, Any]) -> None:
        try:
            async with self._turn:
                job.state = "running"
                async with asyncio.timeout(self._limits.job_s):
                    await self._work(job, order)
        except TimeoutError:
            help = f"a job of the page may take {self._limits.job_s:.0f} s; use the command for a longer one"
            job.state, job.error = "failed", {"message": "took too long", "help": help}
        except asyncio.CancelledError:
            job.state = "cancelled"
        except OSError as error:
            job.state, job.error = "failed", {"message": str(error), "help": None}
        finally:
            if job.id in self._states:
                self._states[job.id].close()

    async def _work(self, job: Job, order: Mapping[str, Any]) -> None:
        worker = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "lasthop.serve.worker"),
            *(str(self._limits.job_memory), str(self._limits.job_file)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LINE,
        )
        assert worker.stdin is not None
        assert worker.stdout is not None
        assert worker.stderr is not None
        complaints = asyncio.create_task(worker.stderr.read())
        try:
            worker.stdin.write(json.dumps(order).encode())
            worker.stdin.close()
            async for line in worker.stdout:
                self._take(job, json.loads(line))
            await worker.wait()
            if not job.ended:
                job.state, job.error = "failed", _ended_early(worker.returncode, await complaints)
        finally:
            complaints.cancel()
            await _stop(worker)

    def _forget(self) -> None:
        """Forget the oldest ended jobs."""
        ended = [number for number, job in self._jobs.items() if job.ended]
        for number in ended[: max(len(ended) - KEPT, 0)]:
            del self._jobs[number], self._tasks[number]
            self._states.pop(number, None)

    def _take(self, job: Job, event: dict[str, Any]) -> None:
        """Record a report of a worker."""
        if event["event"] == "state":
            self._states[job.id].send(json.dumps(event["state"]))
        else:
            _take(job, event)


def _take(job: Job, event: dict[str, Any]) -> None:
    """Record a report of a worker."""
    if job.ended:
        return
    match event.pop("event"):
        case "progress":
            job.progress = event
        case "row":
            job.rows.append(event["row"])
        case "done":
            job.state, job.result, job.remarks = "done", event["result"], event.get("remarks", [])
        case "error":
            job.state, job.error = "failed", event


async def _stop(worker: asyncio.subprocess.Process) -> None:
    """End a worker that still runs: by SIGTERM, which removes its partial folder, and then by SIGKILL."""
    if worker.returncode is not None:
        return
    worker.terminate()
    try:
        async with asyncio.timeout(GRACE_S):
            await worker.wait()
    except TimeoutError:
        worker.kill()
        await worker.wait()


def _ended_early(status: int | None, complaints: bytes) -> dict[str, Any]:
    last = complaints.decode(errors="replace").strip().rpartition("\n")[2]
    help = "it may have had too little memory or disk; try the command"
    return {"message": f"the process of the job ended early (status {status}): {last[:300]}", "help": help}
