"""`lasthop analyze`: the TCP connections of a capture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from lasthop.analysis import Analysis, analyze, analyze_to_folder, remarks
from lasthop.cli.console import print_json, print_line, print_table, remark

if TYPE_CHECKING:
    from lasthop.joining import Joined
    from lasthop.joining.clocks import Choice

MOST_ROWS: Final = 60

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


@click.command(name="analyze")
@click.argument("captures", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="CAPTURE…")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write a result folder.")
@click.option(
    "--clocks",
    type=click.Choice(["auto", "same", "different"]),
    default="auto",
    show_default=True,
    help="Whether the captures of both ends were stamped by one clock.",
)
@click.option("--all", "both", is_flag=True, help="Print both directions of each connection.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead, with every count.")
def command(captures: tuple[Path, ...], out: Path | None, clocks: str, both: bool, as_json: bool) -> None:
    """Analyze the TCP connections of CAPTURE, a pcap or pcapng file (Ethernet, VLAN, raw IP, Linux cooked, PPP; IPv4
    and IPv6), preferably captured at the sender.

    Retransmissions are counted by cause, and judged by duplicate SACK blocks, timestamps and times. Captures of both
    ends of a connection are joined: they show the copies that arrived, one-way delays without the clocks' offset, and
    the retransmissions that were needed.

    --out writes a result folder for `lasthop plot`, `explain` and `report`; captures of both ends give one folder, with
    the path between them as a link.

    \b
    Examples:
      lasthop analyze trace.pcap
      lasthop analyze trace.pcap --out results/trace
      lasthop explain results/trace
      lasthop analyze server.pcapng phone.pcapng --out results/both
    """
    found = [analyze(capture) for capture in captures]
    joined = _joined(found, clocks)
    if out is not None:
        _write(found, joined, out)
        remark(f"wrote {out}")
    if as_json:
        reports = {str(one.path): one.report for one in found}
        print_json({**reports, "joined": [one.to_json() for one in joined]} if joined else reports)
        return
    for place, one in enumerate(found):
        if place:
            print_line()
        _print(one, both)
    if joined:
        print_line()
        _print_joined(joined)


def _write(found: Sequence[Analysis], joined: Sequence[Joined], out: Path) -> None:
    """Write one capture, or several captures joined, as a result folder."""
    if len(found) == 1:
        analyze_to_folder(found[0].path, out)
        return
    from lasthop.joining import joined_to_folder

    joined_to_folder(found, joined, out)
    ends = {tuple(sorted(one.near.ends)) for one in joined}
    every = [[sender["host"] for sender in each["senders"]] for one in found for each in one.connections]
    if alone := sum(tuple(sorted(hosts)) not in ends for hosts in every):
        remark(f"{alone} connections are in one capture only and not in {out}; analyze that capture for them")


def _joined(found: Sequence[Analysis], clocks: str) -> list[Joined]:
    """Join the captures of several points; a single capture is not read."""
    if sum(len(one.report["points"]) for one in found) < 2:
        return []
    from lasthop.joining import join, views_of

    views = [view for one in found for view in views_of(one.path)]
    return join(views, cast("Choice", clocks))


def _print_joined(joined: Sequence[Joined]) -> None:
    columns = ("packets", "arrived", "lost", "overtaken", "retransmissions", "needless", "undecided")
    rows: list[list[object]] = []
    for one in joined:
        for crossing, back in ((one.forward, False), (one.backward, True)):
            told = crossing.to_json()
            delays = [f"{1e3 * value:.3f}" for value in (told["delay_s"] or {}).values()]
            ends = one.near.ends if (one.near.bulk_sender == 0) != back else one.near.ends[::-1]
            rows.append([*ends, *(told[name] for name in columns), *delays])
    headings = ("delay min ms", "median", "95 %", "max")
    print_table("Both ends joined", ["from", "to", *columns, *headings], rows[:MOST_ROWS])
    for one in joined[:MOST_ROWS]:
        clocks = one.clocks
        print_line(
            f"{one.flow}: the receiver's clock has an offset of {1e3 * clocks.offset_s:+.3f} ms and a drift of"
            f" {1e6 * clocks.skew:+.1f} ppm ({clocks.assumption})"
        )


def _print(found: Analysis, both: bool) -> None:
    frames = sum(point["frames"] for point in found.report["points"])
    length = found.report["length_s"]
    print_line(f"{found.path}: {frames} packets in {length:.3f} s, {len(found.connections)} TCP connections\n")
    rows = [row for connection in found.connections for row in _rows(connection, both)]
    print_table(None, ["from", "to", *(words for words, _ in _COLUMNS.values())], rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        print_line(f"{len(rows) - MOST_ROWS} more; --json has them")
    _print_places(found.connections)
    if found.report["quic"]:
        _print_quic(found.report["quic"])
    for words in remarks(found.report):
        remark(words)


def _print_places(connections: Sequence[Mapping[str, Any]]) -> None:
    """Print where the connections were captured that were not captured at the sender, as far as that is known."""
    places = Counter((each["place"]["place"], each["place"]["confidence"]) for each in connections if each["place"])
    for (place, confidence), count in sorted(places.items()):
        if place in _PLACES:
            print_line(f"captured {_PLACES[place]} ({confidence}): {count} of {len(connections)} connections")


_PLACES: Final = {
    "receiver": "at the receiver, where the sender's timers cannot be seen",
    "middle": "between the two ends",
}


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


def _rows(connection: Mapping[str, Any], both: bool) -> list[list[object]]:
    bulk = connection["bulk_sender"]
    sides = [bulk, 1 - bulk] if both else [bulk]
    senders = connection["senders"]
    return [[senders[side]["host"], senders[1 - side]["host"], *_cells(senders[side])] for side in sides]


def _cells(sender: Mapping[str, Any]) -> list[object]:
    values = [(sender[key], factor) for key, (_, factor) in _COLUMNS.items()]
    return [None if value is None else value * factor for value, factor in values]
