"""`lasthop shell`: a program at one end of an emulated link."""

from __future__ import annotations

import os
import shlex
import signal
from pathlib import Path

import click

from lasthop import _native
from lasthop.cli.console import remark
from lasthop.cli.names import completing
from lasthop.cli.options import QUIET, SEED
from lasthop.scenario.links import scenario_of_links


@click.command(name="shell", context_settings={"ignore_unknown_options": False})
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND…]")
@click.option(
    "--link",
    "links",
    multiple=True,
    required=True,
    metavar="PRESET|FILE",
    shell_complete=completing("presets"),
    help="A link of `lasthop list links`, a file like one, or a scenario with one link; repeat it for links in series.",
)
@click.option(
    "--outside",
    metavar="COMMAND",
    help="Run COMMAND at the far end, whose address is $LASTHOP_ADDRESS in it, until the program ends.",
)
@SEED
@click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Override a key: links.lte.down.rate=…")
@QUIET
def command(
    program: tuple[str, ...],
    links: tuple[str, ...],
    outside: str | None,
    seed: int | None,
    overrides: tuple[str, ...],
    quiet: bool,
) -> int:
    """Run COMMAND, or your shell, in a network namespace behind an emulated link.

    As root, the far end of the link is this machine: its services are at $LASTHOP_GATEWAY, and traffic continues by its
    own connection; address translation and forwarding are set up for that and removed at the end. Without root, the far
    end is a separate network with only the program of --outside. Shells nest. Only IPv4 crosses the link.

    The exit status is that of COMMAND, or 128 plus the number of the signal that ended it. lasthop itself exits with 2
    or 1 if it cannot start.

    \b
    Examples:
      lasthop shell --link lte
      lasthop shell --link gsm-9600 --outside 'python3 -m http.server 8000 --bind $LASTHOP_ADDRESS' \\
          -- sh -c 'curl -s $LASTHOP_GATEWAY:8000/README.md'
      lasthop shell --link lte --link geo-satellite -- ping -c 3 192.0.2.1
      lasthop shell --link lte -- lasthop shell --link wifi -- sh -c 'ping -c 3 $LASTHOP_OUTSIDE'
    """
    scenario = scenario_of_links(links, overrides=overrides, seed=seed)
    words = list(program) or [os.environ.get("SHELL", "/bin/sh")]
    if os.isatty(0):
        # Ctrl-C is meant for the program, which shares the terminal. It inherits "ignore", but not a handler.
        signal.signal(signal.SIGINT, lambda _number, _frame: None)
    signal.signal(signal.SIGHUP, signal.getsignal(signal.SIGTERM))
    say = (lambda _line: None) if quiet else (lambda line: remark(f"lasthop: {line}"))
    name = " + ".join(Path(link).stem for link in links)
    return _native.shell(scenario.json, words, shlex.split(outside or ""), name, say)
