"""What a format of another tool is, and what writing in it needs."""

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
    """One file of an export: its name, and its content."""

    name: str
    content: str | bytes


@dataclass(frozen=True)
class Format:
    """A format: the tables that it `needs`, those that it `uses` where there, and what makes its files of them."""

    id: str
    summary: str
    needs: tuple[str, ...]
    uses: tuple[str, ...]
    files: Callable[[Result], Iterator[Written]]


@dataclass(frozen=True)
class Result:
    """What is exported: the tables, and what is known of the run beside them."""

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
        """A name for its file: the flow's, and the number of a connection behind the first."""
        stem = file_name(self.flow)
        return stem if self.connection <= 1 else f"{stem}-{self.connection}"


def connections(source: Source) -> Iterator[OneConnection]:
    """Each connection of each flow, with only its own rows of `segments`, `packets` and `tcp`."""
    names = [name for name in ("segments", "packets", "tcp") if name in source.table_names]
    for flow in flow_names(source):
        rows = {name: Columns(name, source.table(name)).equal("flow", flow) for name in names}
        numbers = rows["segments"].numbers("connection") if "connection" in rows["segments"] else None
        for number in [1] if numbers is None else sorted({int(each) for each in numbers}):
            own: dict[str, Any] = {name: _of_connection(columns, number) for name, columns in rows.items()}
            yield OneConnection(flow, number, Tables(own, source.name))


def file_name(words: str) -> str:
    """Words as part of a file's name: what is neither letter, digit, dot nor dash becomes an underscore."""
    return re.sub(r"[^\w.-]", "_", words)


def _of_connection(rows: Columns, number: int) -> Any:  # pyarrow has no types
    return (rows.where(rows.numbers("connection") == number) if "connection" in rows else rows).arrow
