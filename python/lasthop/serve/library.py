"""The names of the library, with their summaries and sources, and the schema of scenarios."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Final, cast

from lasthop import _native, catalogue
from lasthop.catalogue import Kind

KINDS: Final[tuple[Kind, ...]] = ("scenarios", "presets", "profiles")


@cache
def library() -> dict[str, Any]:
    """Return scenarios, presets and profiles by name, and the registries: queues, errors, workloads, …"""
    named: dict[str, Any] = {
        kind: [{"name": each.name, "summary": each.summary} for each in catalogue.entries(kind)] for kind in KINDS
    }
    return {**named, "registries": json.loads(_native.registries())}


@cache
def schema() -> dict[str, Any]:
    """Return the JSON schema of scenario files."""
    return cast("dict[str, Any]", json.loads(_native.schema("scenario")))
