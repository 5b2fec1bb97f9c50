"""A result's connections explained: what `lasthop explain` prints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from lasthop.errors import InputError
from lasthop.explanation.causes import Cause, causes
from lasthop.explanation.connection import Connection, connections
from lasthop.explanation.story import Event, story
from lasthop.explanation.time_shares import TimeShare, time_shares
from lasthop.plots.source import Source


@dataclass(frozen=True)
class Explanation:
    """One connection: its events in the order of time, the causes of its retransmissions, and where its time went."""

    flow: str
    connection: int
    start: float
    end: float
    events: tuple[Event, ...]
    causes: tuple[Cause, ...]
    time_shares: tuple[TimeShare, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as JSON can hold it."""
        return asdict(self)


def explain(source: Source, flow: str | None = None) -> list[Explanation]:
    """Explain the connections of a result: of one flow, or of all.

    The result needs the table `segments`; `tcp` adds what the sender decided, `packets` what links did. Raises
    InputError where there is no connection, or no flow of that name.
    """
    if "segments" not in source.table_names:
        recorded = ", ".join(source.table_names) or "none"
        raise InputError(
            f"to explain a run takes its table 'segments', which is not there (there are: {recorded})",
            help='run it again with --set \'record.tables=["segments", "tcp", "packets"]\'',
        )
    found = [_explained(source, connection) for connection in connections(source, flow)]
    if not found:
        raise InputError(
            "there is no TCP connection to explain", help="datagrams have no retransmissions; see `lasthop plot`"
        )
    return found


def _explained(source: Source, connection: Connection) -> Explanation:
    return Explanation(
        flow=connection.flow,
        connection=connection.number,
        start=connection.first_seen,
        end=connection.last_seen,
        events=tuple(story(connection)),
        causes=tuple(causes(connection)),
        time_shares=tuple(time_shares(source, connection)),
    )
