"""Every table as comma-separated values (RFC 4180), with the names of the columns in the first line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lasthop.exchange.file_format import Format, Result, Written


def files(result: Result) -> Iterator[Written]:
    """Yield one file for each table; an unknown value is an empty field."""
    import pyarrow as pa
    import pyarrow.csv

    for name in result.source.table_names:
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(result.source.table(name), sink)
        yield Written(f"{name}.csv", sink.getvalue().to_pybytes())


FORMAT: Final = Format("csv", "every table as comma-separated values", needs=(), uses=(), files=files)
