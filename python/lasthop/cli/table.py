"""A table as text: columns side by side, two spaces apart, under a header line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.table import Table as RichTable

GAP: Final = 2
"""Spaces between columns."""


class Table:
    """Rows of cells under a title and a header. A column with a number in some row is right-aligned."""

    def __init__(
        self, title: str | None, columns: Sequence[str], rows: Sequence[Sequence[Any]], text_of: Callable[[Any], str]
    ) -> None:
        self._title = title
        self._columns = [str(column) for column in columns]
        self._numeric = [any(isinstance(row[place], int | float) for row in rows) for place in range(len(columns))]
        self._rows = [[text_of(cell) for cell in row] for row in rows]
        lines = [self._columns, *self._rows]
        self._widths = [max(_cells(line[place]) for line in lines) for place in range(len(columns))]

    def fits(self, width: int) -> bool:
        """Whether `width` columns of a terminal hold the table, with every cell and the title on one line."""
        own = sum(self._widths) + GAP * (len(self._widths) - 1)
        texts = [self._title or "", *self._columns, *(cell for row in self._rows for cell in row)]
        is_plain = all(text.isprintable() for text in texts)
        return is_plain and own <= width and _cells(self._title or "") <= own

    def head(self) -> Iterator[str]:
        """Yield the title, if there is one, and the header line."""
        if self._title is not None:
            yield self._title
        yield self._line(self._columns)

    def body(self) -> Iterator[str]:
        """Yield the line of each row."""
        yield from (self._line(row) for row in self._rows)

    def to_rich(self) -> RichTable:
        """Return the table for Rich, which folds cells that are too wide."""
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(
            title=self._title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False
        )
        for column, numeric in zip(self._columns, self._numeric, strict=True):
            table.add_column(column, justify="right" if numeric else "left")
        for row in self._rows:
            table.add_row(*(Text(cell) for cell in row))
        return table

    def _line(self, texts: Sequence[str]) -> str:
        cells = zip(texts, self._widths, self._numeric, strict=True)
        return (" " * GAP).join(_padded(text, width, numeric) for text, width, numeric in cells).rstrip()


def _padded(text: str, width: int, numeric: bool) -> str:
    room = " " * (width - _cells(text))
    return room + text if numeric else text + room


def _cells(text: str) -> int:
    """Return the number of terminal columns that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
