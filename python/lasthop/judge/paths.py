"""The paths over which entries meet: a versioned list, so that results of different days can be compared."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Final

from lasthop.errors import InputError

LINK: Final = "path"
"""The name of the link in every scenario of the judge."""


@dataclass(frozen=True, slots=True)
class Path:
    """A path: its name, and the keys of its link, as in a scenario."""

    name: str
    link: Mapping[str, Any] = field(hash=False)


def version() -> int:
    """Return the version of the list."""
    return int(_document()["version"])


def paths(only: Sequence[str] = ()) -> list[Path]:
    """Return the paths of the list, or those with the names in `only`. Raises InputError for an unknown name."""
    every = [_path(entry) for entry in _document()["paths"]]
    known = [path.name for path in every]
    for name in only:
        if name not in known:
            raise InputError(f"there is no path {name!r}", key="--path", help=f"one of {', '.join(known)}")
    return [path for path in every if not only or path.name in only]


def _document() -> dict[str, Any]:
    return tomllib.loads(resources.files("lasthop.judge").joinpath("paths.toml").read_text("utf-8"))


def _path(entry: Mapping[str, Any]) -> Path:
    link = {key: value for key, value in entry.items() if key not in ("name", "summary")}
    return Path(entry["name"], {"up": {}, "down": {}, **link, "name": LINK, "between": ["server", "client"]})
