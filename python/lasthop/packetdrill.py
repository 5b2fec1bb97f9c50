"""packetdrill scripts, run in virtual time against the TCP of a profile."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from lasthop._native import packetdrill as _run
from lasthop.catalogue import LIBRARY, file_of
from lasthop.errors import InputError

DEFINITIONS: Mapping[str, str] = {
    "TFO_COOKIE": "3021b9d889017eeb",
    "TFO_COOKIE_ZERO": "b7c12350a90dc8f5",
    "CMSG_LEVEL_IP": "SOL_IP",
    "CMSG_TYPE_RECVERR": "IP_RECVERR",
    "CODE": "host_unreachable",
}
"""Texts of the names that packetdrill's own suite leaves to its driver. The cookies are those of a server at
192.168.0.1 for a client at 192.0.2.1, under the key that the suite sets and under the key 0."""

DEFAULT_PROFILE: Final = "linux-6"
"""The TCP under test where neither the caller nor the script names one."""

_PROFILE: Final = re.compile(r"^\s*//\s*profile:\s*(\S+)\s*$", re.MULTILINE)
"""Comment of a script that names the profile for which it is written."""


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
    """The result of one script against the TCP of a profile.

    `notes` are settings and commands of the script that were skipped.
    """

    file: str
    profile: str
    passed: bool
    line: int | None
    expected: str | None
    got: str | None
    timeline: Sequence[Entry]
    notes: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        """Return the object that `lasthop packetdrill --json` prints."""
        return asdict(self)


def run_script(
    file: str | Path, profile: str | None = None, definitions: Mapping[str, str] = DEFINITIONS
) -> ScriptResult:
    """Run the script in `file`, a path or a name of the library. Raises InputError if it cannot be read or run.

    Without a `profile` it is that of the script's comment `// profile: NAME`, or else `linux-6`. `definitions` replace
    names of the script by texts, as the option `-D` of packetdrill does.
    """
    help = "give the path of a packetdrill script, or a name of `lasthop list scripts`"
    try:
        text = file_of("scripts", file).read_text("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("is not a text file", file=str(file), help=help) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(file), help=help) from error
    profile = profile or _profile_of(text)
    found = json.loads(_run(text, str(file), profile, str(LIBRARY), definitions))
    timeline = [Entry(**entry) for entry in found.pop("timeline")]
    return ScriptResult(file=str(file), profile=profile, timeline=timeline, **found)


def _profile_of(text: str) -> str:
    """Return the profile for which a script is written."""
    named = _PROFILE.search(text)
    return named[1] if named else DEFAULT_PROFILE


def run_scripts(
    files: Iterable[str | Path], profile: str | None = None, definitions: Mapping[str, str] = DEFINITIONS
) -> tuple[Sequence[ScriptResult], Sequence[Refusal]]:
    """Run scripts in sequence, and return the results, and the refusals of scripts that cannot be run.

    `profile` and `definitions` are those of `run_script`. Raises InputError if the profile is wrong, which concerns all
    scripts.
    """
    results, refused = [], []
    for file in files:
        try:
            results.append(run_script(file, profile, definitions))
        except InputError as error:
            if error.file != str(file):
                raise
            refused.append(Refusal(str(file), error.line, error.message, error.help))
    return results, refused


def scripts_of(names: Iterable[str | Path]) -> Sequence[str | Path]:
    """Return the scripts that `names` stand for: of a folder, all below it, in the order of their paths."""
    scripts: list[str | Path] = []
    for name in names:
        if not Path(name).is_dir():
            scripts.append(name)
            continue
        found = sorted(Path(name).rglob("*.pkt"))
        if not found:
            raise InputError("has no script", file=str(name), help="give a folder with files that end in .pkt")
        scripts.extend(found)
    return scripts


@dataclass(slots=True)
class FolderCount:
    """The scripts of a folder: those that pass, those that fail, and those that cannot be run."""

    folder: str
    passed: int = 0
    failed: int = 0
    refused: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the object that `lasthop packetdrill --json` prints."""
        return asdict(self)


def by_folder(results: Iterable[ScriptResult], refused: Iterable[Refusal]) -> Sequence[FolderCount]:
    """Count the scripts of each folder, in the order of their names."""
    counts: dict[str, FolderCount] = {}

    def count_of(file: str) -> FolderCount:
        folder = str(Path(file).parent)
        return counts.setdefault(folder, FolderCount(folder))

    for result in results:
        count = count_of(result.file)
        count.passed += result.passed
        count.failed += not result.passed
    for one in refused:
        count_of(one.file).refused += 1
    return [counts[folder] for folder in sorted(counts)]
