"""A table's columns as numpy arrays, in the units that are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lasthop.errors import InputError

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.object_]

Encoding = tuple[npt.NDArray[np.int64], list[str]]

NANOSECONDS_PER_SECOND = 1e9


class Columns:
    """A table whose columns are read as arrays. Rows keep their order."""

    def __init__(self, name: str, table: pa.Table) -> None:
        self.name = name
        self._table = table
        self._encodings: dict[str, Encoding] = {}

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __contains__(self, column: str) -> bool:
        return column in self._table.column_names

    @property
    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._table

    @property
    def column_names(self) -> list[str]:
        """The columns' names, in their order."""
        return [str(name) for name in self._table.column_names]

    def numbers(self, column: str) -> Floats:
        """A number per row; NaN where it is null. Exact for whole numbers below 2^53."""
        numbers = _one_chunk(pc.cast(self._column(column), pa.float64(), safe=False))
        values = np.frombuffer(numbers.buffers()[1], np.float64, len(numbers), numbers.offset * 8)
        return np.where(_valid(numbers), values, np.nan)

    def seconds(self, column: str) -> Floats:
        """A time per row in seconds, from a column of nanoseconds; NaN where it is null."""
        return self.numbers(column) / NANOSECONDS_PER_SECOND

    def texts(self, column: str) -> Texts:
        """A text per row; empty where it is null."""
        places, texts = self._encoded(column)
        return np.array([*texts, ""], dtype=np.object_)[places]

    def flags(self, column: str) -> Booleans:
        """Yes or no per row; no where it is null."""
        flags = _one_chunk(pc.cast(self._column(column), pa.bool_()))
        return _valid(flags) & _unpacked(flags.buffers()[1], flags)

    def known(self, column: str) -> Booleans:
        """Where the column is not null."""
        return _valid(_one_chunk(self._column(column)))

    def where(self, rows: Booleans) -> Columns:
        """Only the rows that are marked."""
        return Columns(self.name, self._table.filter(_bits(rows)))

    def equal(self, column: str, text: str) -> Columns:
        """Only the rows that have `text` in `column`."""
        places, texts = self._encoded(column)
        return self.where(places == (texts.index(text) if text in texts else len(texts)))

    def groups(self, column: str) -> list[Booleans]:
        """The rows of each number in a column, in one go where there is no such column."""
        if column not in self:
            return [np.ones(len(self), dtype=np.bool_)]
        numbers = self.numbers(column)
        return [numbers == number for number in np.unique(numbers)]

    def distinct(self, column: str) -> list[str]:
        """The texts of a column, each once, in the order in which they come first."""
        places, texts = self._encoded(column)
        named = [*texts, ""]
        return list(dict.fromkeys(named[place] for place in places[np.sort(np.unique(places, return_index=True)[1])]))

    def _encoded(self, column: str) -> Encoding:
        """The place of each row's text among the texts of a column, −1 where it is null, and these texts."""
        if column not in self._encodings:
            self._encodings[column] = _encoded(pc.cast(self._column(column), pa.string()))
        return self._encodings[column]

    def _column(self, column: str) -> Any:  # pyarrow has no types
        if column not in self:
            raise InputError(
                f"the table {self.name!r} has no column {column!r} (it has: {', '.join(self.column_names)})",
                help="run the scenario again with this version of lasthop",
            )
        return self._table.column(column)


def _encoded(texts: pa.ChunkedArray) -> Encoding:
    """The place of each text among the distinct ones, −1 where it is null, and these."""
    encoded = _one_chunk(texts).dictionary_encode()
    places = np.frombuffer(encoded.indices.buffers()[1], np.int32, len(texts))
    return np.where(_valid(encoded), places, -1), encoded.dictionary.to_pylist()


# What pyarrow does by to_numpy(), array() and scalar() loads pandas first; that takes longer than much of a picture.


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks > 0 else pa.nulls(0, column.type)


def _valid(values: pa.Array) -> Booleans:
    """Where values are not null."""
    bits = values.buffers()[0]
    return np.ones(len(values), dtype=np.bool_) if bits is None else _unpacked(bits, values)


def _unpacked(bits: pa.Buffer, values: pa.Array) -> Booleans:
    """A bit per value of an array, one of its buffers."""
    end = values.offset + len(values)
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8), count=end, bitorder="little")
    return unpacked[values.offset :].astype(np.bool_)


def _bits(rows: Booleans) -> pa.BooleanArray:
    """The marks as an Arrow array."""
    packed = pa.py_buffer(np.packbits(rows, bitorder="little"))
    return pa.BooleanArray.from_buffers(pa.bool_(), len(rows), [None, packed])
