"""qlog 0.3: a sender's packets and decisions, for qvis and other readers of QUIC's logs.

The main schema is draft-ietf-quic-qlog-main-schema-03, the events are those of draft-ietf-quic-qlog-quic-events-02 §4
and §6, with TCP as the protocol. The packets of each direction are numbered from 0 (`qlog_packets.py`): a
retransmission is another packet, as in QUIC, and the packet that it replaces is declared lost at that time. Times are
milliseconds.

A captured connection of QUIC has its own packets (`qlog_quic.py`). A connection of quinn has the datagrams that its
host sent and received, and what its congestion control decided; its frames are not in the tables, and neither are the
numbers of the packets that it declared lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from lasthop.exchange import qlog_quic
from lasthop.exchange.file_format import Format, OneConnection, Result, Written, connections
from lasthop.exchange.qlog_packets import numbered
from lasthop.plots.columns import Columns
from lasthop.plots.flow import FlowTables

VERSION: Final = "0.3"

STATES: Final = {"fast_recovery": "recovery", "after_timeout": "slow_start"}
"""Phases with another name in qlog; after a timeout TCP is in slow start."""

TRIGGERS: Final = {"timeout": "pto_expired", "after_timeout": "pto_expired", "reordering_timer": "time_threshold"}
"""qlog's names of the triggers of a loss; all others are reordering thresholds."""

LEAST_HEADERS: Final = 40
"""Bytes of IPv4 and TCP headers without options, which the tables do not have (RFC 9293 §3.1)."""

Event = tuple[int, str, dict[str, Any]]
"""Time in nanoseconds, name, data."""


def files(result: Result) -> Iterator[Written]:
    """Yield one file for each connection, from the sender's view."""
    for connection in connections(result.source):
        yield Written(f"{connection.file_stem}.qlog", json.dumps(_log(result, connection)) + "\n")


def _log(result: Result, connection: OneConnection) -> dict[str, Any]:
    flow = FlowTables(connection.tables, connection.flow)
    captured = qlog_quic.report_of(result, connection.flow)
    quic = captured is not None or _is_quic(result, flow.sender)
    if captured is not None:
        found = qlog_quic.events(result, captured, flow.sender)
    else:
        found = _of_quic(connection, flow) if quic else _events(connection, flow)
    events = sorted(found, key=lambda event: event[0])
    return {
        "qlog_version": VERSION,
        "qlog_format": "JSON",
        "title": f"{result.source.name}: {connection.flow}",
        "traces": [
            {
                "vantage_point": {"name": flow.sender, "type": _role(captured, flow.sender)},
                "common_fields": {
                    "protocol_type": ["QUIC" if quic else "TCP"],
                    "time_format": "relative",
                    "reference_time": 0,
                    "group_id": connection.file_stem,
                },
                "configuration": {"original_uris": [], "code_version": f"lasthop {result.version}"},
                "events": [{"time": time / 1e6, "name": name, "data": data} for time, name, data in events],
            }
        ],
    }


def _role(captured: Mapping[str, Any] | None, sender: str) -> str:
    return "client" if captured is not None and captured["ends"][0] == sender else "server"


def _is_quic(result: Result, host: str) -> bool:
    hosts = result.specification.get("hosts", ())
    return any(each.get("name") == host and each.get("stack") == "quinn" for each in hosts)


def _of_quic(connection: OneConnection, flow: FlowTables) -> Iterator[Event]:
    rows = Columns("segments", connection.tables.table("segments")).equal("host", flow.sender)
    columns = (rows.numbers(name) for name in ("time_ns", "seq", "len"))
    for way, time, number, length in zip(rows.texts("direction"), *columns, strict=True):
        name = "transport:packet_sent" if way == "sent" else "transport:packet_received"
        yield int(time), name, {"header": _header(int(number)), "raw": {"length": int(length)}}
    if "tcp" in connection.tables.table_names:
        yield from _decisions(flow.decisions())


def _events(connection: OneConnection, flow: FlowTables) -> Iterator[Event]:
    rows = Columns("segments", connection.tables.table("segments")).equal("host", flow.sender)
    yield from _packets(rows)
    if "tcp" in connection.tables.table_names and not flow.is_of_datagrams():
        yield from _decisions(flow.decisions())


def _packets(rows: Columns) -> Iterator[Event]:
    for packet in numbered(rows):
        if packet.replaced is not None:
            trigger = TRIGGERS.get(packet.cause, "reordering_threshold")
            yield packet.time, "recovery:packet_lost", {"header": _header(packet.replaced), "trigger": trigger}
        raw = {"length": packet.length + LEAST_HEADERS, "payload_length": packet.length}
        name = "transport:packet_sent" if packet.sent else "transport:packet_received"
        yield packet.time, name, {"header": _header(packet.number), "raw": raw, "frames": packet.frames}


def _decisions(tcp: Columns) -> Iterator[Event]:
    last: dict[str, Any] = {}
    state = ""
    for row in _rows(tcp):
        time = int(row["time_ns"])
        if row["event"] == "timeout":
            yield time, "recovery:loss_timer_updated", {"timer_type": "pto", "event_type": "expired"}
        now = _metrics(row)
        if changed := {key: value for key, value in now.items() if last.get(key) != value}:
            yield time, "recovery:metrics_updated", changed
        last = {**last, **now}
        entered = STATES.get(row["phase"], row["phase"])
        if entered != state:
            data = {"old": state, "new": entered} if state else {"new": entered}
            yield time, "recovery:congestion_state_updated", data
            state = entered


def _rows(tcp: Columns) -> Iterator[dict[str, Any]]:
    numbers = ("time_ns", "cwnd", "ssthresh", "flight", "srtt_ns", "rttvar_ns")
    columns = {name: tcp.numbers(name) for name in numbers} | {name: tcp.texts(name) for name in ("event", "phase")}
    for place in range(len(tcp)):
        yield {name: column[place] for name, column in columns.items()}


def _metrics(row: dict[str, Any]) -> dict[str, Any]:
    """Return windows in bytes and round trips in ms, without unknown values."""
    metrics: dict[str, Any] = {"congestion_window": int(row["cwnd"]), "bytes_in_flight": int(row["flight"])}
    if np.isfinite(row["ssthresh"]):
        metrics["ssthresh"] = int(row["ssthresh"])
    if np.isfinite(row["srtt_ns"]):
        metrics["smoothed_rtt"] = row["srtt_ns"] / 1e6
    if np.isfinite(row["rttvar_ns"]):
        metrics["rtt_variance"] = row["rttvar_ns"] / 1e6
    return metrics


def _header(number: int) -> dict[str, Any]:
    return {"packet_type": "1RTT", "packet_number": number}


FORMAT: Final = Format(
    "qlog", "qlog 0.3: packets and recovery events, for qvis", needs=("segments",), uses=("tcp",), files=files
)
