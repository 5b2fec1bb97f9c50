"""`lasthop show`: a file of the library, or an entry of a registry."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import click

from lasthop import _native, catalogue
from lasthop.cli.console import print_json, print_line
from lasthop.cli.names import completing
from lasthop.errors import InputError

_KINDS: dict[catalogue.Kind, str] = {
    "scenarios": "scenario",
    "profiles": "profile",
    "presets": "link",
    "studies": "study",
}


@dataclass(frozen=True)
class Shown:
    """What is shown of a name: its kind, its file if it has one, and the text."""

    kind: str
    name: str
    text: str
    path: str = ""


@click.command(name="show")
@click.argument("name", shell_complete=completing("scenarios", "profiles", "presets", "studies"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def command(name: str, as_json: bool) -> None:
    """Show NAME: a scenario, profile, link or study of the library with its sources, or an algorithm, queue, workload
    or anything else that `lasthop list` lists, with an example and its source.

    \b
    Examples:
      lasthop show lte
      lasthop show cubic
      lasthop show codel
    """
    found = [*_files(name), *_entries(name)]
    if not found:
        raise InputError(f"nothing is called {name!r}", help=_nearest(name))
    if as_json:
        print_json({"found": [shown.__dict__ for shown in found]})
        return
    for place, shown in enumerate(found):
        if place:
            print_line()
        print_line(f"{shown.kind} {shown.name}{f'  ({shown.path})' if shown.path else ''}", style="bold")
        print_line(shown.text.rstrip())


def _files(name: str) -> list[Shown]:
    return [
        Shown(word, name, entry.path.read_text(), str(entry.path))
        for kind, word in _KINDS.items()
        for entry in catalogue.entries(kind)
        if entry.name == name
    ]


def _entries(name: str) -> list[Shown]:
    """Return the entries of that name in the axes of TCP and in the other registries."""
    axes = [(f"algorithm of {axis['name']}", axis["entries"]) for axis in json.loads(_native.algorithms())]
    registries = [(str(each["name"]), each["entries"]) for each in json.loads(_native.registries())]
    return [
        Shown(kind, name, _described(entry))
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
