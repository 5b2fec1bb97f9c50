"""Scenarios as texts: checked, changed key by key with their comments kept, saved below the server's folder."""

from __future__ import annotations

import datetime
import hashlib
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from lasthop import catalogue
from lasthop.errors import InputError
from lasthop.scenario import Scenario, check_virtual_time, parse_scenario
from lasthop.scenario.beginning import Answers, scenario_text
from lasthop.serve.places import below, check_references, leads_out

SUFFIX: Final = ".toml"
LONGEST: Final = 400_000
"""Characters of a scenario."""


def saved(folder: Path) -> list[dict[str, str]]:
    """Return the scenario files directly in the folder: name and summary."""
    return [
        {"name": path.stem, "summary": _summary(path)} for path in sorted(folder.glob(f"*{SUFFIX}")) if path.is_file()
    ]


def text_of(folder: Path, origin: str, name: str) -> str:
    """Return a scenario's text: of the library, of the folder, or a new one over a last hop of the library (`preset`).

    Raises InputError if there is none.
    """
    if origin == "preset" and name in {entry.name for entry in catalogue.entries("presets")}:
        return begun(name)
    path: Path | None = None
    if origin == "library":
        path = {entry.name: entry.path for entry in catalogue.entries("scenarios")}.get(name)
    elif origin == "folder":
        path = below(folder, name + SUFFIX)
    if path is None or not path.is_file():
        raise InputError(f"there is no scenario {name[:80]!r}", help="the library's page lists them")
    return path.read_text(encoding="utf-8")


def begun(preset: str) -> str:
    """Return the scenario of a download over a last hop, as `lasthop new --link` writes it."""
    return scenario_text(Answers(preset, preset))


def save(folder: Path, name: str, text: str, replaces: str | None) -> str:
    """Write a scenario and return its fingerprint.

    `replaces` is the fingerprint of the text that the caller began with, None for a new file. Raises InputError if the
    file has changed since, and nothing is written then.
    """
    _check_length(text)
    check_references(text, folder)
    path = below(folder, name + SUFFIX)
    if path.exists():
        present = fingerprint(path.read_text(encoding="utf-8", errors="replace"))
        if present not in (replaces, fingerprint(text)):
            help = "save under another name, or open the file and make the change there"
            raise InputError("is there already, with another text", file=path.name, help=help)
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return fingerprint(text)


def fingerprint(text: str) -> str:
    """Return a text's SHA-256, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def checked(text: str, folder: Path) -> dict[str, Any]:
    """Return the page's view of a text: its values, the path, and its first error if it has one.

    An error has `message`, `help`, `line` (from 1) and `key` (dotted), each None where it is not known.
    """
    found: dict[str, Any] = {"values": None, "nodes": [], "links": [], "flows": [], "error": None}
    try:
        _check_length(text)
        found["values"] = _plain(tomllib.loads(text))
        found |= _drawn(found["values"])
        scenario = resolved(text, folder)
        found |= _drawn(scenario.specification)
        check_virtual_time(scenario)
    except tomllib.TOMLDecodeError as error:
        found["error"] = {"message": str(error), "help": "correct the TOML", "line": _line_of(error, text), "key": None}
    except InputError as error:
        found["error"] = error_words(error)
    return found


def resolved(text: str, folder: Path, overrides: Sequence[str] = (), seed: int | None = None) -> Scenario:
    """Resolve a scenario of the folder. Raises InputError if it is wrong or names a file outside of the folder."""
    check_references(text, folder)
    for override in overrides:
        check_override(override, folder)
    return parse_scenario(text, overrides=list(overrides), seed=seed, source=str(folder / f"scenario{SUFFIX}"))


def check_override(override: str, folder: Path) -> None:
    """Raise InputError if the value of "key=value", as TOML or as a plain text, names a file outside of the folder."""
    key, _, value = override.partition("=")
    check_references(f"value = {value}", folder)
    if leads_out(value.strip(), folder):
        raise InputError("names a file outside of the server's folder", key=key, help=f"copy it to {folder}")


def error_words(error: InputError) -> dict[str, Any]:
    """Return an error as the page shows it."""
    return {"message": error.message, "help": error.help, "line": error.line, "key": error.key}


def changed(text: str, path: Sequence[str | int], value: Any) -> str:
    """Return the text with one key set to `value`, or removed if that is None. Comments and order stay.

    `value` is a JSON value; one of the form {"toml": "…"} is written as it stands. Raises InputError if the
    text is no TOML or the path does not exist in it.
    """
    _check_length(text)
    try:
        document = tomlkit.parse(text)
        _put(document, path, _item(value))
        return tomlkit.dumps(document)
    except (TOMLKitError, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        key = ".".join(map(str, path))
        raise InputError(f"cannot be changed: {error}", key=key, help="correct the text first") from error


def _put(document: Any, path: Sequence[str | int], item: Any) -> None:
    """Set or remove the item at a path; tables that are missing on the way are made."""
    if not path:
        raise InputError("no key is named", help="name the key to change")
    container = document
    for place, key in enumerate(path[:-1]):
        container = _entered(container, key, path[place + 1])
    last = path[-1]
    if item is None:
        del container[last]
    elif isinstance(container, list) and last == len(container):
        container.append(item)
    else:
        container[last] = item


def _entered(container: Any, key: str | int, following: str | int) -> Any:
    """Return the part of a container under a key, which is made if it is missing."""
    if isinstance(key, str) and key not in container:
        top = isinstance(container, tomlkit.TOMLDocument)
        container[key] = [] if isinstance(following, int) else tomlkit.table() if top else tomlkit.inline_table()
    return container[key]


def _item(value: Any) -> Any:
    if isinstance(value, Mapping) and set(value) == {"toml"}:
        return tomlkit.value(str(value["toml"]))
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update(value)
        return table
    return value


def _drawn(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return nodes, links and flows for the picture, of a file's values or of a resolved scenario."""
    hosts = values.get("hosts") or {}
    named = [(host.get("name"), host) for host in hosts] if isinstance(hosts, list) else list(hosts.items())
    nodes = [{"name": str(name), "kind": "host", "profile": _profile(host)} for name, host in named]
    nodes += [{"name": str(name), "kind": "router", "profile": ""} for name in values.get("routers") or []]
    links = [link for link in _list(values, "links") if isinstance(link.get("between"), list)]
    flows = [{key: str(flow.get(key, "")) for key in ("name", "from", "to")} for flow in _list(values, "flows")]
    return {"nodes": nodes, "links": links, "flows": flows}


def _list(values: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = values.get(key)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _profile(host: Any) -> str:
    return str(host.get("profile") or host.get("stack") or "") if isinstance(host, Mapping) else ""


def _plain(tree: Any) -> Any:
    """Return TOML's values as JSON has them: dates as texts."""
    if isinstance(tree, dict):
        return {key: _plain(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_plain(value) for value in tree]
    return tree.isoformat() if isinstance(tree, datetime.date | datetime.time) else tree


def _line_of(error: tomllib.TOMLDecodeError, text: str) -> int:
    """Return the line of an error of the reader, which Python 3.11 has in the message only: "(at line 3, column 5)"."""
    _, _, rest = str(error).partition("(at line ")
    number = rest.partition(",")[0]
    return int(number) if number.isdecimal() else text.rstrip("\n").count("\n") + 1


def _check_length(text: str) -> None:
    if len(text) > LONGEST:
        raise InputError(f"has {len(text)} characters, and {LONGEST} is the most", help="use the command for it")


def _summary(path: Path) -> str:
    try:
        return str(tomllib.loads(path.read_text(encoding="utf-8")).get("summary", ""))
    except (OSError, ValueError):
        return "is no TOML file that can be read"
