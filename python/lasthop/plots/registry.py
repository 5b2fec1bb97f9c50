"""All kinds of picture. A new one is a file in this folder and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from matplotlib.figure import Figure

from lasthop.errors import InputError
from lasthop.plots import (
    cell,
    cwnd,
    delay,
    in_flight,
    progress,
    published,
    queue,
    rtt,
    share,
    style,
    throughput,
    time_sequence,
    transfers,
    variables,
)
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import ReadOnce, Source, check_opened, check_tables
from lasthop.results.damage import reporting_damage

KINDS: Final[tuple[Kind, ...]] = (
    time_sequence.KIND,
    cwnd.KIND,
    rtt.KIND,
    in_flight.KIND,
    queue.KIND,
    progress.KIND,
    throughput.KIND,
    share.KIND,
    delay.KIND,
    delay.CDF,
    delay.BOX,
    transfers.KIND,
    published.KIND,
    cell.KIND,
    variables.KIND,
)


def kind_of(id: str) -> Kind:
    """Return the kind of that name. Raises InputError if there is none."""
    for kind in KINDS:
        if kind.id == id:
            return kind
    raise InputError(
        f"no kind of picture {id!r}", key="kind", help=f"choose one of {', '.join(kind.id for kind in KINDS)}"
    )


def draw(id: str, source: Source, view: View | None = None) -> Figure:
    """Draw a picture of that kind.

    Raises InputError for an unknown kind or flow, for an option that the kind does not have, and, with the way to
    record it, for a missing table.
    """
    kind = kind_of(id)
    seen = view or View()
    kind.check_options(seen)
    check_tables(source, kind.id, kind.needs, kind.instead)
    check_opened(source, seen.flow)
    with style.settings(), reporting_damage(source, *(run for _, run in seen.beside)):
        return kind.draw(ReadOnce(source), seen)


def draw_from_keywords(id: str, source: Source, view: Mapping[str, Any]) -> Figure:
    """Draw a picture with the fields of its view given by name, as `Run.plot` takes them. Raises what `draw` does."""
    return draw(id, source, View(**view))
