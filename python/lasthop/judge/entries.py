"""The entries of a league: a profile, or a congestion control of the user's own in a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lasthop import catalogue
from lasthop.errors import InputError

AROUND: Final = "cubic"
"""The profile around a congestion control of the user's own: SACK, RFC 6675, RFC 6298."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A name, the profile of the connection, and a class of Python ("mine.py:Mine") in place of its algorithm."""

    name: str
    profile: str
    program: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        return {"name": self.name, "profile": self.profile, "program": self.program}

    @staticmethod
    def from_json(given: Mapping[str, Any]) -> Entry:
        """Return the entry of `to_json`."""
        return Entry(given["name"], given["profile"], given["program"])


def parse_entry(text: str) -> Entry:
    """Read "cubic", "mine.toml", "mine.py:Mine", or one of them with a name of its own, "ours=mine.py:Mine".

    Raises InputError for a name that is neither a profile nor a file.
    """
    name, _, what = text.rpartition("=")
    if ".py:" in what:
        file = what.rpartition(":")[0]
        if not Path(file).is_file():
            raise InputError("there is no such file", file=file, key=text, help="name a file, a colon, a class of it")
        return Entry(name or what.rpartition(":")[2], AROUND, what)
    if not what.endswith(".toml") and what not in [known.name for known in catalogue.entries("profiles")]:
        help = "lasthop list profiles shows the names; write mine.py:Mine for a class of Python"
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
