"""`lasthop live-part`: what `lasthop live` starts by ssh on other machines. It is in no list of commands."""

from __future__ import annotations

import click

from lasthop.real_time.part import main


@click.command(name="live-part", hidden=True)
@click.option("--emulator", is_flag=True, help="Carry the links, not hosts.")
def command(emulator: bool) -> int:
    """Run this machine's part of a real-time run, as standard input says. `lasthop live` starts it by ssh."""
    return main(emulator=emulator)
