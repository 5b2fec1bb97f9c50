"""The parts of a run that need only its summary, in memory or on disk: flows and links as tables, and short views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lasthop.results.html import summary_html

if TYPE_CHECKING:
    import pyarrow as pa


class Summarised:
    """A run with a summary. Subclasses have `summary`, `name` and `table_names`."""

    summary: Mapping[str, Any]
    name: str
    table_names: tuple[str, ...]

    @property
    def flows(self) -> pa.Table:
        """The flows and their measures, a row each; `.to_pandas()` makes a frame of it.

        >>> import lasthop
        >>> lasthop.run("quickstart").flows.select(["flow", "bytes", "completed"]).to_pylist()
        [{'flow': 'download', 'bytes': 1000000, 'completed': True}]
        """
        return plain_table(self.summary["flows"])

    @property
    def links(self) -> pa.Table:
        """The directions of the links and their counts, a row each.

        >>> import lasthop
        >>> lasthop.run("quickstart").links.select(["link", "direction"]).to_pylist()
        [{'link': 'lasthop', 'direction': 'down'}, {'link': 'lasthop', 'direction': 'up'}]
        """
        return plain_table(self.summary["links"])

    def __repr__(self) -> str:
        summary = self.summary
        seed = "" if summary.get("seed") is None else f", seed {summary['seed']}"
        counts = f"{_counted(summary['flows'], 'flow')}, {_counted(summary['links'], 'direction')} of links"
        tables = ", ".join(self.table_names) or "none"
        seconds = f"{summary['stopped_s']:.3f} s"
        kind = type(self).__name__
        return f"<{kind} {self.name}{seed}: {summary['clock']} clock, {seconds}, {counts}; tables: {tables}>"

    def _repr_html_(self) -> str:
        return summary_html(self.summary)


def _counted(rows: Sequence[object], word: str) -> str:
    return f"{len(rows)} {word}" if len(rows) == 1 else f"{len(rows)} {word}s"


def plain_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table of their plain values. Columns without any value, lists and mappings are left out."""
    import pyarrow as pa

    plain = [{key: value for key, value in row.items() if not isinstance(value, list | dict)} for row in rows]
    columns = dict.fromkeys(key for row in plain for key in row)
    table = pa.table({key: [row.get(key) for row in plain] for key in columns})
    return table.select([field.name for field in table.schema if not pa.types.is_null(field.type)])
