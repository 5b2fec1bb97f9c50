"""Congestion-control modules of Linux, in C: compiled by the engine."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from os import PathLike, fspath
from typing import Any

from lasthop import _native


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a module: its name, its default as text, and the words of MODULE_PARM_DESC."""

    name: str
    value: str
    text: str


@dataclass(frozen=True, slots=True)
class State:
    """The struct of a module's own state (`icsk_ca_priv`), and the variables in it that are recorded."""

    struct: str
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Module:
    """A compiled module: the name that it registers, its parameters, and the bytes of the plug-in."""

    name: str
    parameters: tuple[Parameter, ...]
    governs_recovery: bool
    """Whether it has cong_control, and so sets the window in recovery too."""
    plugin: bytes
    state: State | None = None
    """Its own state, where debug information names it."""

    def to_json(self) -> dict[str, Any]:
        """Return the module, without its bytes, as a JSON object."""
        parameters = [asdict(known) for known in self.parameters]
        state = None if self.state is None else asdict(self.state)
        described = {"name": self.name, "cong_control": self.governs_recovery}
        return {**described, "parameters": parameters, "state": state}


def build_module(file: str | PathLike[str]) -> Module:
    """Compile the module in `file` and load it once.

    Raises InputError with file and line where the compiler refuses it, where there is no compiler, where the module
    registers nothing, and on systems that are no Unix.
    """
    plugin, text = _native.build_module(fspath(file))
    described = json.loads(text)
    parameters = tuple(Parameter(**known) for known in described["parameters"])
    found = described["state"]
    state = None if found is None else State(found["struct"], tuple(found["variables"]))
    return Module(described["name"], parameters, described["cong_control"], plugin, state)
