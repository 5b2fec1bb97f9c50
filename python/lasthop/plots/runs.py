"""The common parts of pictures of several runs: their flows, each with label, colour and dashes.

A flow has the same colour wherever flows are drawn next to one another: that of its place among the flows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from lasthop.errors import InputError
from lasthop.plots import style
from lasthop.plots.columns import Floats
from lasthop.plots.flow import FlowTables, choose_flow, flow_names, group_of, some_of
from lasthop.plots.kind import View
from lasthop.plots.source import ReadOnce, Source, check_tables, columns_of

DASHES: Final[tuple[Any, ...]] = ("-", (0, (3.5, 1.2)), (0, (1, 1)), (0, (5, 1.2, 1, 1.2)))

MARKERS: Final = (("o", 1.25), ("^", 2.2), ("s", 1.7), ("D", 1.7))
"""Marks of packets, with their sizes in points."""

MOST_FLOWS: Final = 14
"""Largest number of flows that are drawn: more colours and dashes could not be distinguished."""


@dataclass(frozen=True)
class Drawn:
    """One flow of one run, and how it is drawn."""

    flow: FlowTables
    words: str
    colour: str
    dashes: Any
    run: int = 0
    marker: tuple[str, float] = MARKERS[0]


def flows_of_runs(
    source: Source, view: View, kind: str, needs: tuple[str, ...], most: int | None = MOST_FLOWS
) -> tuple[list[Drawn], str]:
    """Return the view's flow (or all flows) of the run and of those drawn with it, and a note on those left out.

    At most `most` flows of all are returned: the first ones of each group.
    """
    runs = named_runs(source, view)
    found = []
    for place, (name, run) in enumerate(runs):
        check_tables(run, kind, needs)
        names = flow_names(run)
        chosen = [choose_flow(names, view.flow)] if view.flow is not None or not names else names
        found += [(place, FlowTables(run, flow), _words(name, flow, len(runs), len(chosen))) for flow in chosen]
    named = list(dict.fromkeys(flow.name for _, flow, _ in found))
    groups = [(number, group_of(flow.name)) for number, flow, _ in found]
    shown = some_of(groups, len(found) if most is None else most)
    drawn = []
    for number, flow, words in (found[place] for place in shown):
        place = named.index(flow.name)
        drawn.append(Drawn(flow, words, *look_of(place, number, len(runs)), number, marker_of(place)))
    left_out = [words for place, (_, _, words) in enumerate(found) if place not in shown]
    return drawn, f"Left out: {style.listed(left_out)} ({len(left_out)} flows that --flow shows)" if left_out else ""


def marker_of(flow: int) -> tuple[str, float]:
    """Return mark and size for a flow's packets: another one each time that the colours begin again."""
    return MARKERS[flow // len(style.SERIES) % len(MARKERS)]


def look_of(flow: int, run: int, runs: int) -> tuple[str, Any]:
    """Return colour and dashes of a flow in a run, by their places.

    A flow has one colour in all runs, in another shade and dashed otherwise in each.
    """
    colour = style.SERIES[flow % len(style.SERIES)]
    if runs == 1:
        return colour, DASHES[flow // len(style.SERIES) % len(DASHES)]
    return style.shaded(colour, run), DASHES[run % len(DASHES)]


def delays(flow: FlowTables, source: Source) -> tuple[Floats, Floats]:
    """Return arrival time and delay of each packet with data, in seconds, of all copies.

    Raises InputError if only one end was recorded.
    """
    rows = columns_of(source, "segments").equal("flow", flow.name)
    rows = rows.where(rows.numbers("len") > 0)
    sent = rows.equal("direction", "sent").equal("host", flow.sender)
    got = rows.equal("direction", "received").where(rows.equal("direction", "received").texts("host") != flow.sender)
    if len(sent) and not len(got):
        raise InputError(
            "only one end of the flow was recorded, so the delays of packets are not known",
            help="draw rtt, or analyze captures of both ends together",
        )
    left_at = dict(zip(sent.numbers("packet"), sent.seconds("time_ns"), strict=True))
    arrived = got.seconds("time_ns")
    left = np.array([left_at.get(packet, np.nan) for packet in got.numbers("packet")], dtype=np.float64)
    known = np.isfinite(left)
    return arrived[known], (arrived - left)[known]


def each_delay(drawn: list[Drawn]) -> Iterator[tuple[Drawn, Floats, Floats]]:
    """The delays of each flow."""
    for one in drawn:
        yield one, *delays(one.flow, one.flow.source)


def named_runs(source: Source, view: View) -> list[tuple[str, Source]]:
    """Return the run and those drawn with it, each with the words for it."""
    runs = [("", source), *view.beside]
    own = getattr(source, "folder_name", "") or source.name
    return [(name or own, ReadOnce(run)) for name, run in runs]


def _words(run: str, flow: str, runs: int, flows: int) -> str:
    if runs == 1:
        return flow
    return run if flows == 1 else f"{run}: {flow}"
