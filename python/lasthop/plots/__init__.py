"""Pictures of results, at the quality of a paper: SVG, PDF and PNG, the same bytes each time.

    from lasthop.plots import View, draw, save
    figure = draw("time-sequence", lasthop.open_run(Path("results/quickstart")), View(flow="download"))
    save(figure, Path("download.svg"))

One file per kind of picture; `registry` lists them and is what the command, the report and the tests read.
Read `kind` first (what a kind is), then `source` (where the tables come from), then one kind, say `cwnd`.
"""

from lasthop.plots.curves import draw_curves
from lasthop.plots.kind import Kind, View
from lasthop.plots.output import FORMATS, render, save
from lasthop.plots.registry import KINDS, draw, kind_of
from lasthop.plots.source import Source, Tables

__all__ = [
    "FORMATS",
    "KINDS",
    "Kind",
    "Source",
    "Tables",
    "View",
    "draw",
    "draw_curves",
    "kind_of",
    "render",
    "save",
]
