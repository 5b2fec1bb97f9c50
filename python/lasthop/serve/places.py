"""Names that clients send, as files below the server's folder. No text of a client is used as a path unchecked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from lasthop.errors import InputError

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+= -]{0,119}")
"""Names of files and folders: no separator, no leading dot or dash."""


def checked_name(name: str) -> str:
    """Return the name. Raises InputError unless it is one of a file directly in a folder."""
    if not _NAME.fullmatch(name) or name.endswith((" ", ".")):
        raise InputError(f"{name[:100]!r} is no name", key="name", help="use letters, digits, and . _ + = - within it")
    return name


def below(folder: Path, *names: str) -> Path:
    """Return the path of `names` below the folder. Raises InputError if it leads out of it, by a symbolic link too."""
    path = folder.joinpath(*(checked_name(name) for name in names))
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError("leads out of the server's folder", file=names[-1], help="put the file itself there")
    return path


def check_references(text: str, folder: Path) -> None:
    """Raise InputError if a scenario names a file outside of the folder.

    Scenarios name profiles, traces and distributions as paths relative to their own. Every text in the file is checked
    instead of a list of keys, so that a new key cannot be forgotten. A text that is no TOML names no file.
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    for key, value in _texts(tree):
        if leads_out(value, folder):
            raise InputError("names a file outside of the server's folder", key=key, help=f"copy it to {folder}")


def leads_out(value: str, folder: Path) -> bool:
    """Whether a text, taken as a path relative to the folder, leads out of it."""
    if "\0" in value or len(value) > 4096:
        return True
    if Path(value).is_absolute() or ".." in Path(value).parts:
        return True
    try:
        return not (folder / value).resolve().is_relative_to(folder.resolve())
    except OSError:
        return False


def _texts(tree: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text of a tree with its dotted key; the name of a table too, which may be a text of the user's."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from _texts(value, f"{key}.{name}" if key else name)
    elif isinstance(tree, list):
        for place, value in enumerate(tree):
            yield from _texts(value, f"{key}[{place}]")
    elif isinstance(tree, str) and key not in ("summary", "name"):
        yield key, tree
