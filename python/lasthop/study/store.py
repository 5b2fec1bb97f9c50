"""The finished runs of a study: one line per run, appended as runs end, so that a killed study can continue.

A line is used if its key agrees: the hash of the resolved scenario, the seed, the build of the engine, and the names
and source of the checks that measured the run. A truncated last line is removed; any other line that cannot be read is
kept and ignored. The runs of both are repeated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

from lasthop.errors import InputError, naming
from lasthop.results.folder import STORE_FILE, looks_incomplete
from lasthop.system import lock

Outcome = Mapping[str, Any]
"""The kept outcome of one run: its summary, and the numbers of its checks."""


_COMPACT: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def run_key(scenario_hash: str, seed: int, records: tuple[str, ...], engine: str, checks: str = "") -> str:
    """Return the key of one run, 32 hexadecimal digits. Runs with equal keys have equal outcomes."""
    text = "\n".join([scenario_hash, str(seed), ",".join(records), engine, *([checks] if checks else [])])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Store:
    """The finished runs of one study folder. A context manager; one process at a time holds it."""

    def __init__(self, folder: Path) -> None:
        _check_folder(folder)
        self.folder = folder
        self._path = folder / STORE_FILE
        self.damaged: list[int] = []
        """Numbers of the lines that could not be read, from 1."""
        self._outcomes: dict[str, Outcome] = {}

    def __enter__(self) -> Self:
        self._file = _opened(self.folder)
        try:
            lock(self._file)
        except BlockingIOError:
            self._file.close()
            raise InputError(
                "another study is writing here",
                file=str(self.folder),
                help="wait for it, or name another folder with --out",
            ) from None
        self._read()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._outcomes)

    def get(self, key: str) -> Outcome | None:
        """Return the outcome of a run; None if it is missing."""
        return self._outcomes.get(key)

    def put(self, key: str, about: Mapping[str, Any], summary_json: str) -> None:
        """Append a finished run: its further keys, and its summary. Call `flush` after the last of several."""
        head = _COMPACT.encode({"key": key, **about})
        # Concatenated as text: the summary is JSON already.
        with naming(self._path):
            self._file.write(f"{head[:-1]},{summary_json[1:]}\n".encode())
        self._outcomes[key] = {**about, **json.loads(summary_json)}

    def flush(self) -> None:
        """Write the stored outcomes to the file."""
        with naming(self._path):
            self._file.flush()

    def _read(self) -> None:
        self._file.seek(0)
        whole = 0
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            entry = _entry(line)
            if entry is None:
                self.damaged.append(number)
            else:
                self._outcomes[entry.pop("key")] = entry
        # Anything after the last complete line is a truncated line, to which no new line may be appended.
        self._file.truncate(whole)


def _opened(folder: Path) -> BinaryIO:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / STORE_FILE).open("a+b")
    except OSError as error:
        raise InputError(
            f"cannot write here: {error.strerror}", file=str(folder), help="choose another folder with --out"
        ) from error


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (json.JSONDecodeError, UnicodeDecodeError):
        return None
    return entry if isinstance(entry, dict) and "key" in entry else None


def _check_folder(folder: Path) -> None:
    """Raise InputError unless the folder is new, empty, or a study's."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError("is a file, not a folder", file=str(folder), help="name a new folder with --out")
    if (folder / STORE_FILE).is_file() or not any(folder.iterdir()):
        return
    what = "holds a run or an incomplete result" if looks_incomplete(folder) else "is no study's"
    raise InputError(f"exists and {what}, so it is left alone", file=str(folder), help="name a new folder with --out")
