"""`lasthop export`: a result in the format of another tool."""

from __future__ import annotations

from pathlib import Path

import click

from lasthop.cli.console import remark
from lasthop.exchange import FORMATS, export
from lasthop.results import open_run

_FORMAT_LINES = "\n".join(f"  {format.id:10} {format.summary}" for format in FORMATS)


@click.command(name="export", epilog=f"\b\nFormats:\n{_FORMAT_LINES}")
@click.argument("result", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "to",
    type=click.Choice([format.id for format in FORMATS]),
    required=True,
    help="The other tool's format.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the files [RESULT/FORMAT].")
def command(result: Path, to: str, out: Path | None) -> None:
    """Write RESULT, a folder that `lasthop run`, `live` or `analyze` wrote with --out, in the format of another tool.

    \b
    Examples:
      lasthop export results/quickstart --format csv
      lasthop export results/quickstart --format xpl && xplot results/quickstart/xpl/download_tsg.xpl
      lasthop export results/quickstart --format qlog --out logs
    """
    for path in export(open_run(result), to, out or result / to):
        remark(f"wrote {path}")
