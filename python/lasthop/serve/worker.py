"""The process of one job: `python -m lasthop.serve.worker BOUNDS`, with the job as JSON on standard input.

It writes one JSON object a line: `progress` while it works, `row` for a case of a sweep, `state` ten times a second of
a run in real time, and at the end `done` or `error`. The server ends it with SIGTERM. Its memory and the files that it
writes are bounded by the kernel, where it can.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from lasthop.analysis import analyze_selection, analyze_to_folder, remarks
from lasthop.congestion.program import refuse_all
from lasthop.errors import InputError, LasthopError
from lasthop.experiments.cases import chosen, run_case
from lasthop.experiments.sweeps import Case, axis_of, sweep
from lasthop.joining import join, joined_to_folder, views_of
from lasthop.real_time.live import live_result
from lasthop.real_time.machines import placement_of
from lasthop.real_time.watching import Watched
from lasthop.scenario import parse_scenario, run_to_folder
from lasthop.selection import select
from lasthop.study import load_parts, run_parts
from lasthop.system import bound_this_process, yield_to_others

EVERY_S: Final = 0.1
"""Shortest time between two words of progress."""


ORDER: Final = ("name", "text", "replications", "seed", "overrides")
"""Keys of a sweep's order that its journal keeps, so that the page can continue it."""


def main() -> None:
    """Do the job on standard input, and write its progress."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    memory, largest_file = (int(bound) for bound in sys.argv[1:3])
    bound_this_process(memory, largest_file)
    yield_to_others()
    refuse_all("lasthop serve")
    job = json.load(sys.stdin)
    try:
        done = _KINDS[job["kind"]](job)
    except LasthopError as error:
        _write("error", message=str(error), help=getattr(error, "help", None))
    except MemoryError:
        _write("error", message="out of memory", help="record fewer tables, or lower the limits of queues")
    except OSError as error:
        _write("error", message=str(error), help="look at the space on the disk, and at the rights of the folder")
    else:
        _write("done", **done)


def _run(job: Mapping[str, Any]) -> dict[str, Any]:
    folder = Path(job["folder"])
    scenario = parse_scenario(job["text"], overrides=job["overrides"], seed=job["seed"], source=job["source"])
    result = run_to_folder(scenario, folder, progress=_paced(lambda at: _write("progress", seconds=at)))
    return {"result": folder.name, "summary": dict(result.summary)}


def _live(job: Mapping[str, Any]) -> dict[str, Any]:
    folder = Path(job["folder"])
    scenario = parse_scenario(job["text"], overrides=job["overrides"], seed=job["seed"], source=job["source"])
    if not placement_of(scenario).is_here:
        raise InputError("the page runs nothing on other machines", help="use `lasthop live`, or leave out `at`")
    watched = Watched(
        name=job["run_name"],
        source=job["source"],
        text=job["text"],
        overrides=job["overrides"],
        seed=job["seed"],
        show=lambda state: _write("state", state=state),
    )
    with live_result(scenario, out=folder, quiet_output=True, watched=watched) as result:
        return {"result": folder.name, "summary": dict(result.summary)}


def _sweep(job: Mapping[str, Any]) -> dict[str, Any]:
    folder = Path(job["folder"])
    found = sweep(
        job["text"],
        [axis_of(axis["key"], axis["values"]) for axis in job["axes"]],
        replications=job["replications"],
        seed=job["seed"],
        overrides=job["overrides"],
        ended=lambda case: _write("row", row=row_of(case)),
        tick=lambda done, of: _write("progress", done=done, of=of),
        folder=folder,
        order={key: job[key] for key in ORDER},
    )
    found.write(folder)
    return {"result": folder.name}


def _analyze(job: Mapping[str, Any]) -> dict[str, Any]:
    folder = Path(job["folder"])
    result = analyze_to_folder(Path(job["capture"]), folder)
    return {"result": folder.name, "remarks": list(remarks(result.specification["report"]))}


def _join(job: Mapping[str, Any]) -> dict[str, Any]:
    """Join captures of both ends of connections."""
    folder = Path(job["folder"])
    found = [analyze_selection(select([capture])) for capture in job["captures"]]
    joined_to_folder(found, join([view for one in found for view in views_of(one.chosen)]), folder)
    return {"result": folder.name}


def _study(job: Mapping[str, Any]) -> dict[str, Any]:
    folder = Path(job["folder"])
    parts = load_parts(job["study"], job["only"])
    if job["replications"] is not None:
        parts = [part.replicated(job["replications"]) for part in parts]
    result = run_parts(
        parts, folder, tick=lambda done, of: _write("progress", done=done, of=of), cluster=job["cluster"]
    )
    return {"result": folder.name, "remarks": [f"{case} failed: {why}" for case, why in result.failures.items()]}


def _case(job: Mapping[str, Any]) -> dict[str, Any]:
    folder = Path(job["folder"])
    result = run_case(folder, chosen(folder, job["case"]))
    return {"result": str(result.relative_to(job["root"]))}


def row_of(case: Case) -> dict[str, Any]:
    """Return a case of a sweep as the page shows it: its values, and each measure's mean with its interval."""
    measures = {}
    for name, found in case.measures.items():
        low, high = found.mean_ci95 or (None, None)
        measures[name] = {"mean": found.mean, "low": low, "high": high}
    return {"values": list(case.values), "runs": len(case.seeds), "measures": measures}


def _paced(send: Callable[[float], None]) -> Callable[[float], None]:
    """Return `send`, called at most ten times a second."""
    last = -EVERY_S

    def paced(at: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY_S:
            last = now
            send(at)

    return paced


def _write(event: str, **more: object) -> None:
    sys.stdout.write(json.dumps({"event": event, **more}, allow_nan=False) + "\n")
    sys.stdout.flush()


_KINDS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "run": _run,
    "live": _live,
    "sweep": _sweep,
    "analyze": _analyze,
    "join": _join,
    "study": _study,
    "case": _case,
}

if __name__ == "__main__":
    main()
