"""packetdrill scripts, run in virtual time against the TCP of a profile."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lasthop._native import packetdrill as _run
from lasthop.catalogue import LIBRARY, file_of
from lasthop.errors import InputError


@dataclass(frozen=True, slots=True)
class Entry:
    """An event of a run, and the line of the script that caused it, if one did."""

    at_s: str
    line: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a script was not run: it cannot be read, or uses something that is not supported."""

    file: str
    line: int | None
    message: str
    help: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the object that `lasthop packetdrill --json` prints."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """The result of one script. `notes` are settings and commands of the script that were skipped."""

    file: str
    passed: bool
    line: int | None
    expected: str | None
    got: str | None
    timeline: Sequence[Entry]
    notes: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        """Return the object that `lasthop packetdrill --json` prints."""
        return asdict(self)


def run_script(file: str | Path, profile: str = "linux-6") -> ScriptResult:
    """Run the script in `file`, a path or a name of the library. Raises InputError if it cannot be read or run."""
    help = "give the path of a packetdrill script, or a name of `lasthop list scripts`"
    try:
        text = file_of("scripts", file).read_text()
    except UnicodeDecodeError as error:
        raise InputError("is not a text file", file=str(file), help=help) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(file), help=help) from error
    found = json.loads(_run(text, str(file), profile, str(LIBRARY)))
    timeline = [Entry(**entry) for entry in found.pop("timeline")]
    return ScriptResult(file=str(file), timeline=timeline, **found)


def run_scripts(
    files: Iterable[str | Path], profile: str = "linux-6"
) -> tuple[Sequence[ScriptResult], Sequence[Refusal]]:
    """Run scripts in sequence, and return the results, and the refusals of scripts that cannot be run.

    Raises InputError if the profile is wrong, which concerns all scripts.
    """
    results, refused = [], []
    for file in files:
        try:
            results.append(run_script(file, profile))
        except InputError as error:
            if error.file != str(file):
                raise
            refused.append(Refusal(str(file), error.line, error.message, error.help))
    return results, refused
