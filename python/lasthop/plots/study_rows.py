"""The columns of a study's rows: values, names of rows, and labels of metrics."""

from __future__ import annotations

from typing import Final

from lasthop.plots.columns import Columns

VALUES: Final = (
    "published",
    "measured",
    "q25",
    "q75",
    "ci95",
    "mean",
    "mean_low",
    "mean_high",
    "n",
    "deterministic",
    "low",
    "high",
    "stat",
    "uncertain",
    "note",
    "published_q25",
    "published_q75",
    "published_deviation",
    "ratio",
    "kind",
    "agrees",
)
"""Columns that are no part of a row's name."""

WORDS: Final = {
    "elapsed_s": "Elapsed (s)",
    "elapsed_fast_s": "Elapsed, fastest (s)",
    "elapsed_slow_s": "Elapsed, slowest (s)",
    "throughput_Bps": "Throughput (B/s)",
    "rexmt": "Sent again",
    "rexmt_min": "Sent again, fewest",
    "rexmt_max": "Sent again, most",
    "drops": "Dropped",
    "drops_slowstart": "Dropped, slow start",
    "drops_congavoid": "Dropped, later",
    "pipe_capacity_pkts": "Pipe capacity (packets)",
    "fairness_x100": "Jain's index × 100",
    "utilisation": "Utilisation (%)",
    "drop_pct": "Dropped (%)",
    "bottleneck_drop_pct": "Dropped (%)",
    "buffer_need": "Buffer needed (packets)",
    "round_ms": "Round (ms)",
    "ack_kbps": "ACKs (kbit/s)",
    "throughput_kbps": "Throughput (kbit/s)",
}
"""Labels of metrics on an axis; others are labelled by their names."""

Name = tuple[tuple[str, str], ...]
"""A row's name: (column, value) for each column that is not measured."""


def names_of(rows: Columns) -> list[Name]:
    """Each row's name."""
    columns = [column for column in rows.column_names if column not in VALUES and column != "metric"]
    texts = [rows.texts(column) for column in columns]
    return [tuple(zip(columns, map(str, row), strict=True)) for row in zip(*texts, strict=True)]
