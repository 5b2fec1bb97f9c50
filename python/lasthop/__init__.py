"""A laboratory for TCP over difficult last hops.

>>> import lasthop
>>> run = lasthop.run("quickstart")
>>> run.flows.to_pandas()["completed"].all()
np.True_

Some imports are late, to save start-up time: a small run takes 0.1 s, and loading NumPy, pyarrow, Matplotlib or Rich
takes 0.05 s to 0.4 s more. The names of this module are imported at their first use, a command imports what it runs,
and functions import the libraries that they need. The child of a real-time run must also have a single thread when it
starts, and the first two libraries start threads. All other imports are at the head of their file and lead down the
layers in tests/test_layers.py.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lasthop import errors
    from lasthop._native import __version__
    from lasthop.analysis import analyze
    from lasthop.errors import InputError, LasthopError, LiveError, OracleError, RunError, StudyError
    from lasthop.exchange import export
    from lasthop.experiments.comparison import compare
    from lasthop.experiments.sweeps import Sweep, sweep
    from lasthop.explanation import explain
    from lasthop.real_time.live import live
    from lasthop.real_time.live_async import live_async
    from lasthop.results import Run, RunResult, open_run, write_run
    from lasthop.scenario import Scenario, load_scenario, parse_scenario, run, run_to_folder
    from lasthop.study import Study, StudyResult, load_study, open_study, run_study

_HOME = {
    "InputError": "lasthop.errors",
    "LasthopError": "lasthop.errors",
    "LiveError": "lasthop.errors",
    "OracleError": "lasthop.errors",
    "Run": "lasthop.results",
    "RunError": "lasthop.errors",
    "RunResult": "lasthop.results",
    "Scenario": "lasthop.scenario",
    "Study": "lasthop.study",
    "Sweep": "lasthop.experiments.sweeps",
    "StudyError": "lasthop.errors",
    "StudyResult": "lasthop.study",
    "__version__": "lasthop._native",
    "analyze": "lasthop.analysis",
    "compare": "lasthop.experiments.comparison",
    "explain": "lasthop.explanation",
    "export": "lasthop.exchange",
    "live": "lasthop.real_time.live",
    "live_async": "lasthop.real_time.live_async",
    "load_scenario": "lasthop.scenario",
    "load_study": "lasthop.study",
    "open_run": "lasthop.results",
    "open_study": "lasthop.study",
    "parse_scenario": "lasthop.scenario",
    "run": "lasthop.scenario",
    "run_study": "lasthop.study",
    "run_to_folder": "lasthop.scenario",
    "sweep": "lasthop.experiments.sweeps",
    "write_run": "lasthop.results",
}

__all__ = [
    "InputError",
    "LasthopError",
    "LiveError",
    "OracleError",
    "Run",
    "RunError",
    "RunResult",
    "Scenario",
    "Study",
    "StudyError",
    "StudyResult",
    "Sweep",
    "__version__",
    "analyze",
    "compare",
    "errors",
    "explain",
    "export",
    "live",
    "live_async",
    "load_scenario",
    "load_study",
    "open_run",
    "open_study",
    "parse_scenario",
    "run",
    "run_study",
    "run_to_folder",
    "sweep",
    "write_run",
]


def __getattr__(name: str) -> object:
    if name == "errors":
        return import_module("lasthop.errors")
    if name not in _HOME:
        raise AttributeError(f"module 'lasthop' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
