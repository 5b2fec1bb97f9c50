"""Writes the page: markup, style, program and data in one file, which needs no network."""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from lasthop.errors import InputError
from lasthop.plots.source import check_opened
from lasthop.report.payload import run_payload
from lasthop.results import RunResult
from lasthop.results.damage import reporting_damage

FORMAT: Final = "lasthop report 1"

LEVEL: Final = 4
"""Level of compression: half the time of zlib's default, 6, and 2 % more bytes."""

_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="lasthop">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<noscript>This page draws with JavaScript, which is switched off.</noscript>
<main id="report"></main>
<script type="application/json" id="index">{index}</script>
<script type="application/octet-stream" id="columns">{columns}</script>
<script>
{program}
</script>
</body>
</html>
"""


def write_report(runs: Sequence[RunResult], target: Path) -> None:
    """Write one page of these runs to `target`, whole or not at all, and return its path.

    Raises InputError if a run has no table `segments`.
    """
    if target.is_dir():
        raise InputError("is a folder, not a page", file=str(target), help="name a file with --out, like page.html")
    page = report_page(runs)
    partial = target.with_name(f".{target.name}.partial")
    partial.write_text(page, encoding="utf-8")
    partial.replace(target)


def report_data(runs: Sequence[RunResult]) -> tuple[dict[str, Any], bytes]:
    """Return the data of the page: an index as a JSON value, and the columns that it refers to, packed.

    Raises InputError if a run has no table `segments`.
    """
    for run in runs:
        check_opened(run, None)
        if "segments" not in run.table_names:
            raise InputError(
                "the run recorded no table 'segments', which the page needs",
                file=str(run.path),
                help='run it again with --set \'record.tables=["segments","tcp","packets","queue"]\'',
            )
    payloads, columns = [], b""
    with reporting_damage(*runs):
        for run in runs:
            payload, more = run_payload(run, len(columns))
            payloads.append(payload)
            columns += more
    return {"format": FORMAT, "runs": payloads}, columns


def report_page(runs: Sequence[RunResult]) -> str:
    """Return the page as text. Raises InputError if a run has no table `segments`."""
    index, columns = report_data(runs)
    # Neither "</script>" nor "<!--<script>" in a text ends, or prolongs, the script element around it.
    text = json.dumps(index, separators=(",", ":")).replace("<", "\\u003c")
    return page_of(html.escape(", ".join(run.name for run in runs)), text, _deflated(columns))


def page_of(title: str, index: str, columns: str) -> str:
    """Return a page with this title, escaped for HTML, and the data of `report_data` as text, the columns deflated."""
    return _PAGE.format(
        title=title,
        style=_built("viewer.css"),
        index=index,
        columns=columns,
        program=_built("viewer.js").replace("</script", "<\\/script"),
    )


def _deflated(columns: bytes) -> str:
    """Return packed columns, deflated (RFC 1950) and in base64."""
    return base64.b64encode(zlib.compress(columns, LEVEL)).decode("ascii")


def _built(name: str) -> str:
    part = files("lasthop.report").joinpath(name)
    if not part.is_file():
        raise InputError(
            f"this installation lacks the page's {name}", help="build it with `make viewer`, which needs Node.js"
        )
    return part.read_text(encoding="utf-8")
