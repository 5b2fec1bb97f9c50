"""`lasthop export`: a result in the format of another tool."""

from __future__ import annotations

from pathlib import Path

import click

from lasthop.cli.cases import CASE, one_run
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
@CASE
def command(result: Path, to: str, out: Path | None, case: str | None) -> None:
    """Write RESULT, a folder that `lasthop run`, `live` or `analyze` wrote with --out, in the format of another tool.

    Of a sweep or a study it writes one case, which it runs again with its tables.

    \b
    Examples:
      lasthop export results/quickstart --format csv
      lasthop export results/quickstart --format xpl && xplot results/quickstart/xpl/download_tsg.xpl
      lasthop export results/quickstart --format qlog --out logs
    """
    folder = one_run(result, case)
    for path in export(open_run(folder), to, out or folder / to):
        remark(f"wrote {path}")
