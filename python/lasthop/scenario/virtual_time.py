"""Runs of a resolved scenario in virtual time: in memory, its summary alone, or into a result folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

from lasthop import _native, catalogue
from lasthop.errors import InputError
from lasthop.results.folder import whole_folder
from lasthop.results.run import Run, RunResult, arrow_table, open_run, write_index
from lasthop.scenario.given import Overrides, naming_overrides, toml_value
from lasthop.scenario.resolved import Given, Scenario, scenario_of

Progress = Callable[[float], None]
"""Called from time to time with the virtual seconds run so far; an exception that it raises stops the run."""

Record = Mapping[str, Sequence[str]]
"""Records that replace those of the file: `tables` and `captures`, each a list of names."""

IN_REAL_TIME_ONLY: Final = frozenset({"kernel", "program"})
"""Stacks that have no run in virtual time."""

RECORD_NOTHING: Final[Record] = {"tables": [], "captures": []}


def run(
    scenario: Given,
    *,
    overrides: Overrides = (),
    seed: int | None = None,
    record: Record | None = None,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Run a scenario in virtual time. Other Python threads keep running; Ctrl-C stops the run.

    `scenario` is a resolved Scenario, or anything that `scenario_of` reads with `overrides` and `seed` applied.
    `allow_code` is that of `load_scenario`. `record` replaces what the file records; `progress` is called with the
    virtual seconds run so far. Raises InputError if the scenario is wrong, and RunError if the run fails.

    >>> import lasthop
    >>> lasthop.run("quickstart", overrides={"hosts.server.profile": "reno"}, seed=7)
    <Run quickstart, seed 7: virtual clock, ... s, 1 flow, 2 directions of links; tables: ...>
    """
    resolved = scenario_of(scenario, overrides=overrides, seed=seed, allow_code=allow_code)
    check_virtual_time(resolved)
    _check_record(record or {})
    with naming_overrides(overrides):
        if resolved is not scenario:
            check_effect(resolved, record)
    return in_memory(_native.run(resolved.json, record, progress), resolved)


def _check_record(record: Record) -> None:
    """Raise InputError unless each kind of record is a list of names."""
    for what, names in record.items():
        if what not in RECORD_NOTHING:
            raise InputError(f"there is no {what!r} to record", key="record", help="give tables, captures or both")
        if isinstance(names, str):
            help = f'give a list, {{"{what}": ["{names}"]}}'
            raise InputError(f"{what} is the text {names!r}, and no list of names", key="record", help=help)


def check_virtual_time(scenario: Scenario) -> None:
    """Raise InputError, with file and line, if a host has a stack that needs real time: the kernel, a program."""
    if any(host.get("stack") in IN_REAL_TIME_ONLY for host in scenario.specification["hosts"]):
        _native.check_virtual_time(scenario.source, scenario.text, str(catalogue.LIBRARY), scenario.overrides)


def check_effect(scenario: Scenario, record: Record | None = None) -> None:
    """Raise InputError, with its place, if no run in virtual time reads an override of the scenario.

    `record` is what is recorded instead of what the file says.
    """
    for error in unread_overrides(scenario, record):
        raise error


def unread_overrides(scenario: Scenario, record: Record | None = None) -> list[InputError]:
    """Return an error, with its place, for each override of the scenario that no run in virtual time reads.

    `record` is what is recorded instead of what the file says.
    """
    recorded = [f"record.{what}={toml_value(list(names))}" for what, names in (record or {}).items()]
    return _unread(scenario, [*scenario.overrides, *recorded], of_file=False) if scenario.overrides else []


def unread_keys(scenario: Scenario) -> list[InputError]:
    """Return an error, with its place, for each key of the scenario's file that no run in virtual time reads.

    Keys of real-time runs are left out: one file serves both clocks.
    """
    return _unread(scenario, scenario.overrides, of_file=True)


def _unread(scenario: Scenario, overrides: Sequence[str], *, of_file: bool) -> list[InputError]:
    return _native.unread(scenario.source, scenario.text, str(catalogue.LIBRARY), overrides, of_file)


def summary_of(scenario: Scenario, *, progress: Progress | None = None) -> Mapping[str, Any]:
    """Run a scenario in virtual time and return its summary only; tables and captures are discarded.

    The summary is the object that `lasthop run --json` prints. Raises what `run` does.
    """
    check_virtual_time(scenario)
    summary: Mapping[str, Any] = json.loads(_native.summary(scenario.json, progress))
    return summary


def run_to_folder(
    scenario: Given,
    folder: str | PathLike[str],
    *,
    overrides: Overrides = (),
    seed: int | None = None,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> RunResult:
    """Run a scenario in virtual time and write its result folder, whole or not at all.

    The arguments are those of `run`. Tables and captures are written during the run, so memory does not grow with its
    length. Raises InputError if the scenario is wrong, or the folder exists and is not an earlier result, and RunError
    if the run fails.

    >>> import lasthop
    >>> lasthop.run_to_folder("quickstart", "results/reno", overrides={"hosts.server.profile": "reno"}).path
    PosixPath('results/reno')
    """
    resolved = scenario_of(scenario, overrides=overrides, seed=seed, allow_code=allow_code)
    check_virtual_time(resolved)
    with naming_overrides(overrides):
        if resolved is not scenario:
            check_effect(resolved)
    with whole_folder(Path(folder)) as partial:
        finished = _native.run(resolved.json, None, progress, partial)
        write_index(partial, json.loads(finished.summary_json), resolved.hash, resolved.specification)
    return open_run(folder)


def link_trace(scenario: Scenario, link: str, seconds: float) -> str:
    """Return the capacity of one direction of a link as a trace in Mahimahi's format.

    `link` is its name ("lasthop.down"); the trace has one line, a time in milliseconds, for each 1500 bytes that the
    direction can send in the first `seconds`. Raises InputError if there is no such direction, or it has no rate.
    """
    return _native.link_trace(scenario.json, link, seconds)


def in_memory(native: _native.Run, scenario: Scenario) -> Run:
    """Return the engine's result for `scenario` as a Run; tables are not copied."""
    return Run(
        specification=scenario.specification,
        hash=scenario.hash,
        summary=json.loads(native.summary_json),
        tables={name: arrow_table(native.table(name)) for name in native.table_names},
        captures=native.captures,
    )
