"""`lasthop live`: the same scenario in real time, between real kernels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from lasthop.cli.console import print_json, remark
from lasthop.cli.summary import print_beside_virtual, print_real_time, print_summary
from lasthop.errors import RunError
from lasthop.live import live
from lasthop.scenario import RECORD_NOTHING, load_scenario, run


@click.command(name="live")
@click.argument("file")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND…]")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Another seed for every random stream.")
@click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Override one key of the file.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the result folder DIR.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def command(
    file: str,
    program: tuple[str, ...],
    seed: int | None,
    overrides: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the scenario FILE in real time: each host is a network namespace with this kernel's TCP, joined by the very
    links that `lasthop run` uses. With a COMMAND, that is run in the first host instead of the file's flows.

    Packets are released on the wall clock; how late each was is reported, and a run with a release over 10 ms late is
    marked as tainted. The same scenario's figures in virtual time are printed below, for comparison. `lasthop doctor`
    says whether this machine allows real time, and the remedy.

    \b
    Examples:
      lasthop live quickstart
      lasthop live scenarios/quickstart.toml --json --out results/live
      lasthop live quickstart -- sh -c 'ping -c 3 $LASTHOP_PEER'

    A COMMAND that fails makes the run fail (status 1); its own status is in the summary.
    """
    scenario = load_scenario(file, overrides=overrides, seed=seed)
    with live(scenario, command=program, out=out, quiet_output=as_json) as result:
        if as_json:
            print_json(result.summary)
        else:
            print_summary(result.summary)
            print_real_time(result.summary)
            if not program:
                print_beside_virtual(result.summary, run(scenario, record=RECORD_NOTHING).summary)
    if out is not None:
        remark(f"wrote {out}")
    fail_with(result.summary.get("command"))


def fail_with(ended: Mapping[str, Any] | None) -> None:
    """A program that did not end well makes the command end with status 1."""
    if ended is None or ended["status"] == 0:
        return
    how = f"signal {ended['signal']}" if ended["signal"] is not None else f"status {ended['status']}"
    raise RunError(f"the program in the first host ended with {how}")
