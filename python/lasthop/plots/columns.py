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

NANOSECONDS_PER_SECOND = 1e9


class Columns:
    """A table whose columns are read as arrays. Rows keep their order."""

    def __init__(self, name: str, table: pa.Table) -> None:
        self.name = name
        self._table = table

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
        values = pc.cast(self._column(column), pa.float64(), safe=False)
        return np.asarray(values.to_numpy(), dtype=np.float64)

    def seconds(self, column: str) -> Floats:
        """A time per row in seconds, from a column of nanoseconds; NaN where it is null."""
        return self.numbers(column) / NANOSECONDS_PER_SECOND

    def texts(self, column: str) -> Texts:
        """A text per row; empty where it is null."""
        values = pc.fill_null(pc.cast(self._column(column), pa.string()), "")
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.object_)

    def flags(self, column: str) -> Booleans:
        """Yes or no per row; no where it is null."""
        values = pc.fill_null(pc.cast(self._column(column), pa.bool_()), False)
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.bool_)

    def known(self, column: str) -> Booleans:
        """Where the column is not null."""
        return np.asarray(self._column(column).is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)

    def where(self, rows: Booleans) -> Columns:
        """Only the rows that are marked."""
        return Columns(self.name, self._table.filter(pa.array(rows)))

    def equal(self, column: str, text: str) -> Columns:
        """Only the rows that have `text` in `column`."""
        rows = pc.fill_null(pc.equal(pc.cast(self._column(column), pa.string()), text), False)
        return Columns(self.name, self._table.filter(rows))

    def groups(self, column: str) -> list[Booleans]:
        """The rows of each number in a column, in one go where there is no such column."""
        if column not in self:
            return [np.ones(len(self), dtype=np.bool_)]
        numbers = self.numbers(column)
        return [numbers == number for number in np.unique(numbers)]

    def distinct(self, column: str) -> list[str]:
        """The texts of a column, each once, in the order in which they come first."""
        return [str(text) for text in dict.fromkeys(self.texts(column))]

    def _column(self, column: str) -> Any:  # pyarrow has no types
        if column not in self:
            raise InputError(
                f"the table {self.name!r} has no column {column!r} (it has: {', '.join(self.column_names)})",
                help="run the scenario again with this version of lasthop",
            )
        return self._table.column(column)
