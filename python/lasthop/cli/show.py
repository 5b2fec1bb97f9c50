"""`lasthop show`: a file of the library, or an entry of a registry."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import click

from lasthop import _native, catalogue
from lasthop.cli.console import print_json, print_line, print_table
from lasthop.cli.names import completing
from lasthop.errors import InputError

_KINDS: dict[catalogue.Kind, str] = {
    "scenarios": "scenario",
    "profiles": "profile",
    "presets": "link",
    "studies": "study",
    "scripts": "packetdrill script",
    "documents": "document",
}


@dataclass(frozen=True)
class Shown:
    """One meaning of a name: a file of the library, or a member of a registry with its parameters."""

    kind: str
    name: str
    text: str
    path: str = ""
    parameters: list[dict[str, Any]] = field(default_factory=list)


@click.command(name="show")
@click.argument("name", shell_complete=completing(*_KINDS))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def command(name: str, as_json: bool) -> None:
    """Show NAME: a scenario, a profile, a link or a study of the library with its sources, or an algorithm, a queue, a
    workload or any other name of `lasthop list`, with an example, its source, and its keys with units and defaults.
    Documents have names too: tutorial, recipes/which-queue, reference/scenario. A name with several meanings shows each
    of them.

    \b
    Examples:
      lasthop show lte
      lasthop show cubic
      lasthop show codel
      lasthop show reference/scenario
    """
    found = [*_files(name), *_entries(name)]
    if not found:
        raise InputError(f"nothing is called {name!r}", help=_nearest(name))
    if as_json:
        print_json({"found": [asdict(shown) for shown in found]})
        return
    for place, shown in enumerate(found):
        if place:
            print_line()
        print_line(f"{shown.kind} {shown.name}{f'  ({shown.path})' if shown.path else ''}", style="bold")
        print_line(shown.text.rstrip())
        if shown.parameters:
            print_line()
            print_table(None, ["key", "value", "default", "meaning"], _rows(shown.parameters))


def _files(name: str) -> list[Shown]:
    return [
        Shown(word, name, entry.path.read_text("utf-8"), str(entry.path))
        for kind, word in _KINDS.items()
        for entry in catalogue.entries(kind)
        if entry.name == name
    ]


def _entries(name: str) -> list[Shown]:
    """Return the entries of that name in the axes of TCP and in the other registries."""
    axes = [(f"algorithm of {axis['name']}", axis["entries"]) for axis in json.loads(_native.algorithms())]
    registries = [(str(each["name"]), each["entries"]) for each in json.loads(_native.registries())]
    return [
        Shown(kind, name, _described(entry), parameters=json.loads(_native.parameters(entry["definition"])))
        for kind, entries in [*axes, *registries]
        for entry in entries
        if _name(entry) == name
    ]


def _name(entry: dict[str, Any]) -> str:
    return str(entry.get("name") or entry.get("id"))


def _described(entry: dict[str, Any]) -> str:
    lines = [str(entry["summary"])]
    lines += [f"  written  {entry['written']}"] if entry.get("written") else []
    lines += [f"  source   {entry['source']}"] if entry.get("source") else []
    return "\n".join(lines)


def _rows(parameters: list[dict[str, Any]]) -> list[list[str]]:
    """Return a row for each key: its name, its values, its default and its meaning."""
    return [
        [each["key"], each["value"], "required" if each["required"] else each["default"] or "", each["meaning"]]
        for each in parameters
    ]


def names() -> list[str]:
    """Return all names that can be shown."""
    files = [entry.name for kind in _KINDS for entry in catalogue.entries(kind)]
    registered = [
        _name(entry)
        for each in (*json.loads(_native.algorithms()), *json.loads(_native.registries()))
        for entry in each["entries"]
    ]
    return sorted({*files, *registered})


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names(), n=4, cutoff=0.5)
    return f"did you mean {', '.join(near)}?" if near else "`lasthop list` lists the names"
