"""The library that ships with lasthop: studies, scenarios, profiles and presets, by name.

The engine resolves names; this module only lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["scenarios", "studies", "profiles", "presets"]

LIBRARY = Path(__file__).parent / "library"


@dataclass(frozen=True, slots=True)
class Entry:
    """A named file of the library, with its summary."""

    name: str
    path: Path
    summary: str


def entries(kind: Kind) -> list[Entry]:
    """Return the files of one kind, sorted by name."""
    folder = LIBRARY / kind
    if kind == "studies":
        files = {path.parent.name: path for path in folder.glob("*/study.toml")}
    else:
        files = {path.stem: path for path in folder.glob("*.toml")}
    return [Entry(name, files[name], _summary(files[name])) for name in sorted(files)]


def _summary(path: Path) -> str:
    """Return a file's `summary`, or a study's `title`."""
    import tomllib

    keys = tomllib.loads(path.read_text())
    return str(keys.get("summary") or keys.get("title") or "")
