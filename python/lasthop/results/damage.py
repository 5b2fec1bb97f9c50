"""Damage of a result that shows only when its tables are read: values that no run writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lasthop.errors import InputError
from lasthop.provenance import sha256_of
from lasthop.results.run import RunResult


@contextmanager
def reporting_damage(*sources: object) -> Iterator[None]:
    """Raise InputError for an exception in the block if one of the sources is a folder with a changed file.

    An exception over files that have the SHA-256 of their index is a fault of lasthop, and passes.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        for source in sources:
            if isinstance(source, RunResult) and (name := changed_file(source)) is not None:
                raise InputError(
                    f"is damaged: {name} is not the file that the run wrote ({type(error).__name__}: {error})",
                    file=str(source.path),
                    help="run the scenario again",
                ) from error
        raise


def changed_file(result: RunResult) -> str | None:
    """Return the name of a file that does not have the SHA-256 of the index; None if all have it."""
    files = result.index["files"].items()
    return next((name for name, its in files if sha256_of(result.path / name) != its.get("sha256")), None)
