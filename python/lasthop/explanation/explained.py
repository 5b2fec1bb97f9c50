"""The explained connections of a result, as `lasthop explain` prints them. The native module writes the story."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

from lasthop import _native
from lasthop.errors import InputError
from lasthop.explanation import quic
from lasthop.explanation.captured import quic_of
from lasthop.explanation.event import Event
from lasthop.explanation.tables import subject_of, viewed_tables
from lasthop.explanation.time_share import TimeShare
from lasthop.plots.flow import choose_flow, flow_names
from lasthop.plots.source import Source
from lasthop.quic_connection import is_opened
from lasthop.results import open_run
from lasthop.results.damage import reporting_damage


@dataclass(frozen=True)
class Cause:
    """Retransmissions with the same trigger, verdict and origin. `needed` is None if it cannot be known."""

    trigger: str
    needed: bool | None
    why: str
    origin: str
    copies: int


@dataclass(frozen=True)
class Explanation:
    """One connection: its events in order of time, the causes of its retransmissions, and its shares of time.

    `facts` are sentences on the whole of a connection that was captured.
    """

    flow: str
    connection: int
    start: float
    end: float
    events: tuple[Event, ...]
    causes: tuple[Cause, ...]
    time_shares: tuple[TimeShare, ...]
    facts: tuple[str, ...] = ()

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
    unopened = _unopened(source)
    if flow in unopened:
        return [unopened[flow]]
    with reporting_damage(source):
        if flow is not None:
            choose_flow([*flow_names(source), *unopened], flow)
        explanations = json.loads(_native.explanations(viewed_tables(source), flow, subject_of(source)))
    found = [_explanation(each) for each in explanations] + (list(unopened.values()) if flow is None else [])
    if not found:
        raise InputError(
            "there is no TCP connection to explain", help="datagrams have no retransmissions; see `lasthop plot`"
        )
    return found


def _unopened(source: Source) -> dict[str, Explanation]:
    """Return what is known of the QUIC connections of a capture whose packets could not be opened."""
    return {
        report["flow"]: Explanation(
            flow=report["flow"],
            connection=1,
            start=report["start_s"],
            end=report["start_s"] + report["length_s"],
            events=(),
            causes=(),
            time_shares=(),
            facts=tuple(quic.facts(report, ())),
        )
        for report in quic_of(source)
        if not is_opened(report)
    }


def _explanation(found: Mapping[str, Any]) -> Explanation:
    return Explanation(
        flow=found["flow"],
        connection=found["connection"],
        start=found["start"],
        end=found["end"],
        events=tuple(Event(**{**event, "packets": tuple(event["packets"])}) for event in found["events"]),
        causes=tuple(Cause(**cause) for cause in found["causes"]),
        time_shares=tuple(TimeShare(**share) for share in found["time_shares"]),
        facts=tuple(found["facts"]),
    )
