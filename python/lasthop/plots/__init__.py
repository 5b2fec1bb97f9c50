"""Pictures of results, at the quality of a paper: SVG, PDF and PNG, the same bytes each time.

    from lasthop.plots import View, draw, save
    figure = draw("time-sequence", lasthop.open_run(Path("results/quickstart")), View(flow="download"))
    save(figure, Path("download.svg"))

One file per kind of picture; `registry` lists them and is what the command, the report and the tests read.
Read `kind` first (what a kind is), then `source` (where the tables come from), then one kind, say `cwnd`.

Names are imported when they are first used: explanations and pages read tables with this package, and do without
Matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lasthop.plots.curves import draw_curves
    from lasthop.plots.kind import Kind, View
    from lasthop.plots.output import FORMATS, render, save
    from lasthop.plots.registry import KINDS, draw, kind_of
    from lasthop.plots.source import Source, Tables

_HOME = {
    "draw_curves": "curves",
    "Kind": "kind",
    "View": "kind",
    "FORMATS": "output",
    "render": "output",
    "save": "output",
    "KINDS": "registry",
    "draw": "registry",
    "kind_of": "registry",
    "Source": "source",
    "Tables": "source",
}

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


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
