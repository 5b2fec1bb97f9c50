"""A laboratory for TCP over difficult last hops.

>>> import lasthop
>>> run = lasthop.run("quickstart")
>>> run.summary["flows"][0]["elapsed_s"]  # doctest: +SKIP

Names are loaded when they are first used: a real-time run lives in a child that must stay single-threaded, and the
libraries behind results and studies start threads when they are imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lasthop import errors
    from lasthop._native import __version__
    from lasthop.analysis import analyze
    from lasthop.comparison import compare
    from lasthop.errors import InputError, LasthopError, LiveError, OracleError, RunError, StudyError
    from lasthop.exchange import export
    from lasthop.explanation import explain
    from lasthop.real_time import live
    from lasthop.results import Run, RunResult, open_run, write_run
    from lasthop.scenario import Scenario, load_scenario, parse_scenario, run, run_to_folder
    from lasthop.study import Study, StudyResult, load_study, open_study, run_study
    from lasthop.sweeps import Sweep, sweep

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
    "Sweep": "lasthop.sweeps",
    "StudyError": "lasthop.errors",
    "StudyResult": "lasthop.study",
    "__version__": "lasthop._native",
    "analyze": "lasthop.analysis",
    "compare": "lasthop.comparison",
    "explain": "lasthop.explanation",
    "export": "lasthop.exchange",
    "live": "lasthop.real_time",
    "load_scenario": "lasthop.scenario",
    "load_study": "lasthop.study",
    "open_run": "lasthop.results",
    "open_study": "lasthop.study",
    "parse_scenario": "lasthop.scenario",
    "run": "lasthop.scenario",
    "run_study": "lasthop.study",
    "run_to_folder": "lasthop.scenario",
    "sweep": "lasthop.sweeps",
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
