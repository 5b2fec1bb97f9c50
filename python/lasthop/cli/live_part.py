"""`lasthop live-part`, which `lasthop live` starts by ssh on other machines. The help does not list it."""

from __future__ import annotations

import click

from lasthop.real_time.part import main


@click.command(name="live-part", hidden=True)
@click.option("--emulator", is_flag=True, help="Run the emulator, with the links, instead of hosts.")
def command(emulator: bool) -> int:
    """Run this machine's part of a real-time run, controlled through standard input and output."""
    return main(emulator=emulator)
