"""qlog 0.3: a sender's packets and decisions, for qvis and other readers of QUIC's logs.

The main schema is draft-ietf-quic-qlog-main-schema-03, the events are those of draft-ietf-quic-qlog-quic-events-02 §4
and §6, with TCP as the protocol. Packets are numbered as in the tables: a retransmission is another packet, as in QUIC,
and the packet that it replaces is declared lost at that time. Times are milliseconds.

A connection of quinn has the datagrams that its host sent and received, and what its congestion control decided; its
frames are not in the tables, and neither are the numbers of the packets that it declared lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from lasthop.exchange.file_format import Format, OneConnection, Result, Written, connections
from lasthop.plots.columns import Columns
from lasthop.plots.flow import FlowTables

VERSION: Final = "0.3"

STATES: Final = {"fast_recovery": "recovery", "after_timeout": "slow_start"}
"""Phases with another name in qlog; after a timeout TCP is in slow start."""

TRIGGERS: Final = {"timeout": "pto_expired", "after_timeout": "pto_expired", "reordering_timer": "time_threshold"}
"""qlog's names of the triggers of a loss; all others are reordering thresholds."""

Event = tuple[int, str, dict[str, Any]]
"""Time in nanoseconds, name, data."""


def files(result: Result) -> Iterator[Written]:
    """Yield one file for each connection, from the sender's view."""
    for connection in connections(result.source):
        yield Written(f"{connection.file_stem}.qlog", json.dumps(_log(result, connection)) + "\n")


def _log(result: Result, connection: OneConnection) -> dict[str, Any]:
    flow = FlowTables(connection.tables, connection.flow)
    quic = _is_quic(result, flow.sender)
    found = _of_quic(connection, flow) if quic else _events(connection, flow)
    events = sorted(found, key=lambda event: event[0])
    return {
        "qlog_version": VERSION,
        "qlog_format": "JSON",
        "title": f"{result.source.name}: {connection.flow}",
        "traces": [
            {
                "vantage_point": {"name": flow.sender, "type": "server"},
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


def _is_quic(result: Result, host: str) -> bool:
    hosts = result.specification.get("hosts", ())
    return any(each.get("name") == host and each.get("stack") == "quinn" for each in hosts)


def _of_quic(connection: OneConnection, flow: FlowTables) -> Iterator[Event]:
    rows = Columns("segments", connection.tables.table("segments")).equal("host", flow.sender)
    columns = (rows.numbers(name) for name in ("time_ns", "seq", "len"))
    for way, time, number, length in zip(rows.texts("direction"), *columns, strict=True):
        name = "transport:packet_sent" if way == "sent" else "transport:packet_received"
        yield int(time), name, {"header": _header(number), "raw": {"length": int(length)}}
    if "tcp" in connection.tables.table_names:
        yield from _decisions(flow.decisions())


def _events(connection: OneConnection, flow: FlowTables) -> Iterator[Event]:
    rows = Columns("segments", connection.tables.table("segments")).equal("host", flow.sender)
    yield from _packets(rows)
    yield from _lost(rows.equal("direction", "sent"))
    if "tcp" in connection.tables.table_names and not flow.is_of_datagrams():
        yield from _decisions(flow.decisions())


def _packets(rows: Columns) -> Iterator[Event]:
    names = np.where(rows.texts("direction") == "sent", "transport:packet_sent", "transport:packet_received")
    columns = (rows.numbers(name) for name in ("time_ns", "packet", "seq", "len", "ack"))
    for name, time, packet, seq, length, ack in zip(names, *columns, strict=True):
        frame: dict[str, Any]
        if length:
            frame = {"frame_type": "stream", "stream_id": 0, "offset": int(seq), "length": int(length)}
        else:
            frame = {"frame_type": "ack", "acked_ranges": [[0, max(int(ack) - 1, 0)]]}
        data = {"header": _header(packet), "raw": {"payload_length": int(length)}, "frames": [frame]}
        yield int(time), str(name), data


def _lost(sent: Columns) -> Iterator[Event]:
    """Return the latest earlier packet with the first byte of each retransmission."""
    holder: dict[float, float] = {}
    columns = (sent.numbers("time_ns"), sent.numbers("packet"), sent.numbers("seq"), sent.flags("retransmission"))
    for time, packet, seq, again, cause in zip(*columns, sent.texts("cause"), strict=True):
        if again and seq in holder:
            trigger = TRIGGERS.get(str(cause), "reordering_threshold")
            yield int(time), "recovery:packet_lost", {"header": _header(holder[seq]), "trigger": trigger}
        holder[seq] = packet


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


def _header(packet: float) -> dict[str, Any]:
    return {"packet_type": "1RTT", "packet_number": int(packet)}


FORMAT: Final = Format(
    "qlog", "qlog 0.3: packets and recovery events, for qvis", needs=("segments",), uses=("tcp",), files=files
)
