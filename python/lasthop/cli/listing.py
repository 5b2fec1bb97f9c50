"""`lasthop list`: what there is by name."""

from __future__ import annotations

import json
from typing import cast

import click

from lasthop import _native, catalogue
from lasthop.catalogue import Kind
from lasthop.cli.console import print_json, print_table

_KINDS: dict[str, Kind] = {
    "links": "presets",
    "profiles": "profiles",
    "scenarios": "scenarios",
    "studies": "studies",
}
_REGISTRIES = {"workloads": _native.workloads, "topologies": _native.topologies}


@click.command(name="list")
@click.argument("kind", type=click.Choice([*_KINDS, "algorithms", *_REGISTRIES]))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(kind: str, as_json: bool) -> None:
    """List the link presets, profiles, scenarios or studies of the library, the algorithms of each axis of TCP, or the
    workloads of a flow and the topologies of a scenario, each as it is written in a file.

    \b
    Examples:
      lasthop list profiles
      lasthop list algorithms
      lasthop list workloads
      lasthop list studies --json
    """
    rows = _rows(kind)
    if as_json:
        print_json({kind: rows})
    elif rows:
        columns = list(rows[0])
        print_table(None, columns, [[row[column] for column in columns] for row in rows])


def _rows(kind: str) -> list[dict[str, str]]:
    if kind == "algorithms":
        return _algorithms()
    if kind in _REGISTRIES:
        rows = cast("list[dict[str, str]]", json.loads(_REGISTRIES[kind]()))
        return [{key: row[key] for key in ("name", "summary", "written", "source")} for row in rows]
    return _entries(_KINDS[kind])


def _entries(kind: Kind) -> list[dict[str, str]]:
    return [{"name": entry.name, "summary": entry.summary} for entry in catalogue.entries(kind)]


def _algorithms() -> list[dict[str, str]]:
    axes = cast("list[dict[str, object]]", json.loads(_native.algorithms()))
    return [
        {"axis": str(axis["name"]), **cast("dict[str, str]", entry)}
        for axis in axes
        for entry in cast("list[object]", axis["entries"])
    ]
