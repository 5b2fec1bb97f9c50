"""The opened packets of a captured QUIC connection in qlog 0.3, by draft-ietf-quic-qlog-quic-events-02.

They have QUIC's numbers. Losses are those that the rules of RFC 9002 find in the capture, the flight is that of the
vantage point's sender, and round trips are those that ACK frames measure for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lasthop.exchange.file_format import Result

KINDS: Final = {"initial": "initial", "zero_rtt": "0RTT", "handshake": "handshake", "one_rtt": "1RTT"}
"""qlog's names of the kinds of packets (§4.3 of the events' draft, `PacketType`)."""

TRIGGERS: Final = {"packet_threshold": "reordering_threshold", "time_threshold": "time_threshold"}
"""qlog's names of the rules that declare a packet lost."""

DATA: Final = {"stream": ("stream_id", "range"), "crypto": ("range",)}
"""Members of frames with data, in the order in which the table has them."""

COLUMNS: Final = ("time_ns", "flow", "from_client", "kind", "number", "size", "frames", "ranges")
KNOWN: Final = ("flight", "rtt_ns", "lost_ns", "lost_by")

Event = tuple[int, str, dict[str, Any]]
Row = Mapping[str, Any]


def report_of(result: Result, flow: str) -> Mapping[str, Any] | None:
    """Return the report on a QUIC connection of a capture; None for other flows."""
    reports = result.specification.get("report", {}).get("quic", ())
    return next((report for report in reports if report.get("flow") == flow), None)


def events(result: Result, report: Mapping[str, Any], sender: str) -> Iterator[Event]:
    """Yield what the host `sender` of the connection sent, received and found lost."""
    table = result.source.table("quic").select([*COLUMNS, *KNOWN])
    is_client = report["ends"][0] == sender
    for row in table.to_pylist():
        if row["flow"] == report["flow"] and row["number"] is not None:
            yield from _of_packet(row, row["from_client"] == is_client)


def _of_packet(row: Row, is_own: bool) -> Iterator[Event]:
    time = int(row["time_ns"])
    header = {"packet_type": KINDS.get(row["kind"], "unknown"), "packet_number": int(row["number"])}
    frames = [_frame(words, row["ranges"]) for words in (row["frames"] or "").split()]
    name = "transport:packet_sent" if is_own else "transport:packet_received"
    yield time, name, {"header": header, "raw": {"length": int(row["size"])}, "frames": frames}
    if is_own and row["flight"] is not None:
        yield time, "recovery:metrics_updated", {"bytes_in_flight": int(row["flight"])}
    if not is_own and row["rtt_ns"] is not None:
        yield time, "recovery:metrics_updated", {"latest_rtt": row["rtt_ns"] / 1e6}
    if is_own and row["lost_ns"] is not None:
        trigger = TRIGGERS.get(row["lost_by"], "reordering_threshold")
        yield int(row["lost_ns"]), "recovery:packet_lost", {"header": header, "trigger": trigger}


def _frame(words: str, ranges: str | None) -> dict[str, Any]:
    """Return a frame of the table, as `stream:1:5634-6801:fin`."""
    kind, *members = words.split(":")
    frame: dict[str, Any] = {"frame_type": kind}
    if kind == "ack":
        return frame | {"acked_ranges": [[int(end) for end in each.split("-")] for each in (ranges or "").split()]}
    for name, value in zip(DATA.get(kind, ()), members, strict=False):
        if name == "range":
            start, end = (int(place) for place in value.split("-"))
            frame |= {"offset": start, "length": end - start}
        else:
            frame[name] = int(value)
    return frame | ({"fin": True} if members[-1:] == ["fin"] else {})
