"""A run's summary as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

_FLOW_COLUMNS: Final = {
    "flow": "flow",
    "bytes": "bytes",
    "elapsed_s": "elapsed s",
    "throughput_Bps": "byte/s",
    "segments_sent": "segments",
    "retransmissions": "retransmitted",
    "unnecessary_retransmissions": "needless",
    "timeouts": "timeouts",
    "spurious_timeouts": "spurious",
}
_LINK_COLUMNS: Final = {
    "link": "link",
    "direction": "direction",
    "packets_in": "packets in",
    "queue_drops": "queue drops",
    "error_drops": "error drops",
    "utilisation": "utilisation",
    "queue_mean": "mean queue",
}
MOST_ROWS: Final = 40


def summary_html(summary: Mapping[str, Any]) -> str:
    """Return flows and links as two tables."""
    head = f"{summary['scenario']}: seed {summary['seed']}, {summary['clock']} clock, {summary['stopped_s']:.3f} s"
    flows, links = (
        table_html(summary[part], columns) for part, columns in (("flows", _FLOW_COLUMNS), ("links", _LINK_COLUMNS))
    )
    return f"<p><b>{escape(head)}</b></p>{flows}{links}"


def table_html(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    """Return rows as a table; `columns` maps their keys to the words of the head."""
    head = "".join(f"<th>{escape(words)}</th>" for words in columns.values())
    body = "".join(f"<tr>{''.join(_cell(row.get(key)) for key in columns)}</tr>" for row in rows[:MOST_ROWS])
    more = f"<p>{len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f'<td style="text-align:right">{value:,.2f}</td>'
    if isinstance(value, int):
        return f'<td style="text-align:right">{value:,}</td>'
    return f'<td style="text-align:left">{escape("–" if value is None else str(value))}</td>'
