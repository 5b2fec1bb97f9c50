"""The tree of exceptions, all in one place.

    LasthopError            every error that this package raises itself
    ├── InputError          the input is wrong (exit status 2); has file, line, key, message and remedy
    └── RunError            the input was valid and the run failed (exit status 1)
        ├── LiveError       this machine cannot run in real time, or a real-time run failed
        ├── OracleError     a program that a study compares with is missing, or gave no answer
        └── StudyError      a case of a study failed; the others are kept

The Rust side raises the same classes: `crates/python/src/error.rs` maps each of its errors to one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar


class LasthopError(Exception):
    """Base of all errors of this package. `exit_status` is that of the command."""

    exit_status: ClassVar[int] = 1


class InputError(LasthopError):
    """A file, a value or an argument is wrong. Nothing was run and nothing was written.

    `file`, `line` (from 1) and `key` (dotted) say where, if known; `help` says what would be right.
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
        """Return the same error with its place, for callers that know more than the code that raised it."""
        return InputError(self.message, file=file, line=line, key=key, help=self.help)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        where = [part for part in (place, self.key) if part]
        what = self.message if self.help is None else f"{self.message} — {self.help}"
        return ": ".join([*where, what])


class RunError(LasthopError):
    """A run with valid input failed."""


class LiveError(RunError):
    """Real time is not possible on this machine, or a real-time run failed; the message has the remedy."""


class OracleError(RunError):
    """A program that a study compares with is missing on this machine, or gave no answer. Nothing was run."""


class StudyError(RunError):
    """A case of a study failed. Finished runs are kept, and the next start continues with the others."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the name of a file to an OSError without one: writing to a full disk raises such an error."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
