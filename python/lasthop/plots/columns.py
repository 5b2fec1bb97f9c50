"""A table's columns as numpy arrays, in the units that are drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lasthop.errors import InputError

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.object_]

Rows = npt.NDArray[np.int64]

Encoding = tuple[Rows, Texts]

NULL = -1
"""The place of no text."""

NANOSECONDS_PER_SECOND = 1e9


class TableColumns(Protocol):
    """Source of a table: an Arrow table, or a table in its file."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""

    @property
    def column_names(self) -> list[str]:
        """The columns' names, in their order."""

    def column(self, name: str) -> pa.ChunkedArray:
        """One column."""


class Columns:
    """A table whose columns are read as arrays, or some of its rows, in their order.

    A column is decoded once, when it is first asked for, whatever rows are chosen of it.
    """

    def __init__(self, name: str, table: TableColumns) -> None:
        self.name = name
        self._table = table
        self._rows: Rows | None = None
        self._decoded: dict[tuple[str, str], Any] = {}

    @classmethod
    def empty(cls, columns: Sequence[str]) -> Columns:
        """A table without rows."""
        return cls("", pa.table({name: pa.array([], pa.float64()) for name in columns}))

    def __len__(self) -> int:
        return int(self._table.num_rows) if self._rows is None else len(self._rows)

    def __contains__(self, column: str) -> bool:
        return column in self._table.column_names

    @property
    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        table = self._table if isinstance(self._table, pa.Table) else pa.table(
            {name: self._table.column(name) for name in self.column_names}
        )  # fmt: skip
        return table if self._rows is None else table.take(_indices(self._rows))

    @property
    def column_names(self) -> list[str]:
        """The columns' names, in their order."""
        return [str(name) for name in self._table.column_names]

    def numbers(self, column: str) -> Floats:
        """A number per row; NaN where it is null. Exact for whole numbers below 2^53.

        A column of texts needs numbers in these rows only: in a study other tables may have words there.
        """
        if _is_text(self._column(column).type):
            return self._numbers_of_texts(column)
        numbers: Floats = self._chosen(self._once("numbers", column, _numbers))
        return numbers

    def seconds(self, column: str) -> Floats:
        """A time per row in seconds, from a column of nanoseconds; NaN where it is null."""
        return self.numbers(column) / NANOSECONDS_PER_SECOND

    def texts(self, column: str) -> Texts:
        """A text per row; empty where it is null."""
        places, texts = self._encoded(column)
        named: Texts = texts[places]
        return named

    def flags(self, column: str) -> Booleans:
        """Yes or no per row; no where it is null."""
        flags: Booleans = self._chosen(self._once("flags", column, _flags))
        return flags

    def known(self, column: str) -> Booleans:
        """The rows in which the column is not null."""
        known: Booleans = self._chosen(self._once("known", column, lambda values: _valid(_one_chunk(values))))
        return known

    def among(self, column: str, texts: Collection[str]) -> Booleans:
        """The rows in which a column has one of the texts."""
        places, _ = self._encoded(column)
        known = self._places(column)
        wanted = [known[text] for text in set(texts) if text in known] + ([NULL] if "" in texts else [])
        if len(wanted) > 1:
            return np.isin(places, wanted)
        found: Booleans = places == wanted[0] if wanted else np.zeros(len(places), dtype=np.bool_)
        return found

    def where(self, rows: Booleans) -> Columns:
        """Only the rows that are marked."""
        return self._of(np.flatnonzero(rows) if self._rows is None else self._rows[rows])

    def at(self, row: int) -> Columns:
        """Only the row at a place."""
        return self._of(np.array([row]) if self._rows is None else self._rows[row : row + 1])

    def equal(self, column: str, text: str) -> Columns:
        """Only the rows that have `text` in `column`; in a whole table, without a look at the other rows."""
        if self._rows is not None or not text:
            return self.where(self.among(column, (text,)))
        place = self._places(column).get(text)
        order, bounds = self._order(column)
        return self._of(order[:0] if place is None else order[bounds[place] : bounds[place + 1]])

    def groups(self, column: str) -> list[Booleans]:
        """The rows of each number in a column, in one go where there is no such column."""
        if column not in self:
            return [np.ones(len(self), dtype=np.bool_)]
        numbers = self.numbers(column)
        return [numbers == number for number in np.unique(numbers)]

    def distinct(self, column: str) -> list[str]:
        """The texts of a column, each once, in the order in which they come first."""
        places, texts = self._encoded(column)
        return list(dict.fromkeys(texts[places[np.sort(np.unique(places, return_index=True)[1])]].tolist()))

    def pairs(self, first: str, second: str) -> list[tuple[str, str]]:
        """The texts of two columns, each pair once, in the order in which they come first."""
        (one, texts), (other, more) = self._encoded(first), self._encoded(second)
        _, rows = np.unique(one.astype(np.int64) * len(more) + other, return_index=True)
        return [(texts[one[row]], more[other[row]]) for row in np.sort(rows).tolist()]

    def _of(self, rows: Rows) -> Columns:
        chosen = Columns(self.name, self._table)
        chosen._rows, chosen._decoded = rows, self._decoded
        return chosen

    def _chosen(self, values: Any) -> Any:
        return values if self._rows is None else values[self._rows]

    def _encoded(self, column: str) -> Encoding:
        """The place of each row's text among the texts of a column, −1 where it is null, and these, the last empty."""
        places, texts = self._once("texts", column, _encoded)
        return self._chosen(places), texts

    def _places(self, column: str) -> dict[str, int]:
        """The place of each distinct text of a column."""
        if ("places", column) not in self._decoded:
            _, texts = self._once("texts", column, _encoded)
            self._decoded["places", column] = {text: place for place, text in enumerate(texts[:NULL].tolist())}
        places: dict[str, int] = self._decoded["places", column]
        return places

    def _numbers_of_texts(self, column: str) -> Floats:
        places, texts = self._encoded(column)
        numbers = np.full(len(texts), np.nan)
        for place in set(places.tolist()) - {NULL}:
            try:
                numbers[place] = float(texts[place])
            except ValueError:
                message = f"column {column!r} of the table {self.name!r} has {texts[place]!r}, which is no number"
                raise InputError(message, help="choose a column of numbers") from None
        return numbers[places]

    def _order(self, column: str) -> tuple[Rows, Rows]:
        """The rows of the whole table sorted by the place of their text, and where each place begins."""
        if ("order", column) not in self._decoded:
            places, texts = self._once("texts", column, _encoded)
            order = np.argsort(places, kind="stable")
            self._decoded["order", column] = order, np.searchsorted(places[order], np.arange(len(texts)))
        order, bounds = self._decoded["order", column]
        return order, bounds

    def _once(self, kind: str, column: str, decode: Callable[[pa.ChunkedArray], Any]) -> Any:
        if (kind, column) not in self._decoded:
            self._decoded[kind, column] = decode(self._column(column))
        return self._decoded[kind, column]

    def _column(self, column: str) -> Any:  # pyarrow has no types
        if column not in self:
            raise InputError(
                f"the table {self.name!r} has no column {column!r} (it has: {', '.join(self.column_names)})",
                help="run the scenario again with this version of lasthop",
            )
        return self._table.column(column)


def found_among(numbers: Floats, wanted: Floats) -> Booleans:
    """Whether each of many whole numbers is wanted. A table of whole numbers is faster than a sort of floats."""
    known = np.isfinite(numbers)
    return known & np.isin(np.where(known, numbers, 0).astype(np.int64), wanted[np.isfinite(wanted)].astype(np.int64))


def _numbers(column: pa.ChunkedArray) -> Floats:
    numbers = _one_chunk(_cast(column, pa.float64(), (pa.int64(),)))
    kind = np.int64 if pa.types.is_int64(numbers.type) else np.float64
    values = np.frombuffer(numbers.buffers()[1], kind, len(numbers), numbers.offset * 8)
    return np.where(_valid(numbers), values, np.nan) if numbers.null_count else values.astype(np.float64, copy=False)


def _is_text(kind: pa.DataType) -> bool:
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(values) or pa.types.is_large_string(values))


def _flags(column: pa.ChunkedArray) -> Booleans:
    flags = _one_chunk(_cast(column, pa.bool_()))
    return _valid(flags) & _unpacked(flags.buffers()[1], flags)


def _encoded(column: pa.ChunkedArray) -> Encoding:
    """The place of each text among the distinct ones, −1 where it is null, and these, the last empty."""
    if not (pa.types.is_dictionary(column.type) and pa.types.is_int32(column.type.index_type)):
        column = _cast(column, pa.string()).dictionary_encode()
    encoded = _one_chunk(column.unify_dictionaries())
    indices = encoded.indices
    places = np.frombuffer(indices.buffers()[1], np.int32, len(indices), indices.offset * 4)
    texts = [str(text) for text in encoded.dictionary.to_pylist()]
    return np.where(_valid(encoded), places, NULL), np.array([*texts, ""], dtype=np.object_)


# What pyarrow does by to_numpy(), array() and scalar() loads pandas first; that takes longer than much of a picture.


def _cast(column: pa.ChunkedArray, to: pa.DataType, as_well: tuple[pa.DataType, ...] = ()) -> pa.ChunkedArray:
    """The column in a type, or as it is if it has that type or one of the others."""
    if column.type in (to, *as_well):
        return column
    import pyarrow.compute as pc  # which takes a tenth of a second, and the columns of runs do not need it

    return pc.cast(column, to, safe=False)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks > 0 else pa.nulls(0, column.type)


def _valid(values: pa.Array) -> Booleans:
    """The rows whose values are not null."""
    bits = values.buffers()[0]
    return np.ones(len(values), dtype=np.bool_) if bits is None else _unpacked(bits, values)


def _unpacked(bits: pa.Buffer, values: pa.Array) -> Booleans:
    """A bit per value of an array, one of its buffers."""
    end = values.offset + len(values)
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8), count=end, bitorder="little")
    return unpacked[values.offset :].astype(np.bool_)


def _indices(rows: Rows) -> pa.Array:
    """Places of rows as an Arrow array."""
    return pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(np.ascontiguousarray(rows))])
