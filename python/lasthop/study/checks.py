"""Named checks: functions that a study file may name as a metric's or a claim's `check`.

A metric's check is given a run with the tables that the metric asks for, and returns a number; those here are open to
every study. A study may add its own, of both sorts, in a file `checks.py` beside its study.toml: any function there
that is imported from nowhere else. That file is code of whoever wrote the study, and runs with the rights of whoever
runs it.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lasthop.errors import InputError
from lasthop.results.run import Run

Times = npt.NDArray[np.int64]
Check = Callable[..., Any]


def drops_slowstart(run: Run) -> int:
    """Packets that overflowed a queue before the sender had resent anything: the overshoot of slow start."""
    return _drops_before_and_after(run.tables["packets"])[0]


def drops_congavoid(run: Run) -> int:
    """Packets that overflowed a queue later."""
    return _drops_before_and_after(run.tables["packets"])[1]


def pipe_capacity_pkts(run: Run) -> int:
    """The most packets that any direction of a link held at one time, queue and buffers together."""
    packets = run.tables["packets"]
    taken = packets.filter(pc.not_equal(packets["fate"], "queue_drop"))
    places = pc.binary_join_element_wise(taken["link"].cast(pa.string()), taken["direction"].cast(pa.string()), " ")
    most = 0
    for place in pc.unique(places).to_pylist():
        inside = taken.filter(pc.equal(places, place))
        most = max(most, _most_at_once(_times(inside["entered_ns"]), _times(inside["delivered_ns"].drop_null())))
    return most


def find_check(name: str, own: Mapping[str, Check]) -> Check:
    """Return the check of that name: the study's own, or one of those here. Raises InputError where there is none."""
    check = own.get(name) or _SHARED.get(name)
    if check is None:
        known = ", ".join(sorted({*own, *_SHARED}))
        raise InputError(f"no check is called {name!r}", help=f"the checks are {known}")
    return check


def load_checks(folder: Path) -> dict[str, Check]:
    """Load the checks that a study brings along; none where it has no checks.py."""
    path = folder / "checks.py"
    if not path.is_file():
        return {}
    spec = importlib.util.spec_from_file_location(f"lasthop_study_{folder.name}", path)
    if spec is None or spec.loader is None:
        raise InputError("cannot be loaded as Python", file=str(path))
    module = importlib.util.module_from_spec(spec)
    # Dataclasses of the file look their module up by name.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(error.msg, file=str(path), line=error.lineno) from error
    own = inspect.getmembers(module, lambda value: inspect.isfunction(value) and value.__module__ == spec.name)
    return {name: function for name, function in own if not name.startswith("_")}


def checks_key(names: Collection[str], folder: Path) -> str:
    """Return what tells these checks of a study from others, or from themselves before they were edited."""
    own = folder / "checks.py"
    source = own.read_text() if own.is_file() else ""
    return "\n".join([*sorted(names), source]) if names else ""


def _drops_before_and_after(packets: pa.Table) -> tuple[int, int]:
    dropped = packets.filter(pc.equal(packets["fate"], "queue_drop"))
    first_resent = pc.min(packets.filter(packets["retransmission"])["entered_ns"]).as_py()
    if first_resent is None:
        return dropped.num_rows, 0
    before = int(np.sum(_times(dropped["entered_ns"]) < first_resent))
    return before, dropped.num_rows - before


def _most_at_once(entered: Times, left: Times) -> int:
    times = np.concatenate([left, entered])
    steps = np.concatenate([np.full(len(left), -1), np.ones(len(entered), dtype=np.int64)])
    # Stable: at one instant a packet leaves before another takes its place.
    order = np.argsort(times, kind="stable")
    return int(np.max(np.cumsum(steps[order]), initial=0))


def _times(column: pa.ChunkedArray) -> Times:
    times: Times = column.to_numpy().astype(np.int64)
    return times


_SHARED: dict[str, Check] = {
    "drops_slowstart": drops_slowstart,
    "drops_congavoid": drops_congavoid,
    "pipe_capacity_pkts": pipe_capacity_pkts,
}
