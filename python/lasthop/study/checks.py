"""Named checks: functions that a study file can name as a metric's or a claim's `check`.

A metric's check gets a run with the tables that the metric asks for, and returns a number, or None if the run has none.
Those of `queue_checks` and `recovery_check` are available to all studies; a metric of `transfers` is a check whose name
has its parameters. A study can have its own checks, of metrics and claims, in a file `checks.py` next to study.toml:
each function that is defined there. A function `figures` draws pictures of that study only, into the folder that it
gets, and returns the files. That file is code of the study's author, and runs with the rights of the user.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from lasthop.errors import InputError

Check = Callable[..., Any]


def find_check(name: str, own: Mapping[str, Check]) -> Check:
    """Return the check of that name, the study's own or a common one. Raises InputError if there is none."""
    if name in own:
        return own[name]
    # These load Arrow, which a study without checks does not need.
    from lasthop.study.queue_checks import CHECKS
    from lasthop.study.recovery_check import time_to_recover_s
    from lasthop.study.transfer_measure import PREFIX, TransferMeasure

    if name.startswith(PREFIX):
        return TransferMeasure.of(name)
    common: dict[str, Check] = {**CHECKS, "time_to_recover_s": time_to_recover_s}
    check = common.get(name)
    if check is None:
        known = ", ".join(sorted({*own, *common}))
        raise InputError(f"no check is called {name!r}", help=f"the checks are {known}")
    return check


def load_checks(folder: Path) -> dict[str, Check]:
    """Load the checks of a study; none if it has no checks.py. Raises InputError if that is not Python."""
    path = folder / "checks.py"
    if not path.is_file():
        return {}
    spec = importlib.util.spec_from_file_location(_module_name(folder), path)
    if spec is None or spec.loader is None:
        raise InputError("cannot be loaded as Python", file=str(path))
    module = importlib.util.module_from_spec(spec)
    # Dataclasses in the file look up their module by name.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(error.msg, file=str(path), line=error.lineno) from error
    own = inspect.getmembers(module, lambda value: inspect.isfunction(value) and value.__module__ == spec.name)
    return {name: function for name, function in own if not name.startswith("_")}


def own_figures(study: Path, folder: Path) -> list[Path]:
    """Draw the pictures of the study's own `figures` into a folder, after a run, and return the files."""
    draw = getattr(sys.modules.get(_module_name(study)), "figures", None)
    return [] if draw is None else list(draw(folder))


def _module_name(folder: Path) -> str:
    return f"lasthop_study_{folder.name}"


def checks_key(names: Collection[str], folder: Path) -> str:
    """Return a key of these checks, which changes with their names and with the source of the study's own."""
    own = folder / "checks.py"
    source = own.read_text("utf-8") if own.is_file() else ""
    return "\n".join([*sorted(names), source]) if names else ""
