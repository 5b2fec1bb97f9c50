"""The plan of a shared channel: sites, users, and the mean rate of each."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lasthop.errors import InputError
from lasthop.plots import style
from lasthop.plots.axes import set_title
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import Source

TABLE: Final = "cell_users"
SIDE_IN: Final = 4.2
"""Height of the picture: a plan is as high as it is wide, and the scale stands next to it."""
WIDTH_IN: Final = 5.2
KBIT: Final = 1e3


def draw(source: Source, view: View) -> Figure:
    """Draw the users of the first channel where they stand, coloured by their mean rate; squares have a budget."""
    rows = source.table(TABLE)
    if rows.num_rows == 0:
        raise InputError("no user is on a shared channel", help="run a scenario with a cell, such as hsdpa-cell")
    column = {name: np.asarray(rows[name].to_pylist()) for name in ("cell", "x_m", "y_m", "site_x_m", "site_y_m")}
    rate = np.asarray(rows["bit_rate"].to_pylist(), dtype=float) / KBIT
    timely = np.asarray([budget is not None for budget in rows["budget_s"].to_pylist()])
    first = column["cell"] == column["cell"][0]
    figure = style.new_figure(view.width, SIDE_IN)
    figure.set_figwidth(min(figure.get_figwidth(), WIDTH_IN))
    axes = figure.add_subplot()
    _draw_sites(axes, column["site_x_m"][first], column["site_y_m"][first])
    scale, greatest = None, float(rate[first].max())
    for of_kind, marker, words in (
        (first & timely, "s", "user with a delay budget"),
        (first & ~timely, "o", "other user" if timely.any() else "user"),
    ):
        if of_kind.any():
            x, y = column["x_m"][of_kind] / KBIT, column["y_m"][of_kind] / KBIT
            scale = axes.scatter(
                x, y, c=rate[of_kind], s=11, marker=marker, label=words, cmap="viridis", vmin=0.0, vmax=greatest
            )
    if scale is not None:
        figure.colorbar(scale, ax=axes, label="Mean rate (kbit/s)", shrink=0.85)
    axes.set_aspect("equal")
    axes.set_xlabel("East of the first site (km)")
    axes.set_ylabel("North (km)")
    set_title(axes, view, source, "users of the shared channel")
    style.legend_below(figure, [axes])
    return figure


def _draw_sites(axes: Axes, x: np.ndarray, y: np.ndarray) -> None:
    places = np.unique(np.column_stack([x, y]).round(3), axis=0) / KBIT
    axes.plot(*places.T, linestyle="none", marker="^", markersize=7, color=style.GREY, label="site", zorder=3)


KIND: Final = Kind(
    id="cell",
    summary="the plan of a shared channel: sites, users and the mean rate of each",
    needs=(TABLE,),
    uses=(),
    draw=draw,
    options=(),
)
