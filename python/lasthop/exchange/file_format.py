"""The description of another tool's format, and the input of its writers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lasthop.plots.columns import Columns
from lasthop.plots.flow import flow_names
from lasthop.plots.source import Source, Tables

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Written:
    """One exported file: its name, and its content."""

    name: str
    content: str | bytes


@dataclass(frozen=True)
class Format:
    """A format: tables that it `needs`, tables that it `uses` if recorded, and the function that makes its files."""

    id: str
    summary: str
    needs: tuple[str, ...]
    uses: tuple[str, ...]
    files: Callable[[Result], Iterator[Written]]


@dataclass(frozen=True)
class Result:
    """The exported result: its tables, summary and version."""

    source: Source
    summary: Mapping[str, Any]
    specification: Mapping[str, Any]
    version: str


@dataclass(frozen=True)
class OneConnection:
    """The tables of one connection of a flow."""

    flow: str
    connection: int
    tables: Tables

    @property
    def file_stem(self) -> str:
        """The name of its file: the flow's name, and the number of a connection after the first."""
        stem = file_name(self.flow)
        return stem if self.connection <= 1 else f"{stem}-{self.connection}"


def connections(source: Source) -> Iterator[OneConnection]:
    """Yield each connection of each flow, with its rows of `segments`, `packets` and `tcp`."""
    names = [name for name in ("segments", "packets", "tcp") if name in source.table_names]
    tables = {name: Columns(name, source.table(name)) for name in names}
    for flow in flow_names(source):
        rows = {name: table.equal("flow", flow) for name, table in tables.items()}
        numbers = rows["segments"].numbers("connection") if "connection" in rows["segments"] else None
        for number in [1] if numbers is None else sorted({int(each) for each in numbers}):
            own: dict[str, Any] = {name: _of_connection(columns, number) for name, columns in rows.items()}
            yield OneConnection(flow, number, Tables(own, source.name))


def file_name(words: str) -> str:
    """Return a text as part of a file name: all but letters, digits, dots and dashes become underscores."""
    return re.sub(r"[^\w.-]", "_", words)


def _of_connection(rows: Columns, number: int) -> Any:  # pyarrow has no types
    return (rows.where(rows.numbers("connection") == number) if "connection" in rows else rows).arrow
