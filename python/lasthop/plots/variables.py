"""The named variables of a sender's congestion control, each over its own axis."""

from __future__ import annotations

from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lasthop.plots import style
from lasthop.plots.axes import set_time_axis, set_title_above_all
from lasthop.plots.columns import Columns
from lasthop.plots.flow import FlowTables, choose_flow
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import Source, columns_of
from lasthop.plots.span import Span, span_of

TABLE: Final = "variables"

HEIGHT_IN: Final = 1.15
"""Height of a row of panels."""

COLUMNS: Final = {"column": 1, "page": 2}
"""Number of panels side by side, by the width of the picture."""

SHOWN_CONSTANTS: Final = 12
"""Most constants whose values a picture states."""


def draw(source: Source, view: View) -> Figure:
    """Draw each variable that changes, of the flow that the view names or of the first that has any."""
    changes = columns_of(source, TABLE)
    flow = FlowTables(source, choose_flow(changes.distinct("flow"), view.flow))
    rows = changes.equal("flow", flow.name).equal("host", flow.sender)
    span = span_of(view, flow.times())
    curves = {name: rows.equal("name", name) for name in rows.distinct("name")}
    changing = [name for name, curve in curves.items() if len(set(curve.numbers("value").tolist())) > 1]
    beside = COLUMNS[view.width]
    lines = max(1, -(-len(changing) // beside))
    figure = style.new_figure(view.width, HEIGHT_IN * lines + 0.6)
    panels = figure.subplots(lines, beside, sharex=True, squeeze=False)
    for axes in panels.flat[len(changing) :]:
        axes.set_axis_off()
    for axes, name in zip(panels.flat, changing, strict=False):
        _draw_one(axes, curves[name], name, span)
    # The lowest panel of each column, also above an empty place.
    for axes in panels.flat[max(0, len(changing) - beside) : len(changing)]:
        set_time_axis(axes, span)
        axes.tick_params(labelbottom=True)
    set_title_above_all(figure, view, source)
    style.legend_below(figure, figure.axes, (), _note(curves, changing))
    return figure


def _draw_one(axes: Axes, curve: Columns, name: str, span: Span) -> None:
    """Draw a variable as steps; its last value lasts to the end."""
    time, value = curve.seconds("time_ns").tolist(), curve.numbers("value").tolist()
    axes.step([*time, max(span.end, time[-1])], [*value, value[-1]], where="post", color=style.BLUE, linewidth=0.8)
    axes.set_title(name, loc="left", pad=2)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-3, 5))


def _note(curves: dict[str, Columns], changing: list[str]) -> str:
    """Return the values of the variables that keep one."""
    constant = [name for name in curves if name not in changing]
    values = [f"{name} = {curves[name].numbers('value')[0]:g}" for name in constant[:SHOWN_CONSTANTS]]
    more = f", and {len(constant) - SHOWN_CONSTANTS} more" if len(constant) > SHOWN_CONSTANTS else ""
    return f"Constant: {', '.join(values)}{more}" if values else ""


KIND: Final = Kind(
    id="variables",
    summary="the named variables of a congestion control in Python or C, each over its own axis",
    needs=("segments", TABLE),
    uses=(),
    draw=draw,
    options=("flow", "start_s", "end_s"),
)
