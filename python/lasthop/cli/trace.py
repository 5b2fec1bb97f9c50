"""`lasthop trace`: a link's capacity as a trace for Mahimahi."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from lasthop.cli.console import a_number, remark
from lasthop.cli.names import completing
from lasthop.cli.options import OVERRIDES, SEED
from lasthop.errors import InputError, naming
from lasthop.scenario import link_trace, load_scenario


@click.command(name="trace")
@click.argument("file", shell_complete=completing("scenarios"))
@click.argument("link")
@click.option(
    "--for",
    "seconds",
    type=click.FloatRange(0, 1e6, min_open=True),
    callback=a_number,
    metavar="SECONDS",
    default=60,
    show_default=True,
    help="Length of the trace, in seconds.",
)
@SEED
@OVERRIDES
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write FILE instead of standard output.")
def command(
    file: str, link: str, seconds: float, seed: int | None, overrides: tuple[str, ...], out: Path | None
) -> None:
    """Write the capacity of LINK, a direction of a link of the scenario FILE such as lasthop.down, as a trace for
    Mahimahi's mm-link: a line for each opportunity to send 1500 bytes, with its time in milliseconds.

    The trace follows the link's rate, capacity, available rate, spikes, pre-emption, handovers and radio frames; it
    leaves out allocation, resets, retransmissions and losses. A link with capacity = { trace = { path = "FILE" } }
    replays the trace.

    \b
    Examples:
      lasthop trace rate-schedule lasthop.down --for 30 --out schedule.trace
      lasthop trace spikes lasthop.down --seed 2
    """
    text = link_trace(load_scenario(file, overrides=overrides, seed=seed), link, seconds)
    if not text:
        raise InputError(f"{link} cannot carry 1500 bytes in {seconds:g} s", help="give it a longer time: --for")
    if out is None:
        sys.stdout.write(text)
    else:
        with naming(out):
            out.write_text(text, "utf-8", newline="\n")
        remark(f"wrote {out}")
