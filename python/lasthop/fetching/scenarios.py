"""Scenarios with lasthop's TCP at one end of the links, and a real server or real clients beyond the other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

from lasthop.scenario import Scenario
from lasthop.scenario.links import scenario_of_links

RECORDS: Final = """[record]
tables = ["packets", "segments", "queue", "tcp"]
captures = ["server", "client"]
"""
"""Records of a kept result, as TOML."""

_KERNEL: Final = 'profile = "linux-6", stack = "kernel"'


def client_scenario(
    links: Sequence[str],
    profile: str,
    *,
    delayed: bool,
    tested: bool,
    more: str,
    overrides: Iterable[str],
    seed: int | None,
) -> Scenario:
    """Return the scenario of a client with a profile, with ordinary delayed ACKs if `delayed`.

    Overrides of the client's TCP apply only to the profile under test (`tested`). Raises InputError.
    """
    ack = ', tcp = { ack = "delayed" }' if delayed else ""
    hosts = {"server": _KERNEL, "client": f'profile = {json.dumps(profile)}, stack = "lasthop"{ack}'}
    return scenario_of_links(links, hosts=hosts, more=more, overrides=_kept(overrides, tested), seed=seed)


def server_scenario(
    links: Sequence[str], profile: str, *, tested: bool, more: str, overrides: Iterable[str], seed: int | None
) -> Scenario:
    """Return the scenario of a server with a profile. Overrides of its TCP apply only if the profile is `tested`."""
    hosts = {"server": f'profile = {json.dumps(profile)}, stack = "lasthop"', "client": _KERNEL}
    return scenario_of_links(links, hosts=hosts, more=more, overrides=_kept(overrides, tested), seed=seed)


def _kept(overrides: Iterable[str], tested: bool) -> list[str]:
    return [override for override in overrides if tested or not override.startswith("hosts.")]
