"""Scenarios of two hosts, the outside and the inside, with links in series between them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from lasthop import catalogue
from lasthop.errors import InputError
from lasthop.scenario.resolved import Scenario, parse_scenario

BYSTANDERS: Final = {"outside": 'profile = "linux-6"', "inside": 'profile = "linux-6"'}
"""The hosts of a scenario whose packets come from real programs; their profiles are not used."""

STRAIGHT: Final = "straight"
"""Name of the link if no link is given."""


def scenario_of_links(
    links: Sequence[str],
    *,
    hosts: Mapping[str, str] = BYSTANDERS,
    more: str = "",
    overrides: Iterable[str] = (),
    seed: int | None = None,
) -> Scenario:
    """Return a scenario of two hosts, and links in series from the first host to the second.

    `links` are names of presets, or paths of files like them, or of scenarios with one link, as `lasthop fit` writes
    them; a link has the name of its file, and a second one of the same name NAME-2. `hosts` maps the names of the two
    hosts to their TOML; "down" leads from the first to the second. `more` is further TOML of the scenario. Without
    links there is one, called "straight", with the MTU of Ethernet and without rate or delay. Raises InputError if a
    link is unknown, or an override is wrong.
    """
    near, far = hosts
    files = [_file(link) for link in links]
    names = _distinct([file.stem for file in files])
    nodes = [near, *(f"router-{number}" for number in range(1, len(links))), far]
    routers = ", ".join(f'"{node}"' for node in nodes[1:-1])
    text = f'name = "{"+".join(names or [STRAIGHT])}"\nrouters = [{routers}]\n{more}'
    text += "[hosts]\n" + "".join(f"{name} = {{ {host} }}\n" for name, host in hosts.items())
    if not links:
        text += f'[[links]]\nname = "{STRAIGHT}"\nbetween = ["{near}", "{far}"]\n{_STRAIGHT_LINK}'
    for name, file, near, far in zip(names, files, nodes, nodes[1:], strict=False):
        down = "" if _is_shared(file) else "down = {}\n"
        text += f'[[links]]\nname = "{name}"\nbetween = ["{near}", "{far}"]\npreset = "{file}"\n{down}up = {{}}\n'
    return parse_scenario(text, overrides=overrides, seed=seed, source=links[0] if links else STRAIGHT)


_STRAIGHT_LINK = 'mtu = "1500 bytes"\ndown = {}\nup = {}\n'


def _is_shared(file: Path) -> bool:
    """Whether a file's link is a shared channel, which has no direction "down". The engine reports unreadable files."""
    try:
        keys = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError):
        return False
    links = keys.get("links")
    return "cell" in (links[0] if isinstance(links, list) and len(links) == 1 else keys)


def _file(link: str) -> Path:
    """Return the path of a preset or of a file."""
    presets = {entry.name: entry.path for entry in catalogue.entries("presets")}
    file = presets.get(link, Path(link))
    if not file.is_file():
        known = ", ".join(presets)
        raise InputError(f"there is no link {link!r}", key="--link", help=f"name a file, or one of {known}")
    return file.resolve()


def _distinct(names: list[str]) -> list[str]:
    return [
        name if names[:place].count(name) == 0 else f"{name}-{names[:place].count(name) + 1}"
        for place, name in enumerate(names)
    ]
