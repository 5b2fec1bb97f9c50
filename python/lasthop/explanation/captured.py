"""The report on one connection of a capture: facts, incidents, and the limits of the sender."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from lasthop.congestion_control import UNKNOWN
from lasthop.explanation.event import Event
from lasthop.explanation.time_share import TimeShare
from lasthop.explanation.words import bit_rate, count, grouped, lasting, listed

Report = Mapping[str, Any]

LIMITS: Final = {
    "handshake": "before the connection was established",
    "application": "the application sent nothing, or less than it might have",
    "receiver": "the peer's window was full",
    "timer": "nothing arrived until a retransmission timer expired",
    "repair": "losses were repaired",
    "path": "packets waited in a queue: the path was full",
    "window": "no queue, and an open window at the peer: the sender's window was small, or its data were few",
}
"""Names of the limits of a sender."""

PLACES: Final = {
    "sender": "near the sender of the data",
    "receiver": "near the receiver of the data, where the sender's timers cannot be seen",
    "middle": "between the ends",
    "unknown": "at a place that nothing shows",
}

QUEUE: Final = 0.02
"""Least growth of the round trip under load, in seconds, that is said."""

SHORTEST: Final = 0.0005
"""Shortest time at a limit, in seconds, that is said: less is shown as 0."""

MANY_IDLE: Final = 5
"""Largest number of idle times that a story has; of more it has the longest, and their number."""


def reports_of(source: object) -> dict[str, Report]:
    """Return the reports on a capture's connections by their names; none if the result is not made of one capture."""
    specification: Mapping[str, Any] = getattr(source, "specification", {})
    report = specification.get("report", {})
    return {connection["flow"]: connection for connection in report.get("connections", ())}


def quic_of(source: object) -> list[Report]:
    """Return the reports on a capture's QUIC connections; none if the result is not made of one capture."""
    specification: Mapping[str, Any] = getattr(source, "specification", {})
    return [report for report in specification.get("report", {}).get("quic", ()) if "flow" in report]


def facts(report: Report) -> Iterator[str]:
    """Yield sentences on the whole connection: place, throughput, round trip, ECN, bursts."""
    sender = report["senders"][report["bulk_sender"]]
    place = report["place"]
    sure = "" if place["place"] == "unknown" else f" ({place['confidence']})"
    yield f"captured {PLACES[place['place']]}{sure}"
    if report.get("handshake_s") is not None:
        yield f"connected after {lasting(report['handshake_s'])}{_segment_sizes(report)}"
    if sender["throughput_Bps"] and sender["active_throughput_Bps"]:
        whole, active = (bit_rate(8 * sender[name]) for name in ("throughput_Bps", "active_throughput_Bps"))
        yield (
            f"{sender['host']} sent {grouped(sender['acknowledged_bytes'])} bytes in {lasting(sender['elapsed_s'])},"
            f" {whole}; {active} in the {lasting(sender['active_s'])} with data in flight"
        )
    yield from _round_trip(sender, place)
    yield from _marks(report)
    if sender["largest_burst"] and sender["largest_segment"]:
        segments = sender["largest_burst"] / sender["largest_segment"]
        yield f"largest burst: {sender['largest_burst']} bytes, {segments:.1f} of its largest segments"
    yield _control(sender["congestion_control"])
    yield from _idle_times(report)
    yield _end(report)


def _idle_times(report: Report) -> Iterator[str]:
    idle = [found for found in report["incidents"] if found["kind"] == "idle"]
    if len(idle) > MANY_IDLE:
        ended = Counter(report["senders"][found["side"]]["host"] for found in idle)
        who = listed([f"{host} {_times(number)}" for host, number in ended.most_common()])
        together = lasting(sum(map(_length, idle)))
        yield f"idle {len(idle)} times for {together} in all, the longest are below; ended by {who}"


def _end(report: Report) -> str:
    if report["reset"]:
        return "ended by a reset"
    return "closed by both sides" if report["completed"] else "not closed within the capture"


def _control(control: Mapping[str, Any]) -> str:
    if control["name"] == UNKNOWN:
        return f"congestion control unknown: {control['reason']}"
    return f"congestion control probably {control['name']} ({100 * control['probability']:.0f} %): {control['reason']}"


def _segment_sizes(report: Report) -> str:
    sizes = [sender["mss"] for sender in report["senders"]]
    return f"; MSS {sizes[0]} and {sizes[1]} bytes" if None not in sizes else ""


def _round_trip(sender: Mapping[str, Any], place: Mapping[str, Any]) -> Iterator[str]:
    least, loaded, beyond = sender["rtt_min_s"], sender["rtt_loaded_s"], place["to_sender_s"]
    if place["place"] in ("receiver", "middle") and None not in (least, beyond):
        yield f"round trip between the ends {lasting(least + beyond)} at least"
    elif least is not None:
        text = f"round trip {lasting(least)} at least"
        if loaded is not None and loaded - least >= QUEUE:
            text += f", {lasting(loaded)} under load: a queue of {lasting(loaded - least)}"
            text += " (bufferbloat)" if loaded > 2 * least else ""
        yield text


def _marks(report: Report) -> Iterator[str]:
    for sender in report["senders"]:
        ecn = sender["ecn"]
        if ecn["marked"] or ecn["echoes"] or ecn["reductions"]:
            yield (
                f"ECN of {sender['host']}: {ecn['capable']} packets capable, {ecn['marked']} marked;"
                f" ECE {ecn['echoes']} times, CWR {ecn['reductions']} times"
            )


def incidents(report: Report) -> Iterator[Event]:
    """Yield the events of the connection except retransmissions of data."""
    hosts = [sender["host"] for sender in report["senders"]]
    for found in _notable(report["incidents"]):
        text = _WORDS[found["kind"]](hosts[found["side"]], found)
        yield Event(found["from_s"], found["to_s"], found["kind"], text, (found["frame"],))
    if report["more_incidents"]:
        last = report["incidents"][-1]["to_s"]
        yield Event(last, last, "more", f"{report['more_incidents']} more incidents are left out")


def _notable(found: Sequence[Report]) -> list[Report]:
    """Return the incidents, of many idle times only the longest."""
    idle = sorted((one for one in found if one["kind"] == "idle"), key=_length, reverse=True)
    left_out = {one["frame"] for one in idle[MANY_IDLE:]}
    return [one for one in found if one["kind"] != "idle" or one["frame"] not in left_out]


def _length(found: Report) -> float:
    return float(found["to_s"] - found["from_s"])


def limits(report: Report) -> list[TimeShare]:
    """Return the limits of the sender, the longest first; empty if the capture does not show them."""
    if report["place"]["place"] == "receiver":
        return []
    sender = report["senders"][report["bulk_sender"]]
    shares, confidence = sender["time_shares"], sender["time_share_confidence"]
    found = [
        TimeShare(kind, seconds, LIMITS[kind], confidence[kind])
        for kind, seconds in shares.items()
        if seconds >= SHORTEST
    ]
    return sorted(found, key=lambda share: -share.seconds)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _again(what: str, host: str, found: Mapping[str, Any]) -> str:
    times = _times(found["packets"])
    until = f", the last time after {lasting(found['to_s'] - found['from_s'])}" if found["packets"] > 1 else ""
    return f"{host} sent its {what} again {times}{until} (frame {found['frame']}): it or its answer was lost"


def _syn(host: str, found: Mapping[str, Any]) -> str:
    return _again("SYN-ACK" if found["side"] else "SYN", host, found)


def _fin(host: str, found: Mapping[str, Any]) -> str:
    return _again("FIN", host, found)


def _reset(host: str, found: Mapping[str, Any]) -> str:
    more = f", in {found['packets']} packets" if found["packets"] > 1 else ""
    return f"{host} reset the connection (frame {found['frame']}{more})"


def _closed(host: str, found: Mapping[str, Any]) -> str:
    return f"{host} kept its window closed for {lasting(found['to_s'] - found['from_s'])} (frame {found['frame']})"


def _idle(host: str, found: Mapping[str, Any]) -> str:
    sent = _SENT.get(found.get("segment", ""), "sent next")
    return f"idle for {lasting(_length(found))}, with nothing in flight; {host} {sent} (frame {found['frame']})"


def _unseen(host: str, found: Mapping[str, Any]) -> str:
    amount = listed([f"{found['bytes']} bytes", count(found["packets"], "acknowledgment")])
    return f"data of {host} are acknowledged that the capture lacks: {amount} (frame {found['frame']})"


_SENT: Final = {
    "data": "sent data next",
    "fin": "sent its FIN next",
    "rst": "reset the connection next",
    "ack": "sent an ACK next",
    "probe": "sent a keep-alive or a window probe next",
    "retransmission": "sent something again",
}
"""The packets that end idle times."""

_WORDS: Final = {
    "syn_again": _syn,
    "fin_again": _fin,
    "reset": _reset,
    "closed_window": _closed,
    "idle": _idle,
    "unseen": _unseen,
}
