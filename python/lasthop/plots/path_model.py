"""The model of the path that a sender like BBR has: its rates on an axis of their own, and its states."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes

from lasthop.plots import style
from lasthop.plots.axes import set_amount_axis
from lasthop.plots.columns import Columns
from lasthop.plots.flow import STATE
from lasthop.plots.span import Span

RATES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "pacing_rate_Bps": ("pacing rate (right)", {"color": style.ORANGE, "linewidth": 0.7, "zorder": 2.5}),
    "bandwidth_Bps": (
        "bandwidth estimate (right)",
        {"color": style.MAGENTA, "linestyle": (0, (4, 1.5)), "zorder": 2.6},
    ),
}
"""The rates: column, words of the legend, looks."""

ROOM: Final = 1.35
"""Factor by which the axis exceeds the highest rate, so that the window's curve stays visible."""


def has_model(tcp: Columns) -> bool:
    """Whether the sender has a model of the path."""
    return STATE in tcp and bool(tcp.known(STATE).any())


def draw_rates(axes: Axes, tcp: Columns, span: Span) -> None:
    """Draw the rates over an axis at the right side."""
    right = axes.twinx()
    right.spines["right"].set_visible(True)
    time, shown = tcp.seconds("time_ns"), span.holds(tcp.seconds("time_ns"))
    rates = {column: tcp.numbers(column) * 8 for column in RATES}
    highest = max((float(np.nanmax(rate[shown], initial=0.0)) for rate in rates.values()), default=0.0)
    unit, divisor = style.rate_unit(highest)
    for column, (words, look) in RATES.items():
        right.step(time, rates[column] / divisor, where="post", label=words, **look)
    set_amount_axis(right, f"Rate ({unit})")
    right.set_ylim(0, ROOM * max(highest, 1.0) / divisor)
