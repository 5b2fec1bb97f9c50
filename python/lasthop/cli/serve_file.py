"""`lasthop serve-file`: lasthop's TCP as the server of real clients."""

from __future__ import annotations

import json
import os
import socket
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import click

from lasthop import _native
from lasthop.cli.console import print_json, print_line, remark
from lasthop.cli.names import completing
from lasthop.cli.options import LINKS, QUIET, SEED_OF_LINKS, overrides_of_host
from lasthop.errors import InputError
from lasthop.fetching import gain_of
from lasthop.fetching.scenarios import RECORDS, server_scenario
from lasthop.fetching.serving import answer, path_of
from lasthop.results.folder import check_target
from lasthop.results.run import write_run
from lasthop.scenario import in_memory

LOOPBACK = "127.0.0.1"
ALL = "0.0.0.0"


@click.command(name="serve-file")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, readable=True))
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND…]")
@click.option(
    "--profile",
    default="aix",
    show_default=True,
    shell_complete=completing("profiles"),
    metavar="NAME|FILE",
    help="The server's TCP.",
)
@click.option("--against", metavar="NAME|FILE", help="Give every other connection this TCP, and print the gain.")
@click.option("--port", type=click.IntRange(1, 65535), default=8080, show_default=True)
@click.option(
    "--bind",
    default=LOOPBACK,
    show_default=True,
    metavar="ADDRESS",
    help="Address of this machine at which others reach it; 0.0.0.0 for all, the loopback for none.",
)
@LINKS
@SEED_OF_LINKS
@overrides_of_host("server")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the result folder DIR at the end.")
@QUIET
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a connection, and the gain at the end.")
def command(
    file: Path,
    program: tuple[str, ...],
    profile: str,
    against: str | None,
    port: int,
    bind: str,
    links: tuple[str, ...],
    seed: int | None,
    overrides: tuple[str, ...],
    out: Path | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Serve FILE over HTTP with lasthop's TCP, through emulated links, until Ctrl-C or SIGTERM, and print what the
    sender of each connection did.

    As root, every program of this machine can use the URL that is printed, and with --bind other machines use that
    address and --port. A COMMAND runs with the URL in $LASTHOP_URL, and the server ends when it does; without root a
    COMMAND is required. The exit status is that of COMMAND.

    \b
    Examples:
      lasthop serve-file film.mp4 --profile aix --link gsm-9600
      lasthop serve-file README.md --profile eifel --against newreno --link gprs \\
          -- sh -c 'for n in 1 2 3 4; do curl -s -o /tmp/got $LASTHOP_URL; done'
      lasthop serve-file README.md --profile 2w --link umts --out results/served -- sh -c 'curl -s $LASTHOP_URL'
      lasthop serve-file film.mp4 --link lte --bind 0.0.0.0
      lasthop plot results/served cwnd
    """
    profiles = [profile] if against is None else [profile, against]
    if profile == against:
        raise InputError(f"{profile} is compared with itself", key="--against", help="name another, or leave it out")
    _check_bind(bind, port)
    if out is not None:
        check_target(out)
    more = RECORDS if out is not None else ""
    scenarios = [
        server_scenario(links, name, tested=name == profile, more=more, overrides=overrides, seed=seed)
        for name in profiles
    ]
    connections = _Connections(profiles, file.stat().st_size, as_json)
    run, status = _native.serve(
        [scenario.json for scenario in scenarios],
        port,
        IPv4Address(bind).packed,
        path_of(file),
        program,
        " + ".join(Path(link).stem for link in links) or "no emulated link",
        lambda descriptor: answer(descriptor, file),
        (lambda _line: None) if quiet else (lambda line: remark(f"lasthop: {line}")),
        connections.print_ended,
    )
    connections.print_gain()
    if out is not None:
        write_run(in_memory(run, scenarios[0]), out)
        remark(f"wrote {out}")
    return status or 0


def _check_bind(bind: str, port: int) -> None:
    """Refuse what is no address of this machine, or would open a port and cannot; say so where one is opened."""
    try:
        address = IPv4Address(bind)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((bind, 0))
    except (ValueError, OSError) as error:
        message = f"{bind!r} is no IPv4 address of this machine"
        raise InputError(message, key="--bind", help=f"{LOOPBACK}, 0.0.0.0, or one that `ip address` lists") from error
    if address.is_loopback:
        return
    if os.geteuid() != 0:
        raise InputError(f"{bind} is reached by other machines as root only", key="--bind", help="leave it out")
    remark(f"lasthop: port {port} is open to other machines at {'every address' if bind == ALL else bind}")


class _Connections:
    """Prints a line for each connection, and the gain of the first profile at the end."""

    def __init__(self, profiles: list[str], size: int, as_json: bool) -> None:
        self.profiles = profiles
        self.size = size
        self.as_json = as_json
        self.goodputs: list[list[float]] = [[] for _ in profiles]

    def print_ended(self, text: str) -> None:
        """Print a connection that has ended; `text` is its summary as JSON."""
        summary = json.loads(text)
        flow, name = summary["flow"], self.profiles[summary["profile"]]
        if summary["broken"] is None and flow["bytes"] >= self.size and flow["throughput_Bps"]:
            self.goodputs[summary["profile"]].append(flow["throughput_Bps"])
        if self.as_json:
            print_json({**summary, "profile": name})
        else:
            print_line(f"{summary['peer']}  {name}: {_in_words(summary, flow)}")

    def print_gain(self) -> None:
        """Print the gain of the first profile over the second, from pairs of complete transfers."""
        if len(self.profiles) < 2:
            return
        pairs = min(map(len, self.goodputs))
        if pairs == 0:
            remark("no pair of complete transfers: nothing can be compared")
            return
        gain = gain_of(self.goodputs[0][:pairs], self.goodputs[1][:pairs])
        if self.as_json:
            print_json({"gain": gain.to_json()})
        else:
            words = gain.in_words("a client that fetches more often")
            print_line(f"{self.profiles[0]} against {self.profiles[1]}: {words}")


def _in_words(summary: dict[str, Any], flow: dict[str, Any]) -> str:
    if flow["elapsed_s"] is None or not flow["throughput_Bps"]:
        return f"no data ({summary['broken'] or 'the client closed'})"
    words = [
        f"{flow['bytes']} bytes in {flow['elapsed_s']:.2f} s",
        f"{flow['throughput_Bps']:.0f} byte/s",
        f"{flow['retransmissions']} retransmitted",
    ]
    causes = ", ".join(f"{count} {cause.replace('_', ' ')}" for cause, count in flow["causes"].items())
    if flow["unnecessary_retransmissions"]:
        words.append(f"{flow['unnecessary_retransmissions']} needless ({causes})")
    words.append(f"{flow['timeouts']} timeouts, {flow['spurious_timeouts']} spurious")
    if summary["broken"] is not None:
        words.append(str(summary["broken"]))
    return ", ".join(words)
