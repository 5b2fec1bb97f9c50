"""The library that ships with lasthop, by name: studies, scenarios, profiles, presets, packetdrill scripts, documents.

The engine resolves names; this module only lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Kind = Literal["scenarios", "studies", "profiles", "presets", "scripts", "documents"]

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
    paths = sorted(folder.glob(_FILES.get(kind, "*.toml")))
    named = {_name(kind, path.relative_to(folder)): path for path in paths}
    return [Entry(name, named[name], _summary(named[name])) for name in sorted(named)]


def file_of(kind: Kind, given: str | Path) -> Path:
    """Return the file that `given` names: a path, or else a name of the library."""
    path = Path(given)
    named = {entry.name: entry.path for entry in entries(kind)} if not path.exists() else {}
    return named.get(str(given), path)


_FILES: Final[dict[str, str]] = {"studies": "*/study.toml", "scripts": "*.pkt", "documents": "**/*.md"}
"""File names of a kind that differ from NAME.toml."""


def _name(kind: Kind, path: Path) -> str:
    return path.parent.name if kind == "studies" else str(path.with_suffix(""))


def _summary(path: Path) -> str:
    """Return a file's `summary`, a study's `title`, the first comment of a script, or the heading of a document."""
    if path.suffix != ".toml":
        return path.read_text("utf-8").partition("\n")[0].lstrip("/# ")
    import tomllib

    keys = tomllib.loads(path.read_text("utf-8"))
    return str(keys.get("summary") or keys.get("title") or "")
