"""`lasthop trace`: a link's capacity as a trace that Mahimahi replays."""

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
    help="How long the trace is.",
)
@SEED
@OVERRIDES
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write FILE instead of standard output.")
def command(
    file: str, link: str, seconds: float, seed: int | None, overrides: tuple[str, ...], out: Path | None
) -> None:
    """Write what LINK, a direction of a link of the scenario FILE like lasthop.down, can carry in so many seconds: a
    line for each opportunity to send 1500 bytes, its time in milliseconds, as mm-link of Mahimahi reads it.

    What says when the link transmits counts: its rate, capacity and available rate, spikes, pre-emption, handovers and
    radio frames; allocation, resets, retransmissions and losses do not. A link with
    capacity = { trace = { path = "FILE" } } replays the trace.

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
            out.write_text(text)
        remark(f"wrote {out}")
