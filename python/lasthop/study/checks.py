"""Named checks: functions that a study file may name as a metric's or a claim's `check`.

A metric's check is given a run with the tables that the metric asks for, and returns a number, or None where the run
has none; those of `queue_checks` and `recovery_check` are open to every study. A study may add its own, of both sorts,
in a file `checks.py` beside its study.toml: any function there that is imported from nowhere else. One called `figures`
draws what only the study knows, into the folder that it is given, and returns the files. That file is code of whoever
wrote the study, and runs with the rights of whoever runs it.
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
    """Return the check of that name: the study's own, or one that is open to all. Raises InputError for others."""
    if name in own:
        return own[name]
    # Imported here: it loads Arrow, which a study without checks does without.
    from lasthop.study.queue_checks import CHECKS
    from lasthop.study.recovery_check import time_to_recover_s

    common: dict[str, Check] = {**CHECKS, "time_to_recover_s": time_to_recover_s}
    check = common.get(name)
    if check is None:
        known = ", ".join(sorted({*own, *common}))
        raise InputError(f"no check is called {name!r}", help=f"the checks are {known}")
    return check


def load_checks(folder: Path) -> dict[str, Check]:
    """Load the checks that a study brings along; none where it has no checks.py."""
    path = folder / "checks.py"
    if not path.is_file():
        return {}
    spec = importlib.util.spec_from_file_location(_module_name(folder), path)
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


def own_figures(study: Path, folder: Path) -> list[Path]:
    """Draw what the checks of the study in that folder, which has been run, draw themselves; the files."""
    draw = getattr(sys.modules.get(_module_name(study)), "figures", None)
    return [] if draw is None else list(draw(folder))


def _module_name(folder: Path) -> str:
    return f"lasthop_study_{folder.name}"


def checks_key(names: Collection[str], folder: Path) -> str:
    """Return what tells these checks of a study from others, or from themselves before they were edited."""
    own = folder / "checks.py"
    source = own.read_text() if own.is_file() else ""
    return "\n".join([*sorted(names), source]) if names else ""
