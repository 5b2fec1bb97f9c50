"""`lasthop doctor`: checks of this machine, with a remedy for each failure."""

from __future__ import annotations

import click

from lasthop.cli.console import print_json, print_line
from lasthop.doctor import checks
from lasthop.real_time.calibration import calibrate as measure


@click.command(name="doctor")
@click.option(
    "--calibrate",
    is_flag=True,
    help="Measure the fastest link of a real-time run, and its stalls; takes seconds.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def command(calibrate: bool, as_json: bool) -> None:
    """Check the requirements of real-time runs, captures and pictures.

    Nothing is changed, except that the leftovers of a killed shell or router are removed. Runs in virtual time and
    studies need none of the checks to pass. The exit status is always 0.

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
        print_line(f"{'ok     ' if check['ok'] else 'MISSING'}  {check['check']}: {check['says']}")
        if check["remedy"] and not check["ok"]:
            print_line(f"         remedy: {check['remedy']}")
