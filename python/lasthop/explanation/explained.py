"""The explained connections of a result, as `lasthop explain` prints them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

from lasthop.errors import InputError
from lasthop.explanation.causes import Cause, causes
from lasthop.explanation.connection import Connection, connections
from lasthop.explanation.story import Event, story
from lasthop.explanation.time_shares import TimeShare, time_shares
from lasthop.plots.source import ReadOnce, Source
from lasthop.results import open_run


@dataclass(frozen=True)
class Explanation:
    """One connection: its events in order of time, the causes of its retransmissions, and its shares of time."""

    flow: str
    connection: int
    start: float
    end: float
    events: tuple[Event, ...]
    causes: tuple[Cause, ...]
    time_shares: tuple[TimeShare, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as a JSON object."""
        return asdict(self)


def explain(source: Source | str | PathLike[str], flow: str | None = None) -> list[Explanation]:
    """Explain the connections of a run, or of a result's folder: of one flow, or of all.

    The result must have the table `segments`; `tcp` adds the sender's decisions, `packets` the drops and delays of
    links. Raises InputError if the table is missing, there is no TCP connection, or no flow of that name.

    >>> import lasthop
    >>> run = lasthop.run("spikes", overrides={"record.tables": ["segments", "tcp", "packets"]})
    >>> [event.text for event in lasthop.explain(run)[0].events if "spurious" in event.text][0][:19]
    '2 timeouts in a row'
    """
    if isinstance(source, str | PathLike):
        source = open_run(source)
    if "segments" not in source.table_names:
        recorded = ", ".join(source.table_names) or "none"
        raise InputError(
            f"the explanation of a run needs its table 'segments', which is not there (there are: {recorded})",
            help='run it again with --set \'record.tables=["segments", "tcp", "packets"]\'',
        )
    read = ReadOnce(source)
    found = [_explained(read, connection) for connection in connections(read, flow)]
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
