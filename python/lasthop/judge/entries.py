"""The entries of a league: a profile, or a congestion control of the user's own in a profile."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lasthop import catalogue
from lasthop.errors import InputError

AROUND: Final = "cubic"
"""The profile around a congestion control of the user's own: SACK, RFC 6675, RFC 6298."""

MODULES: Final = (".c", ".so")
"""Endings of a module of Linux: its text in C, and a plug-in."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A name, the profile of the connection, and a program in place of its algorithm.

    The program is a class of Python ("mine.py:Mine") or a module of Linux ("tcp_mine.c").
    """

    name: str
    profile: str
    program: str | None = None

    @property
    def congestion(self) -> dict[str, str] | None:
        """The program as an override names it; None where the profile's algorithm runs."""
        return None if self.program is None else {self._language: self.program}

    def congestion_beside(self, folder: Path) -> dict[str, str] | None:
        """Return the program as a file in `folder` names it."""
        if self.program is None:
            return None
        file, colon, name = self.program.rpartition(":") if self._language == "python" else (self.program, "", "")
        return {self._language: f"{os.path.relpath(file, folder)}{colon}{name}"}

    @property
    def _language(self) -> str:
        return "linux" if (self.program or "").endswith(MODULES) else "python"

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        return {"name": self.name, "profile": self.profile, "program": self.program}

    @staticmethod
    def from_json(given: Mapping[str, Any]) -> Entry:
        """Return the entry of `to_json`."""
        return Entry(given["name"], given["profile"], given["program"])


def parse_entry(text: str) -> Entry:
    """Read "cubic", "mine.toml", "mine.py:Mine", "tcp_mine.c", or one with a name of its own, "ours=mine.py:Mine".

    Raises InputError for a name that is neither a profile nor a file.
    """
    name, _, what = text.rpartition("=")
    is_class, is_module = ".py:" in what, what.endswith(MODULES)
    if is_class or is_module:
        file = what.rpartition(":")[0] if is_class else what
        if not Path(file).is_file():
            help = "name a file, a colon, a class of it" if is_class else "name a file in C, or its plug-in"
            raise InputError("there is no such file", file=file, key=text, help=help)
        own = what.rpartition(":")[2] if is_class else Path(what).stem
        return Entry(name or own, AROUND, what)
    if not what.endswith(".toml") and what not in [known.name for known in catalogue.entries("profiles")]:
        help = "lasthop list profiles shows the names; mine.py:Mine is a class of Python, tcp_mine.c a module"
        raise InputError(f"{what!r} is no profile", key=text, help=help)
    return Entry(name or what.rpartition("/")[2].removesuffix(".toml"), what)


def distinct(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries. Raises InputError where two have one name, or there is none."""
    if not entries:
        raise InputError("there is no entry", key="ENTRIES", help="name profiles, such as cubic bbr3")
    names = [entry.name for entry in entries]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError("two entries have this name", key=twice, help=f"name one of them: other={twice}")
    return list(entries)
