"""Files of earlier versions in the form of this one: what `lasthop convert` does."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lasthop import _native
from lasthop.errors import InputError, naming
from lasthop.scenario.resolved import parse_scenario

BESIDE: Final = ".converted.toml"
"""Suffix of the file that is written next to the converted one."""


@dataclass(frozen=True)
class Conversion:
    """A file with a choice in an earlier form, and its text in the form of this version."""

    file: Path
    text: str

    def target(self, *, in_place: bool) -> Path:
        """Return the path to write: the file, or one next to it."""
        return self.file if in_place else self.file.with_suffix(BESIDE)

    def write(self, target: Path) -> None:
        """Write the text, whole or not at all, with the permissions of the file. Raises OSError."""
        partial = target.with_name(f".{target.name}.partial-{os.getpid()}")
        with naming(target):
            try:
                partial.write_bytes(self.text.encode())
                shutil.copymode(self.file, partial)
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)

    def remaining_mistake(self) -> InputError | None:
        """Return what a run of the converted file would report, if it is a scenario."""
        if "[[flows]]" not in self.text and "flows =" not in self.text:
            return None
        try:
            parse_scenario(self.text, source=str(self.file))
        except InputError as error:
            return error
        return None


def toml_files(path: Path) -> list[Path]:
    """Return a file, or the TOML files below a folder, hidden folders left out. Raises InputError if there are none."""
    if not path.exists():
        raise InputError("no such file or folder", file=str(path), help="name a file or a folder of files in TOML")
    if path.is_file():
        return [path]
    found = sorted(file for file in path.rglob("*.toml") if file.is_file() and not _is_hidden(file.relative_to(path)))
    if not found:
        raise InputError("has no TOML file", file=str(path), help="name the folder of scenarios, profiles or links")
    return found


def conversion_of(file: Path) -> Conversion | None:
    """Return the conversion of a file, or None if it has no choice in an earlier form.

    Raises InputError for a file that is not TOML, or whose conversion would lose a comment or a value.
    """
    with naming(file):
        content = file.read_bytes()
    try:
        text = _native.upgrade(content.decode(), str(file))
    except UnicodeDecodeError as error:
        raise InputError("is no text in UTF-8", file=str(file), help="convert its encoding first") from error
    return None if text is None else Conversion(file, text)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
