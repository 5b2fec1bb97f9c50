"""Scenario files, read and resolved: names looked up, defaults written out, values checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from typing import Any

from lasthop import _native, catalogue
from lasthop.errors import InputError
from lasthop.scenario.given import Overrides, check_seed, naming_overrides, override_texts, toml_key, toml_value


@dataclass(frozen=True)
class Scenario:
    """A resolved scenario: a pure value. Two scenarios with the same `hash` give the same run.

    `json` is the specification as the engine reads it. `source` and `overrides` are its origin, for messages; `text` is
    the TOML that it was parsed from, or None for a scenario read from a file.
    """

    name: str
    seed: int
    hash: str
    json: str = field(repr=False)
    source: str = field(default="", compare=False)
    overrides: tuple[str, ...] = field(default=(), compare=False)
    text: str | None = field(default=None, compare=False, repr=False)

    @cached_property
    def specification(self) -> Mapping[str, Any]:
        """The scenario as a mapping, with every default written out."""
        specification: Mapping[str, Any] = json.loads(self.json)
        return specification


Given = Scenario | str | PathLike[str] | Mapping[str, Any]
"""A resolved scenario, a path or a name of the library, TOML text (of several lines), or a mapping."""


def load_scenario(
    source: str | PathLike[str], *, overrides: Overrides = (), seed: int | None = None, allow_code: bool = False
) -> Scenario:
    """Read a scenario by path or by name, apply overrides and the seed, and resolve it.

    With `allow_code` the file and its profiles may bring programs, which run with the caller's rights; one that an
    override names needs no consent. Raises InputError with file, line, key and the remedy.

    >>> import lasthop
    >>> lasthop.load_scenario("quickstart", overrides={"flows.download.bytes": "500 kB"}, seed=7)
    Scenario(name='quickstart', seed=7, hash='...', source='quickstart', overrides=('flows.download.bytes="500 kB"',))
    """
    applied = override_texts(overrides)
    with naming_overrides(overrides):
        loaded = _native.load_scenario(fspath(source), str(catalogue.LIBRARY), applied, check_seed(seed), allow_code)
    return Scenario(loaded.name, loaded.seed, loaded.hash, loaded.json, fspath(source), applied)


def parse_scenario(
    given: str | Mapping[str, Any],
    *,
    overrides: Overrides = (),
    seed: int | None = None,
    source: str = "scenario",
    allow_code: bool = False,
) -> Scenario:
    """Read a scenario from TOML text, or from a mapping with the same keys, and resolve it.

    `source` is the file name used in messages; relative paths in the scenario start at its folder. `allow_code`
    is that of `load_scenario`. Raises InputError with line, key and the remedy.

    >>> import lasthop
    >>> link = {"name": "lasthop", "between": ["server", "phone"], "preset": "lte", "up": {}, "down": {}}
    >>> hosts = {"server": {"profile": "cubic"}, "phone": {"profile": "cubic"}}
    >>> flow = {"name": "download", "from": "server", "to": "phone", "bytes": "1 MB"}
    >>> lasthop.parse_scenario({"name": "mine", "hosts": hosts, "links": [link], "flows": [flow]}).name
    'mine'
    """
    applied = override_texts(overrides)
    text = given if isinstance(given, str) else "".join(_line(key, value) for key, value in given.items())
    with naming_overrides(overrides):
        library = str(catalogue.LIBRARY)
        loaded = _native.parse_scenario(text, source, library, applied, check_seed(seed), allow_code)
    return Scenario(loaded.name, loaded.seed, loaded.hash, loaded.json, source, applied, text)


def scenario_of(
    given: Given, *, overrides: Overrides = (), seed: int | None = None, allow_code: bool = False
) -> Scenario:
    """Return a resolved scenario unchanged; read anything else, applying `overrides` and `seed`.

    `allow_code` is that of `load_scenario`.

    Raises InputError with file, line, key and the remedy; also for overrides or a seed given with a resolved scenario,
    which could have no effect.
    """
    if isinstance(given, Scenario):
        if override_texts(overrides) or seed is not None:
            help = "give the path, the name, the text or the mapping that it was read from"
            raise InputError("a resolved scenario takes no overrides and no seed", help=help)
        return given
    if isinstance(given, Mapping) or (isinstance(given, str) and "\n" in given):
        return parse_scenario(given, overrides=overrides, seed=seed, allow_code=allow_code)
    if not isinstance(given, str | PathLike):
        help = "give a path, a name, TOML text or a mapping"
        raise InputError(f"the scenario is {given!r}, of the type {type(given).__name__}", key="scenario", help=help)
    return load_scenario(given, overrides=overrides, seed=seed, allow_code=allow_code)


def _line(key: object, value: object) -> str:
    return f"{toml_key(key)} = {toml_value(value)}\n"
