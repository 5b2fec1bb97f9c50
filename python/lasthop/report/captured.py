"""The page's summary of a capture, and its connections, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lasthop.quic_connection import lacking
from lasthop.results import RunResult

Specification = Mapping[str, Any]

PLACES: Final = {
    "sender": "near the sender",
    "receiver": "near the receiver",
    "middle": "between the ends",
    "unknown": "at a place that nothing shows",
}


def of_capture(run: RunResult) -> Specification | None:
    """Return the file and the report of the capture that a result is made of; None if it is made of something else."""
    specification = run.specification
    return specification if "report" in specification else None


def capture_facts(captured: Specification) -> dict[str, Any]:
    """Return the capture's file, date, and numbers of packets and connections, and where these were captured."""
    report = captured["report"]
    places = Counter(PLACES[connection["place"]["place"]] for connection in report["connections"])
    return {
        "file": Path(captured["capture"]).name,
        "began": datetime.fromtimestamp(report["began_s"], UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "frames": sum(point["frames"] for point in report["points"]),
        "connections": len(report["connections"]),
        "quic": len(report["quic"]),
        "unopened": [f"{one['flow']}: {lacking(one)}" for one in report["quic"] if lacking(one)],
        "places": dict(places.most_common()),
    }


def worst_first(summary: Mapping[str, Any], captured: Specification) -> dict[str, Any]:
    """Return the summary with the flows that retransmitted most, and then waited longest for timers, first."""
    timers = {connection["flow"]: _waited(connection) for connection in captured["report"]["connections"]}
    flows = [{**flow, "timer_s": timers.get(flow["flow"], 0.0)} for flow in summary["flows"]]
    flows.sort(key=lambda flow: (-flow["retransmissions"], -flow["timer_s"]))
    return {**summary, "flows": flows}


def _waited(connection: Mapping[str, Any]) -> float:
    """Return the seconds for which the side that sent more data waited for retransmission timers."""
    sender = connection["senders"][connection["bulk_sender"]]
    return float(sender["time_shares"].get("timer", 0.0))
