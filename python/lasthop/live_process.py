"""The child that a real-time run lives in: `python -m lasthop.live_process EXCHANGE`.

A process can move into a user namespace only while it has one thread, so this one loads nothing but the engine until
the run is over, and whatever ends the process takes the namespaces with it. The folder EXCHANGE holds the request
(`request.json`); the result goes to the folder that the request names, or what went wrong to `error.json`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasthop import _native
from lasthop.errors import LasthopError

if TYPE_CHECKING:
    from lasthop._native import Run


def main(exchange: Path) -> int:
    """Carry out the request in `exchange`; return the exit status."""
    request = json.loads((exchange / "request.json").read_text())
    try:
        programs = [(host, words, output) for host, words, output in request["programs"]]
        run = _native.live(request["scenario"], request["command"], programs, _stop_when_orphaned(request["parent"]))
    except LasthopError as error:
        (exchange / "error.json").write_text(json.dumps(_described(error)))
        return 1
    except _Orphaned:
        _remove(exchange, Path(request["folder"]))
        return 1
    except KeyboardInterrupt:
        return 1
    _write(run, request)
    return 0


def _remove(*folders: Path) -> None:
    """Remove what the parent, which was killed, cannot remove any more."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


class _Orphaned(Exception):  # noqa: N818 - no error of this process: its parent is gone
    """Raised inside the run when nobody waits for it any more."""


def _stop_when_orphaned(parent: int) -> Any:
    """Return a progress callback that ends the run when its parent process was killed."""

    def check_parent(_seconds: float) -> None:
        if os.getppid() != parent:
            raise _Orphaned

    return check_parent


def _described(error: LasthopError) -> dict[str, Any]:
    return {"class": type(error).__name__, "arguments": list(error.args), "keywords": vars(error)}


def _write(run: Run, request: dict[str, Any]) -> None:
    # Only now: Arrow starts threads.
    from lasthop.results.run import write_files
    from lasthop.scenario import Scenario, in_memory

    scenario = Scenario(**request["identity"], json=request["scenario"])
    write_files(in_memory(run, scenario), Path(request["folder"]))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
