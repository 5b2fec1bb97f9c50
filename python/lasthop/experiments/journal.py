"""The journal of a sweep: its finished runs, a line each, so that a sweep that was stopped or failed can continue.

The first line has the order of the sweep. A run is known by the hash of its case and its seed; a scenario that was
changed since has other hashes, and its runs are repeated.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TextIO

from lasthop.errors import InputError, naming

JOURNAL_FILE: Final = "sweep-runs.jsonl"
FORMAT: Final = "lasthop sweep runs 1"

Order = Mapping[str, Any]
Known = dict[tuple[str, int], Mapping[str, Any]]


class Journal:
    """The journal in a sweep's folder, which is made if it is missing."""

    def __init__(self, folder: Path, order: Order) -> None:
        """Open the journal and read the runs that it has. Raises InputError if it cannot be read or written."""
        self._path = folder / JOURNAL_FILE
        with naming(self._path):
            folder.mkdir(parents=True, exist_ok=True)
            self.known: Known = read_runs(folder) if self._path.is_file() else {}
            self._has_runs = bool(self.known)
            self._file: TextIO = self._path.open("w", encoding="utf-8")
        self._write({"format": FORMAT, "order": order})
        for (case, seed), summary in self.known.items():
            self._write({"case": case, "seed": seed, "summary": summary})

    def add(self, case: str, seed: int, summary: Mapping[str, Any]) -> None:
        """Append a finished run, by the hash of its case and its seed."""
        self._has_runs = True
        self._write({"case": case, "seed": seed, "summary": summary})

    def fail(self, case: str, seed: int, reason: str) -> None:
        """Append a failed run with the reason. A sweep that continues repeats it, and its journal begins without it."""
        self._write({"case": case, "seed": seed, "failed": reason})

    def close(self) -> None:
        """Close the file. It stays if a run was finished; else it is removed, and the folder if that is empty."""
        self._file.close()
        if not self._has_runs:
            self._path.unlink()
            if not any(self._path.parent.iterdir()):
                self._path.parent.rmdir()

    def _write(self, line: Mapping[str, Any]) -> None:
        with naming(self._path):
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()


def read_order(folder: Path) -> Order:
    """Return the order of the sweep that a folder's journal is of. Raises InputError if there is none."""
    first = next(_lines(folder), None)
    if first is None or first.get("format") != FORMAT:
        help = "a sweep that has ended has nothing to continue; run it again"
        raise InputError("has no journal of a sweep", file=str(folder / JOURNAL_FILE), help=help)
    order: Order = first["order"]
    return order


def read_runs(folder: Path) -> Known:
    """Return the summaries of the finished runs in a folder's journal, by the hash of the case and the seed."""
    runs = (line for line in _lines(folder) if "summary" in line)
    return {(line["case"], line["seed"]): line["summary"] for line in runs}


def read_failures(folder: Path) -> list[str]:
    """Return the reasons of the failed runs in a folder's journal, with their cases and seeds."""
    return [str(line["failed"]) for line in _lines(folder) if "failed" in line]


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a journal, up to one that was not written to its end."""
    path = folder / JOURNAL_FILE
    if not path.is_file():
        return
    with naming(path), path.open(encoding="utf-8") as file:
        for line in file:
            try:
                yield json.loads(line)
            except ValueError:
                return
