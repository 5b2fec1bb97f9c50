"""The tables that `lasthop analyze` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from lasthop.analysis import Analysis, remarks
from lasthop.cli.console import print_line, print_table, remark
from lasthop.congestion_control import UNKNOWN
from lasthop.quic_connection import REMEDIES

if TYPE_CHECKING:
    from lasthop.joining import Joined

MOST_ROWS: Final = 60
NEARLY_CERTAIN: Final = 0.99
"""Above this probability of a guess, no number is printed: it would be rounded to certainty."""

_COLUMNS: Final[dict[str, tuple[str, float]]] = {
    "acknowledged_bytes": ("bytes", 1),
    "elapsed_s": ("elapsed s", 1),
    "throughput_Bps": ("Mbit/s", 8e-6),
    "data_segments": ("segments", 1),
    "out_of_order": ("out of order", 1),
    "retransmissions": ("retransmitted", 1),
    "needless": ("needless", 1),
    "timeouts": ("timeouts", 1),
    "fast_retransmits": ("fast retr.", 1),
    "duplicate_acks": ("dup. ACKs", 1),
    "rtt_min_s": ("RTT min ms", 1e3),
    "rtt_mean_s": ("mean", 1e3),
    "rtt_max_s": ("max", 1e3),
}

_PLACES: Final = {
    "receiver": "at the receiver, where the sender's timers cannot be seen",
    "middle": "between the two ends",
}


def _retransmissions(connection: Mapping[str, Any]) -> float:
    return float(sum(sender["retransmissions"] for sender in connection["senders"]))


def _time_lost(connection: Mapping[str, Any]) -> float:
    return float(sum(sender["time_shares"].get("timer", 0.0) for sender in connection["senders"]))


def _delay(connection: Mapping[str, Any]) -> float:
    return float(connection["senders"][connection["bulk_sender"]]["rtt_mean_s"] or 0.0)


ORDERS: Final[Mapping[str, Callable[[Mapping[str, Any]], float]]] = {
    "retransmissions": _retransmissions,
    "time-lost": _time_lost,
    "delay": _delay,
}
"""Orders of connections: by the retransmissions of both sides, the time for which both waited for timers, and the mean
round-trip time of the side that sent more data."""


def print_analysis(found: Analysis, both: bool, order: str | None = None, most: int | None = None) -> None:
    """Print the connections of a capture: the first ones, or the worst."""
    frames = sum(point["frames"] for point in found.report["points"])
    length = found.report["length_s"]
    print_line(f"{found.path}: {frames} packets in {length:.3f} s, {len(found.connections)} TCP connections\n")
    chosen = found.connections
    if order is not None:
        chosen = sorted(chosen, key=ORDERS[order], reverse=True)[:most]
    rows = [row for connection in chosen for row in _rows(connection, both)]
    limit = MOST_ROWS if order is None else len(rows)
    print_table(None, ["from", "to", *(words for words, _ in _COLUMNS.values())], rows[:limit])
    if len(rows) > limit:
        print_line(f"{len(rows) - limit} more; --worst N has the worst, --json all")
    _print_places(found.connections)
    _print_controls(found.connections)
    if found.report["quic"]:
        _print_quic(found.report["quic"])
        _print_quic_contents(found.report["quic"])
    for words in remarks(found.report):
        remark(words)


def print_joined(joined: Sequence[Joined]) -> None:
    """Print both directions of connections that were captured at both ends."""
    columns = ("packets", "arrived", "lost", "overtaken", "retransmissions", "needless", "undecided")
    rows: list[list[object]] = []
    for one in joined:
        for crossing, back in ((one.forward, False), (one.backward, True)):
            measures = crossing.to_json()
            delays = [f"{1e3 * value:.3f}" for value in (measures["delay_s"] or {}).values()]
            ends = one.near.ends if (one.near.bulk_sender == 0) != back else one.near.ends[::-1]
            rows.append([*ends, *(measures[name] for name in columns), *delays])
    headings = ("delay min ms", "median", "95 %", "max")
    print_table("Both ends joined", ["from", "to", *columns, *headings], rows[:MOST_ROWS])
    for one in joined[:MOST_ROWS]:
        clocks = one.clocks
        print_line(
            f"{one.flow}: the receiver's clock has an offset of {1e3 * clocks.offset_s:+.3f} ms and a drift of"
            f" {1e6 * clocks.skew:+.1f} ppm ({clocks.assumption})"
        )


def _print_places(connections: Sequence[Mapping[str, Any]]) -> None:
    """Print where the connections were captured that were not captured at the sender, as far as that is known."""
    places = Counter((each["place"]["place"], each["place"]["confidence"]) for each in connections if each["place"])
    for (place, confidence), count in sorted(places.items()):
        if place in _PLACES:
            print_line(f"captured {_PLACES[place]} ({confidence}): {count} of {len(connections)} connections")


def _print_controls(connections: Sequence[Mapping[str, Any]]) -> None:
    """Print the congestion controls of the senders of most data, as far as their windows show them."""
    controls = [each["senders"][each["bulk_sender"]]["congestion_control"] for each in connections]
    known = [one for one in controls if one["name"] != UNKNOWN]
    for name, count in Counter(one["name"] for one in known).most_common():
        least = min(one["probability"] for one in known if one["name"] == name)
        share = f"{count} of {len(controls)} connections"
        print_line(f"congestion control by the shape of the window: {name}, {share} ({_probability(count, least)})")


def _probability(count: int, least: float) -> str:
    """Return the least probability of some guesses in words. None is certain."""
    if least >= NEARLY_CERTAIN:
        return f"probability over {100 * NEARLY_CERTAIN:.0f} %"
    return f"probability {'at least ' if count > 1 else ''}{100 * least:.0f} %"


def _print_quic(connections: Sequence[Mapping[str, Any]]) -> None:
    rows: list[list[object]] = [
        [
            *connection["ends"],
            connection["version"],
            " ".join(ids[0] if ids else "-" for ids in connection["connection_ids"]),
            *connection["datagrams"],
            *connection["bytes"],
            *connection["spin_changes"],
            None if connection["spin_rtt_min_s"] is None else 1e3 * connection["spin_rtt_min_s"],
        ]
        for connection in connections
    ]
    headings = ["client", "server", "version", "connection IDs", "datagrams", "back", "bytes", "back"]
    print_table(
        "QUIC, from what is not encrypted", [*headings, "spin changes", "back", "spin RTT min ms"], rows[:MOST_ROWS]
    )


def _print_quic_contents(connections: Sequence[Mapping[str, Any]]) -> None:
    """Print the senders of connections whose packets were opened with secrets, and what the others lack."""
    rows: list[list[object]] = []
    for connection in connections:
        contents = connection["contents"]
        for side, sender in enumerate(contents["senders"]):
            if sender["packets"].get("one_rtt"):
                values = [sender[key] for key in _QUIC_COLUMNS]
                trips = [None if sender["rtt"][key] is None else 1e3 * sender["rtt"][key] for key in _QUIC_TRIPS]
                ends = connection["ends"] if side == 0 else connection["ends"][::-1]
                rows.append([*ends, sum(sender["packets"].values()), *values, *trips])
    if rows:
        headings = ["from", "to", "packets", *_QUIC_COLUMNS.values(), "RTT min ms", "mean", "max"]
        print_table("QUIC, with secrets", headings, rows[:MOST_ROWS])
    for connection in connections[:MOST_ROWS]:
        contents = connection["contents"]
        name = f" with {contents['server_name']}" if contents["server_name"] else ""
        which = f"QUIC {connection['ends'][0]} to {connection['ends'][1]}{name}"
        if contents["closed"]:
            print_line(f"{which}: closed by the {contents['closed']}")
        for why, packets in contents["unopened"].items():
            print_line(f"{which}: {packets} packets not opened: {why}{_remedy(why)}")


_QUIC_COLUMNS: Final = {
    "stream_bytes": "stream bytes",
    "lost": "lost",
    "spurious_losses": "spurious",
    "retransmitted_bytes": "bytes again",
    "needless_bytes": "needless",
    "probes": "probes",
    "largest_flight": "most in flight",
}
_QUIC_TRIPS: Final = ("min_s", "mean_s", "max_s")


def _remedy(why: str) -> str:
    return f" ({REMEDIES[why]})" if why in REMEDIES else ""


def _rows(connection: Mapping[str, Any], both: bool) -> list[list[object]]:
    bulk = connection["bulk_sender"]
    sides = [bulk, 1 - bulk] if both else [bulk]
    senders = connection["senders"]
    return [[senders[side]["host"], senders[1 - side]["host"], *_cells(senders[side])] for side in sides]


def _cells(sender: Mapping[str, Any]) -> list[object]:
    values = [(sender[key], factor) for key, (_, factor) in _COLUMNS.items()]
    return [None if value is None else value * factor for value, factor in values]
