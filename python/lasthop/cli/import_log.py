"""`lasthop import`: a link's trace from a log of Mahimahi."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from lasthop.cli.console import remark
from lasthop.errors import naming
from lasthop.exchange import read_log, trace_of_log


@click.command(name="import")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write FILE instead of standard output.")
def command(log: Path, out: Path | None) -> None:
    """Make a trace from LOG, a log of Mahimahi's mm-link (--uplink-log, --downlink-log).

    A link with capacity = { trace = { path = "FILE" } } replays the trace. Traces of Mahimahi need no import; a link
    reads them directly.

    \b
    Examples:
      lasthop import downlink.log --out my-lte.trace
    """
    found = read_log(log)
    text = trace_of_log(found)
    dropped = sum(packet.dropped for packet in found.packets)
    remark(f"{len(found.opportunities_ms)} opportunities, {len(found.packets)} packets, {dropped} of them dropped")
    if out is None:
        sys.stdout.write(text)
        return
    with naming(out):
        out.write_text(text, "utf-8", newline="\n")
    remark(f"wrote {out}")
