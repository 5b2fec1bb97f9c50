"""Tables of a run's further measures: transfers, datagrams, milestones and measurement windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from lasthop.cli.console import print_line, print_table

Columns = Mapping[str, tuple[str, float]]
"""Header of each key's column, and the factor from the key's unit to the column's."""

_TRANSFERS: Final[Columns] = {
    "transfers": ("transfers", 1),
    "transfer_mean_s": ("mean s", 1),
    "transfer_p50_s": ("median s", 1),
    "transfer_p95_s": ("95 % within s", 1),
    "startup_s": ("startup s", 1),
    "stalls": ("stalls", 1),
    "stalled_s": ("stalled s", 1),
    "media_bit_rate": ("media Mbit/s", 1e-6),
}
_DATAGRAMS: Final[Columns] = {
    "segments_sent": ("sent", 1),
    "packets_lost": ("lost", 1),
    "packets_late": ("late", 1),
    "frame_loss": ("lost or late %", 100),
    "loss_event_rate": ("loss events %", 100),
    "delay_mean_s": ("mean delay ms", 1000),
    "delay_p95_s": ("95 % within ms", 1000),
    "jitter_s": ("jitter ms", 1000),
    "r_factor": ("R", 1),
    "mos": ("MOS", 1),
}
_MILESTONES: Final[Columns] = {
    "bytes": ("bytes", 1),
    "elapsed_s": ("elapsed s", 1),
    "retransmissions": ("retransmitted", 1),
}
_FLOW_IN_WINDOW: Final[Columns] = {
    "goodput_Bps": ("goodput byte/s", 1),
    "retransmissions": ("retransmitted", 1),
    "timeouts": ("timeouts", 1),
    "transfer_p50_s": ("median transfer s", 1),
    "stalled_s": ("stalled s", 1),
    "frame_loss": ("lost or late %", 100),
    "delay_mean_s": ("mean delay ms", 1000),
    "delay_p95_s": ("95 % within ms", 1000),
    "mos": ("MOS", 1),
}
_LINK_IN_WINDOW: Final[Columns] = {
    "utilisation": ("utilisation %", 100),
    "drop_rate": ("dropped %", 100),
    "queue_mean": ("mean queue", 1),
    "queue_p95": ("95 % of time within", 1),
}


def print_measured(flows: Sequence[Mapping[str, Any]], links: Sequence[Mapping[str, Any]]) -> None:
    """Print a table for each kind of measure that some flow or link has; a plain download has none."""
    # A download is one transfer, and the row of its flow says all about it.
    transfers = [flow for flow in flows if flow.get("transfers", 0) > 1]
    _print("Transfers:", ("flow",), transfers, _TRANSFERS)
    keys = ("frame_loss", "loss_event_rate")
    datagrams = [flow for flow in flows if any(flow.get(key) is not None for key in keys)]
    _print("Datagrams:", ("flow",), datagrams, _DATAGRAMS)
    milestones = [{"flow": flow["flow"], **each} for flow in flows for each in flow.get("milestones", ())]
    _print("Milestones:", ("flow",), milestones, _MILESTONES)
    for window in _windows(flows):
        _print(f"{_title(window)}:", ("flow",), list(_within(flows, window["window"])), _FLOW_IN_WINDOW)
        _print(None, ("link", "direction"), list(_within(links, window["window"])), _LINK_IN_WINDOW)


def _windows(flows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    windows: Sequence[Mapping[str, Any]] = flows[0].get("windows", ()) if flows else ()
    return windows


def _title(window: Mapping[str, Any]) -> str:
    return f"Window {window['window']}, {window['from_s']:g} s to {window['to_s']:g} s"


def _within(rows: Sequence[Mapping[str, Any]], name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the names and the window's numbers of each flow or link that had traffic in the window."""
    for row in rows:
        for window in row.get("windows", ()):
            if window["window"] == name and (window.get("segments_sent") or window.get("packets_in")):
                yield {key: row[key] for key in ("flow", "link", "direction") if key in row} | window


def _print(title: str | None, names: Sequence[str], rows: Sequence[Mapping[str, Any]], columns: Columns) -> None:
    """Print the rows, if there are any, with the columns that have a number in some row."""
    if not rows:
        return
    measured = {key: column for key, column in columns.items() if any(row.get(key) is not None for row in rows)}
    print_line("" if title is None else f"\n{title}")
    head = [*names, *(words for words, _ in measured.values())]
    print_table(None, head, [[*(row[name] for name in names), *_numbers(row, measured)] for row in rows])


def _numbers(row: Mapping[str, Any], columns: Columns) -> Iterator[float | None]:
    for key, (_, factor) in columns.items():
        number = row.get(key)
        yield number if number is None or factor == 1 else number * factor
