"""The child process of a real-time run: `python -m lasthop.real_time.process EXCHANGE`.

A process can enter a user namespace only while it has one thread, so this one loads no library that starts threads
until the run is over. The namespaces end with the process, however it ends. The folder EXCHANGE has the request
(`request.json`); the result goes to the folder that the request names, an error to `error.json`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lasthop import _native
from lasthop.errors import LasthopError
from lasthop.real_time.watching import watched_run
from lasthop.results.run import write_files
from lasthop.scenario import Scenario, in_memory

PREFIX = "lasthop-live-"
"""Prefix of temporary folders; the number of the process that made them follows."""


def main(exchange: Path) -> int:
    """Run the request in `exchange`; return the exit status."""
    request = json.loads((exchange / "request.json").read_text())
    return carry_out(exchange, request, lambda: _live(request))


def carry_out(exchange: Path, request: dict[str, Any], action: Callable[[], None]) -> int:
    """Run an action for a request, and write its error into `exchange`; return the exit status."""
    try:
        action()
    except LasthopError as error:
        (exchange / "error.json").write_text(json.dumps(described(error)))
        return 1
    except _Orphaned:
        _remove(exchange, *([Path(request["folder"])] if request["folder"] else []))
        return 1
    except KeyboardInterrupt:
        return 1
    return 0


def _live(request: dict[str, Any]) -> None:
    run = run_request(request, tuple(request["streams"]), stop_when_orphaned(request["parent"]))
    write_result(run, request)


def run_request(
    request: dict[str, Any], streams: tuple[int, int], progress: Callable[[float], None] | None
) -> _native.Run:
    """Run a request. `streams` are the control connection to parts on other machines, (-1, -1) if there are none."""
    folder = Path(request["folder"])
    programs = [(host, words, str(folder / output)) for host, words, output in request["programs"]]
    machines = [(name, address, port, hosts) for name, address, port, hosts in request["machines"]]
    output = str(folder / request["output"]) if request["output"] else ""
    command = (request["command"], output)
    watched = watched_run(request.get("watched"))
    return _native.live(request["scenario"], command, programs, progress, machines, streams, watched)


def _remove(*folders: Path) -> None:
    """Remove folders that the parent, which was killed, cannot remove."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


class _Orphaned(Exception):  # noqa: N818 - no error of this process: its parent is gone
    """The parent process is gone, so the run must end."""


def stop_when_orphaned(parent: int) -> Any:
    """Return a progress callback that ends the run if its parent process was killed."""

    def check_parent(_seconds: float) -> None:
        if os.getppid() != parent:
            raise _Orphaned

    return check_parent


def described(error: LasthopError) -> dict[str, Any]:
    """Return an error as a JSON object, for another process to raise."""
    return {"class": type(error).__name__, "arguments": list(error.args), "keywords": vars(error)}


def write_result(run: _native.Run, request: dict[str, Any]) -> None:
    """Write the result into the folder of the request."""
    scenario = Scenario(**request["identity"], json=request["scenario"])
    write_files(in_memory(run, scenario), Path(request["folder"]))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
