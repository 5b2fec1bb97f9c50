"""Real time: the same scenario between real kernels, run in a child process of its own (see `live_process`)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lasthop import errors
from lasthop.errors import LiveError
from lasthop.results.folder import check_target, place_folder
from lasthop.results.run import RunResult, open_run
from lasthop.scenario import Scenario


@contextmanager
def live(
    scenario: Scenario, *, command: Sequence[str] = (), out: Path | None = None, quiet_output: bool = False
) -> Iterator[RunResult]:
    """Run a scenario in real time and yield its result; without `out` the result is gone after the block.

    `command` is run in the first host instead of the scenario's flows. With `quiet_output` its standard output goes to
    standard error. Raises LiveError, with the remedy, where this machine does not allow it.
    """
    if out is not None:
        check_target(out)
        out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".lasthop-live-", dir=out.parent if out else None) as work:
        _run_child(scenario, command, Path(work), quiet_output)
        if out is None:
            yield open_run(Path(work) / "result")
        else:
            place_folder(Path(work) / "result", out)
            yield open_run(out)


def _run_child(scenario: Scenario, command: Sequence[str], work: Path, quiet_output: bool) -> None:
    request = {
        "scenario": scenario.json,
        "identity": {"name": scenario.name, "seed": scenario.seed, "hash": scenario.hash},
        "command": list(command),
    }
    (work / "request.json").write_text(json.dumps(request))
    child = subprocess.Popen(
        [sys.executable, "-m", "lasthop.live_process", str(work)],
        stdout=sys.stderr.fileno() if quiet_output else None,
    )
    try:
        status = child.wait()
    except KeyboardInterrupt:
        # The child got the same Ctrl-C; it takes its namespaces down before it ends.
        child.wait()
        raise
    if status != 0:
        _raise_for(status, work)


def _raise_for(status: int, work: Path) -> None:
    described = work / "error.json"
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
