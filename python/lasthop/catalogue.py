"""The library that ships with lasthop: studies, scenarios, profiles and presets, by name.

The engine looks names up in it (a path works too); here it is only listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["scenarios", "studies", "profiles", "presets"]

LIBRARY = Path(__file__).parent / "library"


@dataclass(frozen=True, slots=True)
class Entry:
    """One named thing of the library."""

    name: str
    path: Path
    summary: str


def entries(kind: Kind) -> list[Entry]:
    """Return what the library holds of one kind, by name."""
    folder = LIBRARY / kind
    if kind == "studies":
        files = {path.parent.name: path for path in folder.glob("*/study.toml")}
    else:
        files = {path.stem: path for path in folder.glob("*.toml")}
    return [Entry(name, files[name], _summary(files[name])) for name in sorted(files)]


def _summary(path: Path) -> str:
    """Return what a file says of itself: its `summary`, or a study's `title`."""
    import tomllib

    keys = tomllib.loads(path.read_text())
    return str(keys.get("summary") or keys.get("title") or "")
