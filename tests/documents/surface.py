"""What docs/compatibility.md promises to keep: commands, options, names of Python, keys of files, columns, formats.

`python -m documents.surface` (with tests/ on PYTHONPATH) adds what is new to the record; it removes nothing.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

import lasthop
from lasthop import _native
from lasthop.cli import cli

RECORD: Final = Path(__file__).with_name("surface.json")

KINDS: Final = ("scenario", "study", "profile", "link")

_FORMATS: Final = (
    "results.index",
    "experiments.sweeps",
    "study.result",
    "judge.league",
    "judge.stress.hunt",
    "judge.bcp133.answers",
)
"""Modules that write an index, with the format in its first key."""

_RUNS: Final = {
    "quickstart": ["packets", "tcp", "queue", "segments", "progress", "transfers", "queue_lengths"],
    "hsdpa-cell": ["cell"],
}
"""Scenarios, with tables that their runs record."""


def surface() -> dict[str, list[str]]:
    """Return the names of each interface."""
    return {
        "commands": sorted(_commands()),
        "python": sorted(_python()),
        "tables": sorted(_columns()),
        "formats": [importlib.import_module(f"lasthop.{module}").FORMAT for module in _FORMATS],
        **{f"keys of {kind} files": sorted(set(_keys(json.loads(_native.schema(kind))))) for kind in KINDS},
    }


def _commands() -> Iterator[str]:
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        for parameter in command.params:
            yield from (f"{name} {option}" for option in parameter.opts if option.startswith("-"))


def _python() -> Iterator[str]:
    for name in lasthop.__all__:
        found = getattr(lasthop, name)
        yield name
        if inspect.isfunction(found):
            yield from (f"{name} {parameter}" for parameter in inspect.signature(found).parameters)
        elif inspect.isclass(found):
            yield from (f"{name} .{member}" for member in dir(found) if not member.startswith("_"))


def _columns() -> Iterator[str]:
    for scenario, tables in _RUNS.items():
        overrides = {"record.tables": tables, "measure.links": True, "stop": "5 s"}
        for name, table in lasthop.run(scenario, overrides=overrides).tables.items():
            yield from (f"{name} {field.name} {field.type}" for field in table.schema)


def _keys(schema: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """Yield the keys that a schema has, each with the definition that it belongs to."""
    for name, definition in schema.get("$defs", {}).items():
        yield from _keys(definition, name)
    for key, value in schema.items():
        if key == "properties":
            yield from (f"{place} {name}".strip() for name in value)
        if key in ("anyOf", "oneOf", "allOf"):
            for each in value:
                yield from _keys(each, place)
        if key in ("properties", "patternProperties"):
            for each in value.values():
                yield from _keys(each, place)
        if key in ("items", "additionalProperties") and isinstance(value, dict):
            yield from _keys(value, place)


def _add() -> None:
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    both = {name: sorted({*names, *recorded.get(name, ())}) for name, names in surface().items()}
    RECORD.write_text(json.dumps(both, indent=1) + "\n")


if __name__ == "__main__":
    _add()
