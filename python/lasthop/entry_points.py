"""Functions of an upper layer that a lower layer offers as methods, by name.

`Run.plot` and `Sweep.write` draw pictures, and pictures are made of runs and sweeps: if `results` imported `plots`,
each would import the other. A method asks for its function here, and the module is imported at the first call.
tests/test_layers.py checks that every entry names a function.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, Literal

Name = Literal["draw", "save-sweep"]

ENTRY_POINTS: Final[dict[Name, str]] = {
    "draw": "lasthop.plots.registry:draw_from_keywords",
    "save-sweep": "lasthop.plots.sweep:save_sweep",
}
"""Module and function of each name."""


def entry_point(name: Name) -> Callable[..., Any]:
    """Import the module of an entry point and return its function."""
    module, _, function = ENTRY_POINTS[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
