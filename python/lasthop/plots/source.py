"""The source of a picture's tables: a result folder, or tables in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from lasthop.errors import InputError
from lasthop.plots.columns import Columns
from lasthop.quic_connection import is_opened, lacking

if TYPE_CHECKING:
    import pyarrow as pa

    from lasthop.results.run import ArrowStream


class Source(Protocol):
    """Tables with a name: a run's opened folder (`lasthop.open_run`), a study's result, or `Tables`."""

    @property
    def name(self) -> str:
        """The name of the scenario or of the study."""

    @property
    def table_names(self) -> tuple[str, ...]:
        """The names of the tables."""

    def table(self, name: str) -> pa.Table:
        """Return one table. Raises InputError if there is none of that name."""


class Tables:
    """Tables in memory, so that a study can draw without writing. Nothing is copied."""

    def __init__(self, tables: Mapping[str, ArrowStream], name: str = "") -> None:
        self._tables = dict(tables)
        self._name = name

    @property
    def name(self) -> str:
        """The name of the scenario or of the study."""
        return self._name

    @property
    def table_names(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(self._tables)

    def table(self, name: str) -> pa.Table:
        """Return one table. Raises InputError if there is none of that name."""
        if name not in self._tables:
            raise InputError(f"there is no table {name!r} (there are: {', '.join(self._tables) or 'none'})")
        import pyarrow as pa

        return pa.table(self._tables[name])


class ReadOnce:
    """A source that reads each table once, for the drawing of one picture."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.folder_name = str(getattr(getattr(source, "path", None), "name", ""))
        self._read: dict[str, pa.Table] = {}
        self._columns: dict[str, Columns] = {}

    @property
    def name(self) -> str:
        """The name of the scenario or of the study."""
        return self._source.name

    @property
    def table_names(self) -> tuple[str, ...]:
        """The names of the tables."""
        return self._source.table_names

    @property
    def specification(self) -> Mapping[str, Any]:
        """The resolved scenario; empty where it is not known, as for tables in memory."""
        return getattr(self._source, "specification", {})

    @property
    def index(self) -> Mapping[str, Any]:
        """The contents of the result's `run.json`; empty for tables in memory."""
        return getattr(self._source, "index", {})

    def table(self, name: str) -> pa.Table:
        """Return one table. Raises InputError if there is none of that name."""
        if name not in self._read:
            self._read[name] = self._source.table(name)
        return self._read[name]

    def columns(self, name: str) -> Columns:
        """Return the columns of one table. Raises what `table` does."""
        if name not in self._columns:
            self._columns[name] = columns_of(self._source, name)
        return self._columns[name]


def columns_of(source: Source, name: str) -> Columns:
    """Return the columns of a table; those of a result's folder are read one at a time.

    Raises InputError if there is none of that name.
    """
    if isinstance(source, ReadOnce):
        return source.columns(name)
    stored = getattr(source, "stored", None)
    return Columns(name, source.table(name) if stored is None else stored(name))


def check_tables(
    source: Source,
    kind: str,
    needs: tuple[str, ...],
    instead: tuple[str, ...] = (),
    *,
    what: str = "picture",
    others: str = "draw time-sequence, rtt, flight, throughput or progress",
) -> None:
    """Raise InputError, with the way to record it, if `source` lacks a table that `kind` needs.

    The tables `instead` will do, if all are there. `what` is the noun for the kind, and `others` what a capture has in
    its place.
    """
    if instead and set(instead) <= set(source.table_names):
        return
    for name in needs:
        if name not in source.table_names:
            either = "".join(f" or {other!r}" for other in instead)
            raise InputError(
                f"the {what} {kind!r} needs the table {name!r}{either}, which is not there "
                f"(there are: {', '.join(source.table_names) or 'none'})",
                help=_how_to_get(name, source, others),
            )


def check_opened(source: Source, flow: str | None) -> None:
    """Raise InputError, with what is needed, if the flow, or every flow of a capture, is of QUIC without keys."""
    report = getattr(source, "specification", {}).get("report", {})
    unopened = {one["flow"]: one for one in report.get("quic", ()) if "flow" in one and not is_opened(one)}
    others = len(report.get("connections", ())) + len(report.get("quic", ())) - len(unopened)
    if flow in unopened or (unopened and not others):
        one = unopened[flow] if flow in unopened else next(iter(unopened.values()))
        raise InputError(f"the packets of {one['flow']} are encrypted", help=lacking(one))


def _how_to_get(name: str, source: Source, others: str) -> str:
    if str(getattr(source, "index", {}).get("clock")) == "capture":
        return f"a capture has no {name!r}; {others}"
    if name == "cell_users":
        return "every run with a shared channel has it; draw it from one, such as of the scenario hsdpa-cell"
    if name == "variables":
        return (
            "name variables by named_state in a class of Python, or by the key state of a module in C, and record the "
            "table tcp"
        )
    if name == "rows":
        return "draw it from the result of `lasthop study`, not from one run"
    if "rows" in source.table_names:
        return "draw it from the result of one run (`lasthop run … --out`), not from a study"
    return (
        f'add "{name}" to tables under [record] in the scenario and run it again, '
        f"or run it with --set 'record.tables=[\"{name}\"]'"
    )
