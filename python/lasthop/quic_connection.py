"""The report on a QUIC connection of a capture: whether its packets were opened, and what is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from lasthop.results.stored_table import StoredTable

Report = Mapping[str, Any]

REMEDIES: Final = {
    "no secret in a key log": "analyze the capture with --keylog FILE, the file that SSLKEYLOGFILE names, or capture"
    " into a pcapng file that carries the secrets",
    "truncated by the capture": "capture whole packets: tcpdump -s 0",
    "handshake not in the capture": "begin the capture before the connection: keys follow from its handshake",
    "another cipher suite": "only AES-GCM and ChaCha20-Poly1305 are read",
    "wrong secret, or damaged": "the key log is of another run of the program",
}
"""What is needed to open packets, by the reason for which they were not opened."""


def is_opened(report: Report) -> bool:
    """Whether data of streams were read: whether the table `segments` has its packets."""
    return any(sender["stream_bytes"] for sender in report["contents"]["senders"])


def lacking(report: Report) -> str:
    """Return why its packets were not opened, and what is needed; empty if all were."""
    parts = [
        f"{packets} packet{'s' * (packets != 1)} not opened, {why}" + (f": {REMEDIES[why]}" if why in REMEDIES else "")
        for why, packets in report["contents"]["unopened"].items()
    ]
    return "; ".join(parts)


def flow_of(report: Report) -> dict[str, Any]:
    """Return a connection of the report as a flow of a run's summary, from the side that sent more data."""
    senders = report["contents"]["senders"]
    place = int(senders[1]["stream_bytes"] > senders[0]["stream_bytes"])
    sender, elapsed = senders[place], report["length_s"]
    sent = sender["stream_bytes"] - sender["retransmitted_bytes"]
    return {
        "flow": report["flow"],
        "from": report["ends"][place],
        "to": report["ends"][1 - place],
        "bytes": sent,
        "elapsed_s": elapsed,
        "throughput_Bps": sent / elapsed if elapsed > 0 else None,
        "segments_sent": sum(sender["packets"].values()),
        "retransmissions": sender["retransmissions"],
        "unnecessary_retransmissions": None,
        "timeouts": sender["probes"],
        "fast_retransmits": None,
        "completed": report["contents"]["closed"] is not None,
        "milestones": [],
        "causes": {},
        "acks": sum(senders[1 - place]["packets"].values()),
        "connections": 1,
        "windows": [],
    }


def needless_packets(segments: StoredTable) -> Counter[str]:
    """Return by flow how many packets of the table `segments` repeated data needlessly: a packet may have some rows."""
    columns = [segments.column(name).to_pylist() for name in ("needless", "direction", "flow", "packet")]
    packets = {
        (flow, packet) for needless, way, flow, packet in zip(*columns, strict=True) if needless and way == "sent"
    }
    return Counter(flow for flow, _ in packets)
