"""The data in flight over time, with the window that the peer offers."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.figure import Figure

from lasthop.plots import style, thinning
from lasthop.plots.axes import scale_of, set_amount_axis
from lasthop.plots.columns import Floats
from lasthop.plots.delivery import flight
from lasthop.plots.flow_panels import FlowPanel, draw_flows
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import Source
from lasthop.plots.thinning import Sheet

HEIGHT_IN: Final = 2.7

WINDOW: Final = "window that the peer offers"
WINDOW_OFF_SCALE: Final = f"{WINDOW} (off the scale)"

FAR: Final = 3.0
"""Multiple of the largest flight above which the peer's window limits nothing, and the axis ends."""


def draw(source: Source, view: View) -> Figure:
    """Draw the data in flight of each flow."""
    return draw_flows(source, view, HEIGHT_IN, _draw_flow, of_acknowledged=True)


def _draw_flow(panel: FlowPanel) -> None:
    axes, flow, span = panel.axes, panel.flow, panel.span
    found, acks = flight(flow), flow.acks()
    window = acks.edge - acks.ack
    shown = span.holds(found.time)
    if not shown.any():
        set_amount_axis(axes, "In flight (bytes)")
        style.say_empty(axes, "nothing was in flight in this time")
        return
    highest = max(float(found.bytes[shown].max()), 1.0)
    offered = window[span.holds(acks.time)]
    in_sight = bool((offered <= FAR * highest).any())
    top = min(max(highest, float(np.max(offered, initial=0.0))), FAR * highest) if in_sight else highest
    scale = scale_of(panel.view.unit, top, flow.segment_size())
    sheet = Sheet(span, 0.0, top / scale.divisor)

    def curve(time: Floats, values: Floats, colour: str, words: str, width: float) -> None:
        at, amount = thinning.steps(sheet, time, values / scale.divisor)
        axes.step(at, amount, where="post", color=colour, linewidth=width, label=words)

    for those in acks.connections:
        curve(acks.time[those], window[those], style.ORANGE, WINDOW if in_sight else WINDOW_OFF_SCALE, 0.9)
    curve(found.time, found.bytes, style.BLUE, "data in flight", 1.0)
    axes.set_ylim(0, 1.08 * top / scale.divisor)
    set_amount_axis(axes, f"In flight ({scale.label})")


KIND: Final = Kind(
    id="flight",
    summary="the data in flight of each flow, and the window that its peer offers",
    needs=("segments",),
    uses=("tcp",),
    draw=draw,
    options=("flow", "start_s", "end_s", "unit"),
)
