"""A run's summary as tables for a reader; `run` and `live` print the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lasthop.cli.console import print_table, stdout

_FLOW_COLUMNS = {
    "flow": "flow",
    "from": "from",
    "to": "to",
    "bytes": "bytes",
    "elapsed_s": "elapsed s",
    "throughput_Bps": "byte/s",
    "segments_sent": "segments",
    "retransmissions": "retransmitted",
    "unnecessary_retransmissions": "needless",
    "timeouts": "timeouts",
    "spurious_timeouts": "spurious",
    "fast_retransmits": "fast retr.",
}
_LINK_COLUMNS = {
    "link": "link",
    "direction": "direction",
    "packets_in": "packets in",
    "packets_out": "packets out",
    "queue_drops": "queue drops",
    "error_drops": "error drops",
    "queue_max": "longest queue",
}


def print_summary(summary: Mapping[str, Any]) -> None:
    """Print flows, links, and why anything was sent again needlessly."""
    stdout.print(
        f"{summary['scenario']}: seed {summary['seed']}, {summary['clock']} clock, "
        f"stopped at {summary['stopped_s']:.3f} s\n"
    )
    _print_part(summary["flows"], _FLOW_COLUMNS)
    stdout.print()
    _print_part(summary["links"], _LINK_COLUMNS)
    causes = _causes(summary)
    if causes:
        stdout.print("\nNeedless retransmissions, by cause:")
        for cause, count in causes.items():
            stdout.print(f"  {count:4d}  {cause}")


def _print_part(rows: list[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    print_table(None, list(columns.values()), [[row.get(key) for key in columns] for row in rows])


def _causes(summary: Mapping[str, Any]) -> dict[str, int]:
    total: dict[str, int] = {}
    for flow in summary["flows"]:
        for cause, count in flow.get("causes", {}).items():
            total[cause] = total.get(cause, 0) + count
    return total
