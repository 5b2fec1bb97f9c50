"""The tree of exceptions, all in one place.

    LasthopError            anything this package raises on purpose
    ├── InputError          the input is wrong (exit status 2): says file, line, key, what, and what would be right
    └── RunError            the input was fine and the run failed (exit status 1)
        ├── LiveError       this machine cannot do real time, or a real-time run went wrong
        ├── OracleError     a program that a study compares with is not here, or did not answer
        └── StudyError      a case of a study failed; the others are kept

The Rust side raises the same classes: `crates/python/src/error.rs` maps each of its errors to one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar


class LasthopError(Exception):
    """Anything that lasthop raises on purpose. `exit_status` is what the command ends with."""

    exit_status: ClassVar[int] = 1


class InputError(LasthopError):
    """A file, a value or an argument is wrong. Nothing was run and nothing was written.

    `file`, `line` (from 1) and `key` (dotted) say where, as far as known; `help` says what would be right.
    """

    exit_status: ClassVar[int] = 2

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        key: str | None = None,
        help: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.key = key
        self.help = help

    def at(self, *, file: str, line: int | None, key: str) -> InputError:
        """Return the same, said of a place that whoever found it did not know."""
        return InputError(self.message, file=file, line=line, key=key, help=self.help)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        where = [part for part in (place, self.key) if part]
        what = self.message if self.help is None else f"{self.message} — {self.help}"
        return ": ".join([*where, what])


class RunError(LasthopError):
    """A run that was well specified failed."""


class LiveError(RunError):
    """Real time is not possible here, or a real-time run failed; the message carries the remedy."""


class OracleError(RunError):
    """A program that a study compares with is not on this machine, or gave no answer. Nothing was run."""


class StudyError(RunError):
    """Some case of a study failed. Everything that finished is kept, and the next start goes on from there."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give the name of a file to an OSError that has none: a full disk is noticed only while writing or closing."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
