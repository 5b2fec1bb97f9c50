"""The list of items: what RFC 9743 asks for, section by section, and the cases that answer it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from lasthop.judge.bcp133.measures import MEASURES
from lasthop.judge.entries import Entry
from lasthop.judge.paths import LINK
from lasthop.scenario import Scenario, parse_scenario

SECONDS: Final = 20
"""Length of a run."""

CANDIDATE: Final = "candidate"
"""The profile in `items.toml` for which candidate and references stand in turn."""

OTHERS: Final = "cubic"
"""The profile of all other flows."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A measure of one flow, or of several equal ones."""

    flow: str
    measure: str


@dataclass(frozen=True, slots=True)
class Case:
    """A path with flows, and what is measured."""

    name: str
    link: Mapping[str, Any]
    flows: Sequence[Mapping[str, Any]]
    measures: tuple[Asked, ...]

    def scenario(self, entry: Entry) -> Scenario:
        """Return the scenario with `entry` in the candidate's place; the user has named its program."""
        flows: list[dict[str, Any]] = []
        programs = {}
        for flow in self.flows:
            is_candidate = flow.get("profile") == CANDIDATE
            # Starts that differ from seed to seed: without them many runs would be one.
            keys = {"from": "server", "to": "client", "until": f"{SECONDS} s", "start": {"uniform": ["0 s", "0.5 s"]}}
            flows.append({**keys, **flow, "profile": entry.profile if is_candidate else OTHERS})
            if is_candidate and entry.congestion is not None:
                programs[f"flows.{flow['name']}.tcp.congestion"] = entry.congestion
        document: dict[str, Any] = {
            "name": "bcp133",
            "stop": f"{SECONDS} s",
            "hosts": {"server": {"profile": OTHERS}, "client": {"profile": OTHERS}},
            "links": [{"up": {}, "down": {}, **self.link, "name": LINK, "between": ["server", "client"]}],
            "flows": flows,
            "measure": {"links": True},
        }
        return parse_scenario(document, source=f"bcp133: {self.name}", overrides=programs)


@dataclass(frozen=True, slots=True)
class Item:
    """A section of the RFC: what it asks for, with which force, and the cases, or why there are none."""

    section: str
    title: str
    force: str
    asks: str
    cases: tuple[Case, ...]
    unmeasured: str


def version() -> int:
    """Return the version of the list."""
    return int(_document()["version"])


def items() -> list[Item]:
    """Return the items in the order of their sections."""
    return [
        Item(
            section=given["section"],
            title=given["title"],
            force=given["force"],
            asks=given.get("asks", ""),
            cases=tuple(_case(each) for each in given.get("cases", ())),
            unmeasured=given.get("unmeasured", ""),
        )
        for given in _document()["items"]
    ]


def _document() -> dict[str, Any]:
    return tomllib.loads(resources.files("lasthop.judge.bcp133").joinpath("items.toml").read_text("utf-8"))


def _case(given: Mapping[str, Any]) -> Case:
    asked = tuple(Asked(each["flow"], each["measure"]) for each in given["measures"])
    unknown = [each.measure for each in asked if each.measure not in MEASURES]
    assert not unknown, f"{given['name']}: no measure {unknown}"
    return Case(given["name"], given["link"], given["flows"], asked)
