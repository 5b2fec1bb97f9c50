"""Writes the page: markup, style, program and data in one file, which needs no network."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from lasthop.errors import InputError
from lasthop.report.packing import Packer
from lasthop.report.payload import run_payload
from lasthop.results import RunResult

FORMAT: Final = "lasthop report 1"

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
    page = report_page(runs)
    partial = target.with_name(f".{target.name}.partial")
    partial.write_text(page, encoding="utf-8")
    partial.replace(target)


def report_page(runs: Sequence[RunResult]) -> str:
    """Return the page as text. Raises InputError if a run has no table `segments`."""
    for run in runs:
        if "segments" not in run.table_names:
            raise InputError(
                "the run recorded no table 'segments', which the page needs",
                file=str(run.path),
                help='run it again with --set \'record.tables=["segments","tcp","packets","queue"]\'',
            )
    packer = Packer()
    index = {"format": FORMAT, "runs": [run_payload(run, packer) for run in runs]}
    return _PAGE.format(
        title=html.escape(", ".join(run.name for run in runs)),
        style=_built("viewer.css"),
        # "</script>" in a text would end the script element around it.
        index=json.dumps(index, separators=(",", ":")).replace("</", "<\\/"),
        columns=packer.text(),
        program=_built("viewer.js").replace("</script", "<\\/script"),
    )


def _built(name: str) -> str:
    part = files("lasthop.report").joinpath(name)
    if not part.is_file():
        raise InputError(
            f"this installation lacks the page's {name}", help="build it with `make viewer`, which needs Node.js"
        )
    return part.read_text(encoding="utf-8")
