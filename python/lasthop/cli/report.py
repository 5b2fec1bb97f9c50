"""`lasthop report`: one page of one or several runs."""

from __future__ import annotations

from pathlib import Path

import click

from lasthop.cli.cases import CASES, runs_of
from lasthop.cli.console import remark


@click.command(name="report")
@click.argument("results", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="RESULT…")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="The page [RESULT/report.html].")
@CASES
def command(results: tuple[Path, ...], out: Path | None, cases: tuple[str, ...]) -> None:
    """Write one self-contained page of RESULT, a folder that `lasthop run`, `live` or `study` wrote with --out, or one
    that has such folders, as of `fetch`.

    The page needs no network. It has the summary, and the time-sequence diagram, windows, round trips and queues on one
    time axis, which zoom together. Of several results it shows one at a time, and the figures of all side by side. Of a
    sweep or a study it shows some cases, which it runs again with the tables that the page needs.

    \b
    Examples:
      lasthop report results/quickstart
      lasthop report results/reno results/cubic --out compared.html
    """
    from lasthop.report import write_report
    from lasthop.results import open_run

    runs = [open_run(folder) for result in results for folder in runs_of(result, cases)]
    target = out or results[0] / "report.html"
    write_report(runs, target)
    remark(f"wrote {target}")
