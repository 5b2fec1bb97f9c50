"""Pictures of single flows: a panel for each flow, one below the other over the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lasthop.errors import InputError
from lasthop.plots import style
from lasthop.plots.axes import mark_timeouts, room_for_labels, set_time_axis, set_title, set_title_above_all
from lasthop.plots.flow import FlowTables, choose_flow, flow_names, group_of, silent_flows, some_of
from lasthop.plots.kind import View
from lasthop.plots.source import Source
from lasthop.plots.span import Span, span_of

MOST_PANELS: Final = 4
"""Largest number of flows that are drawn without being named; the first ones of each group are."""

SMALLER: Final = 0.68
"""Height of a panel among several, as a share of its height alone."""


@dataclass(frozen=True)
class FlowPanel:
    """One flow's panel while it is being drawn. `height_in` is the height that its axes will have, in inches."""

    axes: Axes
    flow: FlowTables
    span: Span
    view: View
    height_in: float


def draw_flows(
    source: Source,
    view: View,
    height_in: float,
    draw_one: Callable[[FlowPanel], None],
    legend: Sequence[str] = (),
    *,
    of_decisions: bool = False,
    of_acknowledged: bool = False,
) -> Figure:
    """Draw the flow that the view names, or all of them, by `draw_one`; the timeouts are marked in each.

    A single panel is `height_in` inches high. A picture `of_decisions` or `of_acknowledged` data leaves out flows of
    datagrams, which have none.
    Raises InputError if nothing is left.
    """
    chosen, note = _chosen(source, view, without_datagrams=of_decisions or of_acknowledged)
    if of_decisions:
        _check_decisions(source)
    flows = [FlowTables(source, name) for name in chosen]
    span = span_of(view, *(flow.times() for flow in flows))
    each_in = height_in if len(flows) == 1 else height_in * SMALLER
    figure = style.new_figure(view.width, each_in * len(flows))
    rows = list(figure.subplots(len(flows), 1, sharex=True, squeeze=False)[:, 0])
    for axes, flow in zip(rows, flows, strict=True):
        draw_one(FlowPanel(axes, flow, span, view, 0.8 * each_in))
        mark_timeouts(axes, flow.timeouts(), span)
    set_time_axis(rows[-1], span)
    _set_titles(figure, rows, flows, source, view, span)
    figure.align_ylabels(rows)
    style.legend_below(figure, figure.axes, legend, note)
    return figure


def _chosen(source: Source, view: View, *, without_datagrams: bool) -> tuple[list[str], str]:
    """Return the flows to draw, and a note on the others. Raises InputError if nothing is left."""
    names = flow_names(source)
    asked = [choose_flow(names, view.flow)] if view.flow is not None or not names else names
    without = set(silent_flows(source)) if without_datagrams else set()
    fitting = [name for name in asked if name not in without]
    if not fitting:
        raise InputError(
            f"nothing to draw of {style.listed(asked)}: datagrams have neither a window nor a timer",
            key="flow",
            help="choose a flow of TCP, or draw time-sequence",
        )
    others = [name for name in asked if name in without]
    said = [f"{style.listed(others)} (datagrams)"] if others else []
    shown = [fitting[place] for place in some_of([group_of(name) for name in fitting], MOST_PANELS)]
    if more := [name for name in fitting if name not in shown]:
        said.append(f"{style.listed(more)} ({len(more)} flows that --flow shows)")
    return shown, f"Left out: {'; '.join(said)}" if said else ""


def _check_decisions(source: Source) -> None:
    if source.table("tcp").num_rows == 0:
        raise InputError(
            "the picture shows a sender's decisions, and none was recorded: a kernel's TCP has packets only",
            help="draw it from the result of `lasthop run`; time-sequence, progress and queue work for real time too",
        )


def _set_titles(
    figure: Figure, rows: list[Axes], flows: list[FlowTables], source: Source, view: View, span: Span
) -> None:
    """One flow: everything in one title. Several: the picture's title above all, the flow's above its panel."""
    alone = len(flows) == 1
    for axes, flow in zip(rows, flows, strict=True):
        words = f"flow {flow.name}, seen at {flow.sender}"
        room = room_for_labels(flow.timeouts(), span)
        if alone:
            set_title(axes, view, source, words, room)
        else:
            axes.set_title(words, pad=style.TITLE_PAD_PT + room)
    if not alone:
        set_title_above_all(figure, view, source)
