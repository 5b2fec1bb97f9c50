"""The published values of a document: a CSV file next to the study, one row for each number."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lasthop.errors import InputError
from lasthop.study.plan import PublishedFile

Key = tuple[str, ...]
"""The name of a row: its values in the study's columns, in the study's order."""


@dataclass(slots=True)
class Published:
    """The published statistics of one row, by name (`median`, `q25`, `q75`, …), and whether they are uncertain."""

    values: dict[str, float] = field(default_factory=dict)
    uncertain: int = 0


def read_published(source: PublishedFile | None, columns: Sequence[str]) -> dict[Key, Published]:
    """Read the published values by row; an empty mapping if the study has no file of them.

    Raises InputError, with file, line and column, if a value is no number or a line has the wrong number of fields.
    """
    if source is None:
        return {}
    found: dict[Key, Published] = {}
    for line, fields in enumerate(csv.DictReader(_text(source.file).splitlines()), 2):
        if None in fields or None in fields.values():
            raise InputError(
                "has more or fewer fields than the header line",
                file=str(source.file),
                line=line,
                help="put a text with a comma in quotes, and write numbers with a point",
            )
        row = found.setdefault(tuple(fields[column] for column in columns), Published())
        row.values[fields[source.statistic]] = _number(fields, source.value, source.file, line)
        row.uncertain = max(row.uncertain, int(_number(fields, source.uncertain, source.file, line)))
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise InputError("the published values cannot be read", file=str(path), help=error.strerror) from error


def _number(fields: Mapping[str, str], column: str, path: Path, line: int) -> float:
    text = fields.get(column)
    try:
        return float(text or "")
    except ValueError:
        raise InputError(
            f"{text!r} is no number", file=str(path), line=line, key=column, help="write a plain number"
        ) from None
