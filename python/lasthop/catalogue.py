"""The library that ships with lasthop: studies, scenarios, profiles and presets, found by name.

A path always works too. What is a path and what is a name: something with a slash or a `.toml` ending is a path.
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lasthop.errors import InputError

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


def find(kind: Kind, name: str) -> Path:
    """Return the file that `name` means: a path as it stands, or a name in the library.

    For a study the answer is its folder. Raises InputError, with the nearest names, where there is none.
    """
    given = Path(name)
    if given.exists():
        return _study_folder(given) if kind == "studies" else _file(given)
    if _is_path(name):
        raise InputError("no such file", file=name, help=_known(kind, given.stem))
    for entry in entries(kind):
        if entry.name == name:
            return entry.path.parent if kind == "studies" else entry.path
    raise InputError(f"no {_SINGULAR[kind]} of this name", file=name, help=_known(kind, name))


_SINGULAR: dict[Kind, str] = {
    "scenarios": "scenario",
    "studies": "study",
    "profiles": "profile",
    "presets": "link preset",
}


def _is_path(name: str) -> bool:
    return "/" in name or name.endswith(".toml")


def _file(path: Path) -> Path:
    if path.is_dir():
        raise InputError("is a folder", file=str(path), help="name the file in it")
    return path


def _study_folder(path: Path) -> Path:
    folder = path.parent if path.name == "study.toml" else path
    if not (folder / "study.toml").is_file():
        raise InputError("is no study", file=str(path), help="a study is a folder that holds a study.toml")
    return folder


def _known(kind: Kind, name: str) -> str:
    names = [entry.name for entry in entries(kind)]
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"did you mean {near[0]!r}? (`lasthop list {kind}` shows all)"
    return f"give a path, or one of: {', '.join(names)}" if names else "give a path to a file"


def _summary(path: Path) -> str:
    """Return the `summary` or `title` of a file of the library, or else the first line of its head comment."""
    text = path.read_text()
    try:
        head = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        head = {}
    stated = head.get("summary") or head.get("title")
    if isinstance(stated, str):
        return stated
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first.lstrip("# ").strip() if first.startswith("#") else ""
