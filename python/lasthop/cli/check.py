"""`lasthop check`: a gate that holds today's runs against a baseline."""

from __future__ import annotations

from pathlib import Path

import click

from lasthop.cli.console import print_json, print_line, print_table, remark
from lasthop.cli.options import ALLOW_CODE, JSON
from lasthop.cli.progress import ProgressLine
from lasthop.errors import InputError


class _Share(click.ParamType[float]):
    """A share, "2%" or 0.02."""

    name = "share"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value)
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            self.fail(f"{text!r} is no share; write 2% or 0.02", param, ctx)
        if not 0 < share < 1:
            self.fail(f"{text} is not between 0 and 100 %", param, ctx)
        return share


@click.command(name="check")
@click.argument("baseline", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--within", type=_Share(), default="2%", show_default=True, help="Half-width of the band.")
@ALLOW_CODE
@JSON
def command(baseline: Path, within: float, allow_code: bool, as_json: bool) -> int:
    """Repeat the duels of BASELINE, a file of `lasthop league --json`, and compare goodputs and delays.

    Runs are paired by their seeds. A change is within the band if the interval of its median is, outside if the whole
    interval lies beyond, and undecided otherwise. The test is sequential: after 10, 20, 40, … of the baseline's seeds
    the duels whose changes are all decided end, at a confidence of 95 % for all looks together. With fewer than six
    seeds the interval is that from the smallest to the largest change. The exit status is 0 if every change is within
    the band, else 1.

    \b
    Examples:
      lasthop check baseline.json --within 2%
      lasthop check baseline.json --json
    """
    from lasthop.judge.gate import check_against, read_baseline

    programs = [entry["program"] for entry in read_baseline(baseline)["entries"] if entry["program"]]
    if programs and not allow_code:
        message = f"the baseline brings a program, {programs[0]}, which would run with your rights"
        raise InputError(message, file=str(baseline), help="read the program; then add --allow-code")
    with ProgressLine("check", "runs", has_bar=False) as line:
        gate = check_against(baseline, within=within, tick=line.update)
    if as_json:
        print_json(gate.to_json())
    else:
        apart = [change for change in gate.changes if change.verdict != "within"]
        if apart:
            rows = [
                [each.one, each.other, each.path, each.measure, each.verdict]
                + [f"{100 * number:.1f} %" for number in (each.change.median, each.change.low, each.change.high)]
                for each in apart
            ]
            print_table(None, ["one", "other", "path", "measure", "verdict", "median", "low", "high"], rows)
        print_line(f"{len(gate.changes) - len(apart)} of {len(gate.changes)} changes within {100 * within:g} %")
    for failed in gate.failed:
        remark(f"{failed.duel.name} failed: {failed.why}")
    return 0 if gate.passes else 1
