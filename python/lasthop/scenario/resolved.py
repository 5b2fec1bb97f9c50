"""Scenario files: read, resolved, and run in virtual time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from lasthop import _native, catalogue
from lasthop.results.folder import whole_folder
from lasthop.results.run import Run, RunResult, arrow_table, open_run, write_index

Progress = Callable[[float], None]
"""Told now and then how many seconds of the run have passed; what it raises stops the run."""

Record = Mapping[str, Sequence[str]]
"""What to record instead of what the file says: `tables` and `captures`, each a list of names."""

RECORD_NOTHING: Record = {"tables": [], "captures": []}


@dataclass(frozen=True)
class Scenario:
    """A resolved scenario: a pure value. Two with the same `hash` give the same run.

    `source` and `overrides` say whence it came, for messages; `text` is that of one that was not read from a file.
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
        """The scenario with every default written out."""
        specification: Mapping[str, Any] = json.loads(self.json)
        return specification


Given = Scenario | str | Path | Mapping[str, Any]
"""A scenario that is read already, a path or a name of the library, TOML text (of several lines), or a mapping."""


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
    """Read a scenario out of TOML text, or out of a mapping with the same keys, and resolve it.

    `source` is where messages say that it is, and where paths in it begin. Raises InputError with line, key and remedy.
    """
    applied = tuple(overrides)
    text = (
        given if isinstance(given, str) else "".join(f"{_key(key)} = {_toml(value)}\n" for key, value in given.items())
    )
    loaded = _native.parse_scenario(text, source, str(catalogue.LIBRARY), applied, seed)
    return Scenario(loaded.name, loaded.seed, loaded.hash, loaded.json, source, applied, text)


def scenario_of(given: Given, *, overrides: Iterable[str] = (), seed: int | None = None) -> Scenario:
    """Return the scenario that is meant: one that is read already, a path or a name, TOML text, or a mapping."""
    if isinstance(given, Scenario):
        return given
    if isinstance(given, Mapping) or (isinstance(given, str) and "\n" in given):
        return parse_scenario(given, overrides=overrides, seed=seed)
    return load_scenario(given, overrides=overrides, seed=seed)


def run(
    scenario: Given,
    *,
    overrides: Iterable[str] = (),
    seed: int | None = None,
    record: Record | None = None,
    progress: Progress | None = None,
) -> Run:
    """Run a scenario in virtual time. Other Python threads go on meanwhile; Ctrl-C stops it.

    `scenario` is what `load_scenario` returned, or what it takes: a path or a name, TOML text, or a mapping with the
    file's keys; to those, `overrides` and `seed` are applied. Raises InputError where it is wrong, and RunError where
    the run itself fails.
    """
    meant = scenario_of(scenario, overrides=overrides, seed=seed)
    check_virtual_time(meant)
    return in_memory(_native.run(meant.json, record, progress), meant)


def check_virtual_time(scenario: Scenario) -> None:
    """Raise InputError, with the place where it is written, if a host has the kernel's stack: it needs real time."""
    if any(host.get("stack") == "kernel" for host in scenario.specification["hosts"]):
        _native.check_virtual_time(scenario.source, scenario.text, str(catalogue.LIBRARY), scenario.overrides)


def _toml(value: object) -> str:
    """Return a value as TOML has it in one line. JSON's texts, numbers and lists are TOML's."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(inner) for inner in value) + "]"
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)


def _key(key: object) -> str:
    return json.dumps(str(key), ensure_ascii=False)


def summary_of(scenario: Scenario, *, progress: Progress | None = None) -> Mapping[str, Any]:
    """Run a scenario in virtual time and return its summary alone. Nothing that it records is kept."""
    check_virtual_time(scenario)
    summary: Mapping[str, Any] = json.loads(_native.summary(scenario.json, progress))
    return summary


def run_to_folder(scenario: Scenario, folder: Path, *, progress: Progress | None = None) -> RunResult:
    """Run a scenario in virtual time and write its result folder, whole or not at all.

    Tables and captures are written as the run goes on: a long run needs no more memory than a short one. Raises
    InputError where the folder exists and is not an earlier result, and RunError where the run itself fails.
    """
    check_virtual_time(scenario)
    with whole_folder(folder) as partial:
        finished = _native.run(scenario.json, None, progress, partial)
        write_index(partial, json.loads(finished.summary_json), scenario.hash, scenario.specification)
    return open_run(folder)


def link_trace(scenario: Scenario, link: str, seconds: float) -> str:
    """Return when a direction of a link ("lasthop.down") can send 1500 bytes, as a trace in Mahimahi's format.

    Raises InputError for a name that no direction has, and for one without a rate.
    """
    return _native.link_trace(scenario.json, link, seconds)


def in_memory(native: _native.Run, scenario: Scenario) -> Run:
    """Take over what the engine returned for `scenario`."""
    return Run(
        specification=scenario.specification,
        hash=scenario.hash,
        summary=json.loads(native.summary_json),
        tables={name: arrow_table(native.table(name)) for name in native.table_names},
        captures=native.captures,
    )
