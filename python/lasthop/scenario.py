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

    `source` and `overrides` say whence it came, for messages.
    """

    name: str
    seed: int
    hash: str
    json: str
    source: str = field(default="", compare=False)
    overrides: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def specification(self) -> Mapping[str, Any]:
        """The scenario with every default written out."""
        specification: Mapping[str, Any] = json.loads(self.json)
        return specification


def load_scenario(source: str | Path, *, overrides: Iterable[str] = (), seed: int | None = None) -> Scenario:
    """Read a scenario by path or by name, apply `path=value` overrides and the seed, and resolve it.

    Raises InputError with file, line, key and the remedy.
    """
    applied = tuple(overrides)
    loaded = _native.load_scenario(str(source), str(catalogue.LIBRARY), applied, seed)
    return Scenario(loaded.name, loaded.seed, loaded.hash, loaded.json, str(source), applied)


def run(scenario: Scenario, *, record: Record | None = None, progress: Progress | None = None) -> Run:
    """Run a scenario in virtual time. Other Python threads go on meanwhile; Ctrl-C stops it.

    Raises RunError where the run itself fails.
    """
    return in_memory(_native.run(scenario.json, record, progress), scenario)


def summary_of(scenario: Scenario, *, progress: Progress | None = None) -> Mapping[str, Any]:
    """Run a scenario in virtual time and return its summary alone. Nothing that it records is kept."""
    summary: Mapping[str, Any] = json.loads(_native.summary(scenario.json, progress))
    return summary


def run_to_folder(scenario: Scenario, folder: Path, *, progress: Progress | None = None) -> RunResult:
    """Run a scenario in virtual time and write its result folder, whole or not at all.

    Tables and captures are written as the run goes on: a long run needs no more memory than a short one. Raises
    InputError where the folder exists and is not an earlier result, and RunError where the run itself fails.
    """
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
