"""What a view or an explanation is made of: columns of a result's tables, and what is known besides."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lasthop import _native
from lasthop.explanation import quic
from lasthop.explanation.captured import facts, incidents, limits, quic_of, reports_of
from lasthop.plots.source import Source
from lasthop.quic_connection import is_opened

if TYPE_CHECKING:
    import pyarrow as pa


def viewed_tables(source: Source) -> dict[str, pa.Table]:
    """Return the columns that the native module reads, of the tables that a result has. Others are not read.

    Raises InputError if a file is damaged.
    """
    wanted = _native.viewed_columns()
    return {name: _chosen(source, name, columns) for name, columns in wanted.items() if name in source.table_names}


def subject_of(source: Source, flows: Sequence[str] | None = None) -> str:
    """Return, as JSON, what is known of a result besides its tables. `flows` are those to show, in their order."""
    index: Mapping[str, Any] = getattr(source, "index", None) or {}
    reports = reports_of(source)
    subject = {
        "specification": getattr(source, "specification", None),
        "flows": flows,
        "captured": index.get("clock") == "capture",
        "reports": {flow: _report_of(report) for flow, report in reports.items()} | _report_of_quic(source),
    }
    return json.dumps(subject)


def _report_of(report: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "facts": list(facts(report)),
        "incidents": [asdict(event) for event in incidents(report)],
        "limits": [asdict(share) for share in limits(report)],
        "timers_hidden": report["place"]["place"] == "receiver",
    }


def _report_of_quic(source: Source) -> dict[str, dict[str, Any]]:
    """Return the reports on the QUIC connections whose packets were opened."""
    reports = quic_of(source)
    if not any(is_opened(report) for report in reports):
        return {}
    packets = quic.packets_by_connection(source.table("quic"))
    return {
        report["flow"]: {
            "facts": list(quic.facts(report, packets[place])),
            "incidents": [asdict(event) for event in quic.incidents(report, packets[place])],
            "limits": [asdict(share) for share in quic.shares(packets[place])],
        }
        for place, report in enumerate(reports)
        if is_opened(report)
    }


def _chosen(source: Source, name: str, columns: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    stored = getattr(source, "stored", None)
    table = source.table(name) if stored is None else stored(name)
    there = [column for column in columns if column in table.column_names]
    return pa.table({column: _usual(table.column(column)) for column in there})


def _usual(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in one of the types that runs have: tables of users may have others."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_floating(kind) and kind != pa.float64():
        return column.cast(pa.float64())
    if pa.types.is_integer(kind) and kind != pa.int64():
        return column.cast(pa.int64())
    other_texts = pa.types.is_dictionary(kind) and kind != pa.dictionary(pa.int32(), pa.string())
    return column.cast(pa.string()) if other_texts or pa.types.is_large_string(kind) else column
