"""Runs of a scenario between real kernels, each in a child process (see `process`)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike
from pathlib import Path
from typing import Any, Final, overload

from lasthop import _native, catalogue, errors
from lasthop.errors import InputError, LiveError
from lasthop.real_time.control import Remotes, remotes
from lasthop.real_time.kernel_keys import with_kernel_settings
from lasthop.real_time.kernel_settings import check_overrides, check_settings
from lasthop.real_time.machines import Placement, placement_of
from lasthop.real_time.process import PREFIX
from lasthop.real_time.watching import Watched
from lasthop.results.folder import whole_folder
from lasthop.results.run import Run, RunResult, open_run
from lasthop.scenario import Given, Overrides, Scenario, scenario_of
from lasthop.system import has_real_time

Program = tuple[str, Sequence[str]]
"""The name of a host, and a program with its arguments."""

COMMAND_OUTPUT = "output-command.txt"
"""File of the command's output in the result's folder."""

GRACE_S = 2.0
"""Time that a stopped run has to end before it is terminated, in seconds."""


@contextmanager
def live_result(
    scenario: Scenario,
    *,
    command: Sequence[str] = (),
    programs: Sequence[Program] = (),
    out: Path | None = None,
    quiet_output: bool = False,
    watched: Watched | None = None,
) -> Iterator[RunResult]:
    """Run a scenario in real time and yield its result; without `out` the result is removed after the block.

    `command` runs instead of the scenario's flows, in the first host without another program; with `quiet_output` its
    standard output goes to standard error, and with `out` it is kept there in `output-command.txt`. `programs` run in
    their hosts until the run is over; their output is kept in the result's folder, in `output-HOST-N.txt`. A run
    that is `watched` reports its state, and `lasthop set` changes its links. Raises InputError if the scenario names a
    congestion control or setting that this kernel does not have, and LiveError, with the remedy, if this machine does
    not allow real time.
    """
    if not has_real_time():
        raise LiveError(f"runs in real time need Linux; this system is {sys.platform}")
    check_overrides(scenario)
    scenario = with_kernel_settings(scenario)
    if placement_of(scenario).is_here:
        check_settings(scenario)
    _check_hosts(scenario, programs)
    remove_left_folders()
    if out is None:
        with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as folder:
            _run_child(scenario, command, programs, Path(folder), None, quiet_output, watched)
            yield open_run(Path(folder))
    else:
        with whole_folder(out) as folder:
            _run_child(scenario, command, programs, folder, COMMAND_OUTPUT, quiet_output, watched)
        yield open_run(out)


STARTED: Final[ContextVar[Callable[[subprocess.Popen[bytes]], None]]] = ContextVar("STARTED", default=lambda _: None)
"""Called with each child process that starts; a caller that may have to stop the run from another thread sets it."""


@overload
def live(given: Given, folder: None = None, *, overrides: Overrides = (), seed: int | None = None) -> Run: ...


@overload
def live(
    given: Given, folder: str | PathLike[str], *, overrides: Overrides = (), seed: int | None = None
) -> RunResult: ...


def live(
    given: Given, folder: str | PathLike[str] | None = None, *, overrides: Overrides = (), seed: int | None = None
) -> Run | RunResult:
    """Run a scenario in real time, between real kernels. `given` is what `lasthop.run` takes.

    Returns the run in memory or, with `folder`, the result that is written there. Raises InputError if the scenario is
    wrong, or the folder exists and is not an earlier result, and LiveError if this machine does not allow real time.

    >>> import lasthop
    >>> lasthop.live("quickstart").summary["clock"]  # doctest: +SKIP
    'real'
    """
    scenario = scenario_of(given, overrides=overrides, seed=seed)
    with live_result(scenario, out=None if folder is None else Path(folder), quiet_output=True) as result:
        return result if folder is not None else _in_memory(result)


def _in_memory(result: RunResult) -> Run:
    return Run(
        specification=result.specification,
        hash=str(result.index["hash"]),
        summary=result.summary,
        tables={name: result.table(name) for name in result.table_names},
        captures={point: path.read_bytes() for point, path in result.captures.items()},
    )


def _run_child(
    scenario: Scenario,
    command: Sequence[str],
    programs: Sequence[Program],
    folder: Path,
    output: str | None,
    quiet_output: bool,
    watched: Watched | None,
) -> None:
    """Run the scenario in a child, which writes its result into `folder`, and in parts on the other machines."""
    placement = placement_of(scenario)
    request: dict[str, Any] = {
        "scenario": scenario.json,
        "identity": {"name": scenario.name, "seed": scenario.seed, "hash": scenario.hash},
        "command": list(command),
        "programs": _with_outputs(programs),
        "output": output if command else None,
        "folder": str(folder.absolute()),
        "parent": os.getpid(),
        "streams": (-1, -1),
        "machines": [],
    }
    if not any(placement.machines):
        _run_here_watched(request, quiet_output, watched)
        return
    if watched is not None:
        raise InputError("a run on several machines has no name", key="--name", help="leave it out")
    with remotes(placement) as started:
        request["machines"] = placement.to_native()
        if placement.emulator is None:
            _run_between(started, request, quiet_output)
        elif error := started.run_there(request, folder):
            raise _at(placement, _rebuilt(error))


def _run_here_watched(request: dict[str, Any], quiet_output: bool, watched: Watched | None) -> None:
    """Run a request in a child, and follow its states if it is watched."""
    if watched is None:
        _run_here(request, quiet_output)
        return
    states, of_child = os.pipe()

    def follow() -> None:
        os.close(of_child)
        watched.follow(states)

    _run_here({**request, "watched": watched.to_json(of_child)}, quiet_output, (of_child,), follow)


def _run_between(started: Remotes, request: dict[str, Any], quiet_output: bool) -> None:
    """Run the emulator in a child here, and pass messages between it and the machines."""
    to_child, said_to_child = os.pipe()
    said_by_child, from_child = os.pipe()
    with os.fdopen(said_to_child, "wb") as output, os.fdopen(said_by_child, "rb") as input:
        request = {**request, "streams": (to_child, from_child)}

        def pass_on() -> None:
            os.close(to_child)
            os.close(from_child)
            started.run_here(output, input)

        _run_here(request, quiet_output, (to_child, from_child), pass_on)


def _at(placement: Placement, error: errors.LasthopError) -> errors.LasthopError:
    """Return an error of the emulator's machine with that machine's name in it."""
    if isinstance(error, LiveError) and placement.emulator and not str(error).startswith("ssh://"):
        return LiveError(f"{placement.emulator.text}: {error}")
    return error


def _run_here(
    request: dict[str, Any],
    quiet_output: bool,
    descriptors: tuple[int, ...] = (),
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Run a request in a child, which inherits some descriptors."""
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as exchange:
        (Path(exchange) / "request.json").write_text(json.dumps(request))
        run_child(
            Path(exchange),
            "lasthop.real_time.process",
            quiet_output=quiet_output,
            descriptors=descriptors,
            meanwhile=meanwhile,
        )


def run_child(
    exchange: Path,
    module: str,
    *,
    quiet_output: bool = False,
    descriptors: tuple[int, ...] = (),
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Run a module as a child process with the request in `exchange`. Raises the child's error."""
    status = _status_of_child(exchange, module, quiet_output, descriptors, meanwhile)
    if status != 0:
        _raise_for(status, exchange)


def remove_left_folders() -> list[Path]:
    """Remove the temporary folders of processes that were killed, and return them."""
    left = [path for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*") if not _maker_lives(path)]
    for path in left:
        shutil.rmtree(path, ignore_errors=True)
    return left


def _maker_lives(folder: Path) -> bool:
    process = folder.name.removeprefix(PREFIX).partition("-")[0]
    return not process.isdigit() or Path("/proc", process).exists()


def _check_hosts(scenario: Scenario, programs: Sequence[Program]) -> None:
    """Raise InputError if a host has DCCP, or if a program is for an unknown host, or is empty."""
    if any(host.get("stack") == "dccp" for host in scenario.specification["hosts"]):
        _native.check_real_time(scenario.source, scenario.text, str(catalogue.LIBRARY), scenario.overrides)
    hosts = [str(host["name"]) for host in scenario.specification["hosts"]]
    for host, words in programs:
        if host not in hosts:
            raise InputError(f"there is no host {host!r}", key="--in", help=f"the hosts are {', '.join(hosts)}")
        if not words:
            raise InputError(f"no program for host {host!r}", key="--in", help='--in HOST "PROGRAM ARGUMENT…"')


def _with_outputs(programs: Sequence[Program]) -> list[tuple[str, list[str], str]]:
    return [(host, list(words), f"output-{host}-{number}.txt") for number, (host, words) in enumerate(programs, 1)]


def _status_of_child(
    exchange: Path,
    module: str,
    quiet_output: bool,
    descriptors: tuple[int, ...],
    meanwhile: Callable[[], None] | None,
) -> int:
    child = subprocess.Popen(
        [sys.executable, "-m", module, str(exchange)],
        stdout=sys.stderr.fileno() if quiet_output else None,
        pass_fds=descriptors,
    )
    STARTED.get()(child)
    try:
        if meanwhile is not None:
            meanwhile()
        return child.wait()
    except KeyboardInterrupt:
        # After Ctrl-C in a terminal the child has got the signal, too, and ends; after a signal to this process alone
        # it has not. Its namespaces end with it in any case.
        _end(child)
        raise
    except LiveError:
        _end(child)
        raise


def _end(child: subprocess.Popen[bytes]) -> None:
    for stop in (child.terminate, child.kill):
        try:
            child.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            stop()
    child.wait()


def _raise_for(status: int, exchange: Path) -> None:
    described = exchange / "error.json"
    if described.is_file():
        error = json.loads(described.read_text())
        raise _rebuilt(error)
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    raise LiveError(f"the process of the real-time run {how}; nothing was written")


def _rebuilt(error: dict[str, Any]) -> errors.LasthopError:
    kind = getattr(errors, str(error["class"]))
    rebuilt: errors.LasthopError = kind(*error["arguments"])
    vars(rebuilt).update(error["keywords"])
    return rebuilt
