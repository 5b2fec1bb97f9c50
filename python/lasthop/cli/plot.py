"""`lasthop plot`: pictures of a run or a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lasthop.cli import quick_matplotlib  # noqa: F401 - before matplotlib is imported
from lasthop.cli.cases import CASE, one_run
from lasthop.cli.console import a_number, remark
from lasthop.plots import FORMATS, KINDS, View, draw, kind_of, save
from lasthop.plots.source import Source
from lasthop.plots.style import note_of
from lasthop.results import open_run
from lasthop.results.folder import STUDY_FILE

_KIND_LINES = "\n".join(f"  {kind.id:14} {kind.summary}\n  {'':14} {kind.tables()}" for kind in KINDS)


@click.command(
    name="plot",
    epilog=f"\b\nKinds, with the tables that each is drawn from ([record] tables):\n{_KIND_LINES}",
)
@click.argument("result", type=click.Path(path_type=Path))
@click.argument("kind", type=click.Choice([kind.id for kind in KINDS]), metavar="KIND")
@CASE
@click.option("--flow", help="The flow to show [all, of many some or groups of them].")
@click.option(
    "--link",
    "links",
    multiple=True,
    metavar="NAME[.down|.up]",
    help="A link whose queue to show; may be repeated [those with most drops].",
)
@click.option(
    "--with",
    "others",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="RESULT",
    help="Another run to draw with RESULT; may be repeated.",
)
@click.option(
    "--from", "start_s", type=float, callback=a_number, metavar="SECONDS", help="Start of the time axis, in seconds."
)
@click.option(
    "--to", "end_s", type=float, callback=a_number, metavar="SECONDS", help="End of the time axis, in seconds."
)
@click.option("--unit", type=click.Choice(["bytes", "segments"]), default="bytes", help="Unit of sequence numbers.")
@click.option("--width", type=click.Choice(["column", "page"]), default="page", help="Width of the picture in a paper.")
@click.option("--title", help="Title of the picture; empty for none.")
@click.option("--table", help="Table of a study.")
@click.option("--metric", help="Metric of a study.")
@click.option(
    "--format",
    "picture_format",
    type=click.Choice(FORMATS),
    default="svg",
    help="Format, if the suffix of --out does not say it.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="The picture [RESULT/KIND.svg].")
@click.option("--show", is_flag=True, help="Also show it in the terminal, or in a window.")
def command(
    result: Path,
    kind: str,
    case: str | None,
    picture_format: str,
    out: Path | None,
    others: tuple[Path, ...],
    show: bool,
    **view: Any,
) -> None:
    """Draw a picture of RESULT, a folder that `lasthop run`, `live` or `study` wrote with --out.

    Of a sweep or a study it draws one case, which it runs again with the tables that pictures need.

    \b
    Examples:
      lasthop plot results/quickstart time-sequence
      lasthop plot results/quickstart cwnd --from 0 --to 30 --format pdf
      lasthop plot results/quickstart queue --link lasthop.down
      lasthop plot results/reno throughput --with results/cubic --show
      lasthop plot results/sarolahti2000 published --table 14 --out table14.png
    """
    folder = result if _is_of_study(result, kind) else one_run(result, case)
    target = out or folder / f"{kind}.{picture_format}"
    source = _opened(folder, kind)
    beside = tuple((path.name, open_run(path)) for path in others)
    picture = draw(kind, source, View(**view, beside=beside))
    for table in kind_of(kind).uses:
        if table not in source.table_names:
            remark(f"the table {table!r} was not recorded, so the picture lacks what it would add")
    if note := note_of(picture):
        remark(note)
    remark(f"wrote {save(picture, target)}")
    if show:
        from lasthop.cli.showing import show_picture

        show_picture(picture, target)


def _opened(folder: Path, kind: str) -> Source:
    if not _is_of_study(folder, kind):
        return open_run(folder)
    from lasthop.study import open_study  # which most pictures do without

    return open_study(folder)


def _is_of_study(result: Path, kind: str) -> bool:
    """Whether the picture is one of a study's rows, and not of a run."""
    return "rows" in kind_of(kind).needs and (result / STUDY_FILE).is_file()
