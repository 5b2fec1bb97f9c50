"""`lasthop list`: the names that files and commands take."""

from __future__ import annotations

import json
from typing import Any, cast

import click

from lasthop import _native, catalogue
from lasthop.catalogue import Kind
from lasthop.cli.console import print_json, print_table

_LIBRARY: dict[str, tuple[Kind, str]] = {
    "links": ("presets", "named links of the library"),
    "profiles": ("profiles", "named TCPs of the library"),
    "scenarios": ("scenarios", "small files, each with one effect to see"),
    "studies": ("studies", "documents whose experiments are repeated"),
    "scripts": ("scripts", "packetdrill scripts of ours"),
    "documents": ("documents", "what is to be read: tutorial, recipes, reference; `lasthop show tutorial`"),
}
_REGISTRIES = {str(registry["name"]): registry for registry in json.loads(_native.registries())}
_ALGORITHMS = "algorithms"
_KINDS = {
    **{name: summary for name, (_, summary) in _LIBRARY.items()},
    _ALGORITHMS: "the choices of a profile, by axis",
    **{name: str(registry["summary"]) for name, registry in _REGISTRIES.items()},
}


@click.command(name="list")
@click.argument("kind", type=click.Choice(list(_KINDS)), required=False, metavar="[KIND]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(kind: str | None, as_json: bool) -> None:
    """List the names of one KIND: files of the library, or values that a file can have, each with an example and its
    source. Without a KIND, list the kinds.

    \b
    Examples:
      lasthop list
      lasthop list profiles
      lasthop list algorithms
      lasthop list queues
      lasthop list studies --json
    """
    rows = _rows(kind) if kind else [{"kind": name, "lists": summary} for name, summary in _KINDS.items()]
    if as_json:
        print_json({kind or "kinds": rows})
    elif rows:
        columns = list(rows[0])
        print_table(None, columns, [[row[column] for column in columns] for row in rows])


def _rows(kind: str) -> list[dict[str, str]]:
    if kind == _ALGORITHMS:
        return _algorithms()
    if kind in _REGISTRIES:
        entries = cast("list[dict[str, str]]", _REGISTRIES[kind]["entries"])
        return [{key: entry[key] for key in ("name", "summary", "written", "source")} for entry in entries]
    folder, _ = _LIBRARY[kind]
    return _entries(folder)


def _entries(kind: Kind) -> list[dict[str, str]]:
    return [{"name": entry.name, "summary": entry.summary} for entry in catalogue.entries(kind)]


def _algorithms() -> list[dict[str, str]]:
    return [
        {"axis": str(axis["name"]), **{key: entry[key] for key in ("id", "summary", "source")}}
        for axis in cast("list[dict[str, Any]]", json.loads(_native.algorithms()))
        for entry in cast("list[dict[str, str]]", axis["entries"])
    ]
