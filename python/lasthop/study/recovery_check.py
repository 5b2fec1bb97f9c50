"""A check for all studies: the time that a flow takes to recover from an outage, from a run's table `segments`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lasthop.errors import InputError
from lasthop.results.run import Run, RunResult
from lasthop.stats import time_to_recover


def time_to_recover_s(run: Run | RunResult) -> float | None:
    """Return the seconds from the end of the longest silence at the receiver until its flow has 90 % of its former
    rate.

    `lasthop.stats.time_to_recover` has the definition. It is computed from the packets that reach the receiver, for any
    transport, in virtual and real time. The longest time of several flows; None if a flow does not recover. Raises
    InputError if the run has no flow.
    """
    segments = run.table("segments")
    taken = [_of_flow(segments, flow) for flow in run.summary["flows"]]
    if not taken:
        raise InputError("a run without flows has no time to recover", key="metrics", help="give the scenario a flow")
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
    """Return the bytes of each packet that no earlier packet had; all bytes of a datagram are new."""
    known: dict[tuple[int, int], int] = {}
    new = []
    columns = (arrived[name].to_pylist() for name in ("connection", "seq", "len"))
    for connection, seq, length in zip(*columns, strict=True):
        before = known.get((connection, seq), 0)
        new.append(max(length - before, 0))
        known[connection, seq] = max(length, before)
    return new
