"""Shell completion of `--set`: the paths of keys of a scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from lasthop import _native
from lasthop.errors import LasthopError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Schema = Mapping[str, Any]


def complete_keys(context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the paths that continue `incomplete` by one step, as links.lasthop.down of links.lasthop.d."""
    from click.shell_completion import CompletionItem

    if "=" in incomplete:
        return []
    *steps, begun = incomplete.split(".")
    names = _names(context.params.get("file")) if len(steps) == 1 else {}
    candidates = names.get(steps[0], []) if steps and steps[0] in names else _keys(steps)
    paths = [".".join([*steps, key]) for key in candidates if key.startswith(begun)]
    return [CompletionItem(path) for path in paths]


def _names(file: str | None) -> dict[str, list[str]]:
    """Return the names of the hosts, links and flows of a scenario; none if it cannot be read."""
    from lasthop.scenario import load_scenario

    try:
        specification = load_scenario(file or "").specification
    except LasthopError:
        return {}
    return {kind: [each["name"] for each in specification[kind]] for kind in ("hosts", "links", "flows")}


def _keys(steps: Sequence[str]) -> list[str]:
    """Return the keys of the table at a path of the scenario's schema, with the members of a choice."""
    root = json.loads(_native.schema("scenario") or "{}")
    table: Schema = root
    for step in steps:
        table = _below(root, table, step)
    options = [table, *(_plain(root, option) for option in table.get("anyOf", ()))]
    return list(dict.fromkeys(key for option in options for key in option.get("properties", ())))


def _below(root: Schema, table: Schema, step: str) -> Schema:
    for option in (table, *(_plain(root, option) for option in table.get("anyOf", ()))):
        if step in option.get("properties", {}):
            return _plain(root, option["properties"][step])
    inner = table.get("items") or table.get("additionalProperties")
    return _plain(root, inner) if isinstance(inner, Mapping) else {}


def _plain(root: Schema, schema: Schema) -> Schema:
    """Return a schema with its reference and "or nothing" resolved."""
    if "$ref" in schema:
        return _plain(root, root["$defs"][schema["$ref"].rpartition("/")[2]])
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    return _plain(root, options[0]) if len(options) == 1 else schema
