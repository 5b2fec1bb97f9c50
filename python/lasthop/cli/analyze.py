"""`lasthop analyze`: the TCP connections of a capture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click

from lasthop.analysis import Analysis, analyze_selection, analyze_to_folder, annotate
from lasthop.cli.capture_tables import ORDERS, print_analysis, print_joined
from lasthop.cli.console import a_number, print_json, print_line, remark
from lasthop.errors import InputError
from lasthop.interface import as_standard_input
from lasthop.selection import Selection, select

if TYPE_CHECKING:
    from lasthop.joining import Joined
    from lasthop.joining.clocks import Choice

STANDARD_INPUT: Final = Path("-")

Command = TypeVar("Command", bound=Callable[..., Any])


def selection_options(command: Command) -> Command:
    """Add the options that choose frames, with the names `start`, `stop`, `filter` and `series`."""
    for option in (
        click.option("--series", is_flag=True, help="The files follow each other in time, as of a rotated capture."),
        click.option("--filter", metavar="EXPRESSION", help="Read matching frames only, in libpcap's language."),
        click.option(
            "--to", "stop", type=click.FloatRange(0), callback=a_number, metavar="S", help="Read up to this time."
        ),
        click.option(
            "--from",
            "start",
            type=click.FloatRange(0),
            callback=a_number,
            default=0.0,
            metavar="S",
            help="Read from this time on, in seconds from the first frame.",
        ),
    ):
        command = option(command)
    return command


@click.command(name="analyze")
@click.argument("captures", type=click.Path(path_type=Path), nargs=-1, metavar="CAPTURE…")
@click.option("--interface", metavar="NAME", help="Capture this interface until Ctrl-C, instead of reading a file.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write a result folder.")
@click.option(
    "--annotate",
    "annotated",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the frames as pcapng, with the verdict on each packet as its comment.",
)
@selection_options
@click.option(
    "--keylog",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Open the packets of QUIC with these TLS secrets (SSLKEYLOGFILE).",
)
@click.option("--worst", type=click.IntRange(1), metavar="N", help="Print the N worst connections only.")
@click.option(
    "--by",
    type=click.Choice(sorted(ORDERS)),
    default="retransmissions",
    show_default=True,
    help="What is worst.",
)
@click.option(
    "--clocks",
    type=click.Choice(["auto", "same", "different"]),
    default="auto",
    show_default=True,
    help="Whether the captures of both ends were stamped by one clock.",
)
@click.option("--all", "both", is_flag=True, help="Print both directions of each connection.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead, with every count.")
def command(
    captures: tuple[Path, ...],
    interface: str | None,
    out: Path | None,
    annotated: Path | None,
    start: float,
    stop: float | None,
    filter: str | None,
    series: bool,
    keylog: Path | None,
    worst: int | None,
    by: str,
    clocks: str,
    both: bool,
    as_json: bool,
) -> None:
    """Analyze the TCP connections of CAPTURE, a pcap or pcapng file, perhaps compressed by gzip or zstd, preferably
    captured at the sender. "-" is standard input, whose notable packets are printed as they come; so are those of a
    network interface (--interface), on Linux.

    Read are Ethernet, VLAN, PPP, PPPoE, MPLS, IEEE 802.11 with radiotap, Linux cooked and NFLOG, BSD loopback and raw
    IP, versions 4 and 6, in fragments too, and what GTP-U, GRE, VXLAN, Geneve and IP tunnels carry.

    Retransmissions are counted by cause, and judged by duplicate SACK blocks, timestamps and times. Captures of both
    ends of a connection are joined: they show the copies that arrived, one-way delays without the clocks' offset, and
    the retransmissions that were needed.

    --out writes a result folder for `lasthop plot`, `explain` and `report`; captures of both ends give one folder, with
    the path between them as a link.

    Reports on connections of QUIC use what is not encrypted. With --keylog, or secrets in a pcapng file, their packets
    are opened: frames, losses, round trips, and data that were sent again.

    \b
    Examples:
      lasthop analyze trace.pcap
      lasthop analyze trace.pcap --filter 'port 443' --worst 10 --by delay
      lasthop analyze trace.pcap --annotate annotated.pcapng
      lasthop analyze trace.pcap --out results/trace
      lasthop explain results/trace
      lasthop analyze server.pcapng phone.pcapng --out results/both
    """
    captures = _sources(captures, interface)
    _check(captures, annotated, series)
    with as_standard_input(interface) if interface is not None else nullcontext():
        if captures == (STANDARD_INPUT,) and out is None and annotated is None:
            from lasthop.cli.as_it_comes import watch

            found = [watch(select((), start=start, stop=stop, filter=filter, key_log=keylog), quiet=as_json)]
        else:
            with _in_files(captures) as files:
                groups = [files] if series else [[file] for file in files]
                chosen = [select(group, start=start, stop=stop, filter=filter, key_log=keylog) for group in groups]
                found = _analyzed(chosen, clocks, out, annotated)
    joined = _joined(found, clocks) if STANDARD_INPUT not in captures else []
    if as_json:
        reports = {str(one.path): one.report for one in found}
        print_json({**reports, "joined": [one.to_json() for one in joined]} if joined else reports)
        return
    for place, one in enumerate(found):
        if place:
            print_line()
        print_analysis(one, both, by if worst else None, worst)
    if joined:
        print_line()
        print_joined(joined)
    _remark_same_ends(found)


def _remark_same_ends(found: Sequence[Analysis]) -> None:
    if len(found) > 1:
        from lasthop.joining import connections_at_one_end

        if count := connections_at_one_end(found):
            remark(f"connections that were captured at the same end each time, and are not joined: {count}")


def _sources(captures: tuple[Path, ...], interface: str | None) -> tuple[Path, ...]:
    """Return the captures to read: standard input for an interface."""
    if interface is None and not captures:
        raise click.UsageError("Missing argument 'CAPTURE…': name a file, '-' or --interface NAME.")
    if interface is not None and captures:
        raise InputError("an interface is read alone, and captures are named", help="leave out one of the two")
    return captures if interface is None else (STANDARD_INPUT,)


def _check(captures: Sequence[Path], annotated: Path | None, series: bool) -> None:
    if annotated is not None and len(captures) > 1 and not series:
        raise InputError("--annotate writes one capture, and several are given", help="add --series, or name one")
    if STANDARD_INPUT in captures and len(captures) > 1:
        raise InputError("standard input is read alone", help="write it to a file first")


@contextmanager
def _in_files(captures: Sequence[Path]) -> Iterator[list[Path]]:
    """Give the captures as files, which are read twice; standard input is kept in a file for that time."""
    if STANDARD_INPUT not in captures:
        yield list(captures)
        return
    import shutil
    import sys
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="lasthop-", suffix=".pcap") as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)
        kept.flush()
        yield [Path(kept.name)]


def _analyzed(chosen: Sequence[Selection], clocks: str, out: Path | None, annotated: Path | None) -> list[Analysis]:
    found = [analyze_selection(one) for one in chosen]
    if annotated is not None:
        annotate(chosen[0], annotated)
        remark(f"wrote {annotated}")
    if out is not None:
        _write(found, _joined(found, clocks), out)
        remark(f"wrote {out}")
    return found


def _write(found: Sequence[Analysis], joined: Sequence[Joined], out: Path) -> None:
    """Write one capture, or several captures joined, as a result folder."""
    if len(found) == 1:
        analyze_to_folder(found[0].chosen, out)
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

    views = [view for one in found for view in views_of(one.chosen)]
    return join(views, cast("Choice", clocks))
