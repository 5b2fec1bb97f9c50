"""All formats of other tools. A new one is a file in this folder and a line here."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lasthop._native import __version__
from lasthop.errors import InputError, naming
from lasthop.exchange import csv_tables, flent, mahimahi, qlog, qlog_tcp, xplot
from lasthop.exchange.file_format import Format, Result
from lasthop.plots.source import check_opened, check_tables
from lasthop.results import open_run
from lasthop.results.damage import reporting_damage

if TYPE_CHECKING:
    from lasthop.results import Run, RunResult

FORMATS: Final[tuple[Format, ...]] = (
    csv_tables.FORMAT,
    xplot.FORMAT,
    flent.FORMAT,
    qlog.FORMAT,
    qlog_tcp.FORMAT,
    mahimahi.FORMAT,
)


def export(run: Run | RunResult | str | PathLike[str], format: str, folder: str | PathLike[str]) -> list[Path]:
    """Write the tables of a run, or of a result's folder, to `folder` in the format of another tool; return the files.

    Raises InputError for an unknown format, if a table that the format needs is missing, or if there is nothing to
    write.

    >>> import lasthop
    >>> sorted(path.name for path in lasthop.export(lasthop.run("quickstart"), "csv", "csv"))
    ['flows.csv', 'packets.csv', 'queue.csv', 'segments.csv', 'tcp.csv']
    """
    if isinstance(run, str | PathLike):
        run = open_run(run)
    chosen = _format_of(format)
    fit = [other.id for other in FORMATS if set(other.needs) <= set(run.table_names)]
    check_tables(run, chosen.id, chosen.needs, what="format", others=f"choose one of {', '.join(fit)}")
    target = Path(folder)
    written = []
    with naming(target):
        target.mkdir(parents=True, exist_ok=True)
    with reporting_damage(run):
        for file in chosen.files(Result(run, run.summary, run.specification, __version__)):
            path = target / file.name
            content = file.content.encode() if isinstance(file.content, str) else file.content
            with naming(path):
                path.write_bytes(content)
            written.append(path)
    if not written:
        check_opened(run, None)
        raise InputError(
            f"the run has nothing to write as {format}", help="see that a flow starts before the run stops"
        )
    return written


def _format_of(id: str) -> Format:
    for format in FORMATS:
        if format.id == id:
            return format
    raise InputError(
        f"no format {id!r}", key="format", help=f"choose one of {', '.join(format.id for format in FORMATS)}"
    )
