"""A recorded table in its file, whose columns are read one at a time."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasthop.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


class StoredTable:
    """A table of a result's folder. Texts are read with their dictionary: a flow's name is then stored once."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return int(self._file.metadata.num_rows)

    @cached_property
    def column_names(self) -> list[str]:
        """The columns' names, in their order."""
        return list(self._file.schema_arrow.names)

    def column(self, name: str) -> pa.ChunkedArray:
        """Read one column. Raises InputError if the file is damaged."""
        return self._guarded(lambda: self._file.read([name]).column(0))

    def read(self) -> pa.Table:
        """Read all columns, with their own types. Raises InputError if the file is damaged."""
        import pyarrow.parquet as pq

        return self._guarded(lambda: pq.ParquetFile(self._path).read())

    @cached_property
    def _file(self) -> Any:  # pyarrow has no types
        import pyarrow as pa
        import pyarrow.parquet as pq

        def opened() -> Any:
            schema = pq.ParquetFile(self._path).schema_arrow
            texts = [field.name for field in schema if pa.types.is_string(field.type)]
            # One column at a time is read, which a buffer ahead of the reader only delays.
            return pq.ParquetFile(self._path, read_dictionary=texts, pre_buffer=False)

        return self._guarded(opened)

    def _guarded(self, read: Any) -> Any:
        import pyarrow as pa

        try:
            return read()
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"is damaged: {str(error).strip()}", file=str(self._path), help="run the scenario again"
            ) from error
