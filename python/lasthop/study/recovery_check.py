"""A check that is open to every study: how long a flow takes to recover from an outage, by a run's table `segments`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lasthop.errors import InputError
from lasthop.results.run import Run, RunResult
from lasthop.stats import time_to_recover


def time_to_recover_s(run: Run | RunResult) -> float | None:
    """Seconds from the end of the longest silence at the receiver until its flow is at 90 % of its rate again.

    What exactly, `lasthop.stats.time_to_recover` says. It is seen in the packets that reach the receiver, of any
    transport and in either clock. None of a flow that does not recover. Of several flows the longest.
    """
    segments = run.table("segments")
    taken = [_of_flow(segments, flow) for flow in run.summary["flows"]]
    if not taken:
        raise InputError("a run without flows has none that recovers", key="metrics", help="give the scenario a flow")
    return None if None in taken else max(each for each in taken if each is not None)


def _of_flow(segments: pa.Table, flow: Mapping[str, Any]) -> float | None:
    own = segments.filter(pc.equal(segments["flow"], flow["flow"]))
    arrived = _at(own, flow["to"], "received")
    answers = _at(own, flow["from"], "received")
    sent = _at(own, flow["from"], "sent")
    if not (len(sent) and len(answers) and len(arrived)):
        return None
    round_trip = (answers["time_ns"][0].as_py() - sent["time_ns"][0].as_py()) / 1e9
    arrived = arrived.filter(pc.greater(arrived["len"], 0))
    times = [time / 1e9 for time in arrived["time_ns"].to_pylist()]
    return time_to_recover(times, _new(arrived), round_trip)


def _at(segments: pa.Table, host: str, direction: str) -> pa.Table:
    found = segments.filter(pc.and_(pc.equal(segments["host"], host), pc.equal(segments["direction"], direction)))
    return found.sort_by("time_ns")


def _new(arrived: pa.Table) -> list[int]:
    """What each packet brought that no earlier one with its sequence number had. Of datagrams none has another's."""
    known: dict[tuple[int, int], int] = {}
    new = []
    columns = (arrived[name].to_pylist() for name in ("connection", "seq", "len"))
    for connection, seq, length in zip(*columns, strict=True):
        before = known.get((connection, seq), 0)
        new.append(max(length - before, 0))
        known[connection, seq] = max(length, before)
    return new
