"""`lasthop doctor`: what this machine can do, and the remedy for what it cannot."""

from __future__ import annotations

import click

from lasthop.cli.console import print_json, stdout
from lasthop.doctor import checks
from lasthop.real_time.calibration import calibrate as measure


@click.command(name="doctor")
@click.option("--calibrate", is_flag=True, help="Measure, in some seconds, how fast links may be in real time.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def command(calibrate: bool, as_json: bool) -> None:
    """Check what real-time runs, captures and pictures need.

    Nothing is changed, except that what a killed shell or router has left is taken back. Virtual-time runs and
    studies need none of it. The exit status is 0 whatever is found.

    \b
    Examples:
      lasthop doctor
      lasthop doctor --json
      lasthop doctor --calibrate
    """
    if calibrate:
        measure()
    found = checks()
    if as_json:
        print_json({"ok": all(check["ok"] for check in found), "checks": found})
        return
    for check in found:
        stdout.print(f"{'ok     ' if check['ok'] else 'MISSING'}  {check['check']}: {check['says']}")
        if check["remedy"] and not check["ok"]:
            stdout.print(f"         remedy: {check['remedy']}")
