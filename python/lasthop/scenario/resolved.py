"""Scenario files, read and resolved: names looked up, defaults written out, values checked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from lasthop import _native, catalogue


@dataclass(frozen=True)
class Scenario:
    """A resolved scenario: a pure value. Two scenarios with the same `hash` give the same run.

    `json` is the specification as the engine reads it. `source` and `overrides` are its origin, for messages; `text` is
    the TOML that it was parsed from, or None for a scenario read from a file.
    """

    name: str
    seed: int
    hash: str
    json: str
    source: str = field(default="", compare=False)
    overrides: tuple[str, ...] = field(default=(), compare=False)
    text: str | None = field(default=None, compare=False, repr=False)

    @cached_property
    def specification(self) -> Mapping[str, Any]:
        """The scenario as a mapping, with every default written out."""
        specification: Mapping[str, Any] = json.loads(self.json)
        return specification


Given = Scenario | str | Path | Mapping[str, Any]
"""A resolved scenario, a path or a name of the library, TOML text (of several lines), or a mapping."""


def load_scenario(source: str | Path, *, overrides: Iterable[str] = (), seed: int | None = None) -> Scenario:
    """Read a scenario by path or by name, apply `path=value` overrides and the seed, and resolve it.

    Raises InputError with file, line, key and the remedy.
    """
    applied = tuple(overrides)
    loaded = _native.load_scenario(str(source), str(catalogue.LIBRARY), applied, seed)
    return Scenario(loaded.name, loaded.seed, loaded.hash, loaded.json, str(source), applied)


def parse_scenario(
    given: str | Mapping[str, Any], *, overrides: Iterable[str] = (), seed: int | None = None, source: str = "scenario"
) -> Scenario:
    """Read a scenario from TOML text, or from a mapping with the same keys, and resolve it.

    `source` is the file name used in messages; relative paths in the scenario start at its folder. Raises InputError
    with line, key and the remedy.
    """
    applied = tuple(overrides)
    text = given if isinstance(given, str) else "".join(_line(key, value) for key, value in given.items())
    loaded = _native.parse_scenario(text, source, str(catalogue.LIBRARY), applied, seed)
    return Scenario(loaded.name, loaded.seed, loaded.hash, loaded.json, source, applied, text)


def scenario_of(given: Given, *, overrides: Iterable[str] = (), seed: int | None = None) -> Scenario:
    """Return a resolved scenario unchanged; read anything else, applying `overrides` and `seed`.

    Raises InputError with file, line, key and the remedy.
    """
    if isinstance(given, Scenario):
        return given
    if isinstance(given, Mapping) or (isinstance(given, str) and "\n" in given):
        return parse_scenario(given, overrides=overrides, seed=seed)
    return load_scenario(given, overrides=overrides, seed=seed)


def _line(key: object, value: object) -> str:
    return f"{_key(key)} = {_toml(value)}\n"


def _toml(value: object) -> str:
    """Return a value as TOML on one line. Strings, numbers and arrays are written as in JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(inner) for inner in value) + "]"
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)


def _key(key: object) -> str:
    return json.dumps(str(key), ensure_ascii=False)
