"""qlog of the current main schema, with an event schema of ours for TCP (docs/qlog-tcp.md).

The main schema is draft-ietf-quic-qlog-main-schema-13. Segments have TCP's own numbers: relative sequence numbers, and
for each packet its number in the tables. A retransmission has its cause, the packet that it replaces, and the verdict.
Times are milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from lasthop.exchange.file_format import Format, OneConnection, Result, Written, connections
from lasthop.exchange.qlog_quic import report_of
from lasthop.plots.columns import Columns
from lasthop.plots.flow import FlowTables, sack_blocks

FILE_SCHEMA: Final = "urn:ietf:params:qlog:file:contained"
SERIALIZATION: Final = "application/qlog+json"
EVENT_SCHEMA: Final = "urn:x-lasthop:qlog:events:tcp"

METRICS: Final = {
    "cwnd": ("congestion_window", 1),
    "ssthresh": ("ssthresh", 1),
    "flight": ("bytes_in_flight", 1),
    "srtt_ns": ("smoothed_rtt", 1e-6),
    "rttvar_ns": ("rtt_variance", 1e-6),
    "rto_ns": ("retransmission_timeout", 1e-6),
}
"""The columns of the table `tcp` that are metrics, with names and factors; times are milliseconds."""

VERDICT: Final = ("why", "explanation", "confidence")
"""The columns of the verdict on a retransmission besides `needless`."""

Event = tuple[int, str, dict[str, Any]]
"""Time in nanoseconds, name, data."""


def files(result: Result) -> Iterator[Written]:
    """Yield one file for each connection of TCP, from the view of the host that sent more data."""
    for connection in connections(result.source):
        flow = FlowTables(connection.tables, connection.flow)
        if not flow.is_of_datagrams() and report_of(result, connection.flow) is None:
            name = f"{connection.file_stem}.tcp.qlog"
            yield Written(name, json.dumps(_log(result, connection, flow), allow_nan=False) + "\n")


def _log(result: Result, connection: OneConnection, flow: FlowTables) -> dict[str, Any]:
    rows = Columns("segments", connection.tables.table("segments")).equal("host", flow.sender)
    events = sorted([*_segments(rows), *_decisions(connection, flow)], key=lambda event: event[0])
    return {
        "file_schema": FILE_SCHEMA,
        "serialization_format": SERIALIZATION,
        "title": f"{result.source.name}: {connection.flow}",
        "description": f"written by lasthop {result.version}",
        "traces": [
            {
                "event_schemas": [EVENT_SCHEMA],
                "vantage_point": {"name": flow.sender, "type": _role(rows)},
                "common_fields": {
                    "protocol_types": ["TCP"],
                    "group_id": connection.file_stem,
                    "time_format": "relative_to_epoch",
                    "reference_time": _reference_time(result.specification),
                },
                "events": [{"time": time / 1e6, "name": f"tcp:{name}", "data": data} for time, name, data in events],
            }
        ],
    }


def _role(rows: Columns) -> str:
    """Return whether the host opened the connection, as far as the SYN shows it."""
    opened = [flags == "S" and way == "sent" for flags, way in zip(_flags(rows), rows.texts("direction"), strict=True)]
    return "client" if any(opened) else "server"


def _flags(rows: Columns) -> list[str]:
    return [str(flags) for flags in rows.texts("flags")] if "flags" in rows else [""] * len(rows)


def _reference_time(specification: Mapping[str, Any]) -> dict[str, str]:
    """Return the epoch of the times: the first packet of a capture; runs in virtual time have no date."""
    began = specification.get("report", {}).get("began_s")
    if began is None:
        return {"clock_type": "monotonic", "epoch": "unknown"}
    return {"clock_type": "system", "epoch": datetime.fromtimestamp(began, UTC).isoformat().replace("+00:00", "Z")}


def _segments(rows: Columns) -> Iterator[Event]:
    numbers = {name: rows.numbers(name) for name in ("time_ns", "packet", "seq", "len", "ack", "window")}
    texts = {name: rows.texts(name) for name in ("direction", "kind", "cause", *VERDICT) if name in rows}
    judged, needless = rows.known("needless"), rows.flags("needless")
    sacks = rows.texts("sack") if "sack" in rows else [""] * len(rows)
    latest: dict[tuple[str, int], int] = {}
    for row, flags in enumerate(_flags(rows)):
        packet, seq, way = int(numbers["packet"][row]), int(numbers["seq"][row]), str(texts["direction"][row])
        data = _header({name: column[row] for name, column in numbers.items()}, flags, str(sacks[row]))
        kind = str(texts["kind"][row])
        if kind == "retransmission":
            verdict = {name: str(texts[name][row]) for name in VERDICT if name in texts and texts[name][row]}
            replaced = latest.get((way, seq))
            data["retransmission"] = {
                "cause": str(texts["cause"][row]) or "unknown",
                **({} if replaced is None else {"replaces": replaced}),
                **({"needed": not needless[row]} if judged[row] else {}),
                **verdict,
            }
        elif kind in ("out_of_order", "probe"):
            data[kind] = True
        if data["length"] or kind in ("syn", "fin", "retransmission"):
            latest[way, seq] = packet
        name = "segment_sent" if way == "sent" else "segment_received"
        yield int(numbers["time_ns"][row]), name, data


def _header(row: Mapping[str, Any], flags: str, sack: str) -> dict[str, Any]:
    data: dict[str, Any] = {"packet": int(row["packet"]), "seq": int(row["seq"]), "length": int(row["len"])}
    if not np.isnan(row["ack"]):
        data["ack"] = int(row["ack"])
    data["window"] = int(row["window"])
    if flags:
        data["flags"] = flags
    if sack:
        data["sack"] = [[int(start), int(end)] for start, end in sack_blocks(sack)]
    return data


def _decisions(connection: OneConnection, flow: FlowTables) -> Iterator[Event]:
    if "tcp" not in connection.tables.table_names:
        return
    tcp = flow.decisions()
    times, events, phases = tcp.numbers("time_ns"), tcp.texts("event"), tcp.texts("phase")
    columns = {name: tcp.numbers(name) for name in METRICS if name in tcp}
    last: dict[str, float] = {}
    state = ""
    for row in range(len(tcp)):
        time = int(times[row])
        if events[row] == "timeout":
            yield time, "timer_expired", {"timer": "retransmission"}
        known = {name: column[row] for name, column in columns.items() if np.isfinite(column[row])}
        now = {METRICS[name][0]: _scaled(value, METRICS[name][1]) for name, value in known.items()}
        if changed := {name: value for name, value in now.items() if last.get(name) != value}:
            yield time, "metrics_updated", changed
        last |= now
        if (entered := str(phases[row])) != state:
            old = {"old": state} if state else {}
            yield time, "congestion_state_updated", {**old, "new": entered, "trigger": str(events[row])}
            state = entered


def _scaled(value: float, factor: float) -> float:
    return int(value) if factor == 1 else float(value * factor)


FORMAT: Final = Format(
    "qlog-tcp",
    "qlog of the current main schema with events of TCP (docs/qlog-tcp.md): segments, causes, verdicts, decisions",
    needs=("segments",),
    uses=("tcp",),
    files=files,
)
