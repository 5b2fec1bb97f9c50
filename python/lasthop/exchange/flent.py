"""Flent's data files, version 4 of their format: throughput, round trip and window of each flow over time.

A file is one JSON object, in gzip: `x_values` are seconds, `results` a list of values for each series, `raw_values` the
samples with their times (flent/resultset.py of Flent 2.x). Flows have the names of Flent's tests tcp_download (one
flow) and tcp_ndown (several), so that the plots of those tests draw them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from lasthop.exchange.file_format import Format, Result, Written, file_name
from lasthop.plots.columns import Columns, Floats
from lasthop.plots.delivery import round_trips
from lasthop.plots.flow import FlowTables, flow_names

VERSION: Final = 4

STEP_S: Final = 0.2
"""Flent's default interval of samples, in seconds (its setting STEP_SIZE)."""

BEGIN: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Date of runs in virtual time: Flent needs one, and the same run must give the same bytes."""

MEGABIT: Final = 1e6


def files(result: Result) -> Iterator[Written]:
    """Yield one data file with all flows."""
    text = json.dumps(_data(result), indent=2, sort_keys=True)
    yield Written(f"{file_name(result.source.name)}.flent.gz", gzip.compress(text.encode(), mtime=0))


def _data(result: Result) -> dict[str, Any]:
    source = result.source
    flows = [FlowTables(source, name) for name in flow_names(source)]
    end = max((float(flow.times().max(initial=0.0)) for flow in flows), default=0.0)
    steps = np.arange(0.0, end + STEP_S, STEP_S)
    results: dict[str, list[float | None]] = {}
    raw: dict[str, list[dict[str, float]]] = {}
    for number, flow in enumerate(flows, start=1):
        name = "TCP download" if len(flows) == 1 else f"TCP download::{number}"
        for series, (time, value) in _series(flow, steps, has_decisions="tcp" in source.table_names).items():
            results[name + series] = _held(time, value, steps)
            raw[name + series] = _samples(time, value)
    return {
        "version": VERSION,
        "metadata": _metadata(result, [flow.name for flow in flows], end),
        "x_values": [round(float(step), 6) for step in steps],
        "results": results,
        "raw_values": raw,
    }


def _series(flow: FlowTables, steps: Floats, *, has_decisions: bool) -> dict[str, tuple[Floats, Floats]]:
    """Yield the series of a flow: acknowledged Mbit/s, round trips in ms, congestion window in segments."""
    at, total = flow.acknowledged()
    by_step = np.interp(steps, at, total, left=0.0) if len(at) else np.zeros(len(steps))
    rate = np.diff(by_step, prepend=0.0) * 8 / STEP_S / MEGABIT
    acked_at, round_trip = round_trips(flow)
    series = {"": (steps, rate), "::tcp_rtt": (acked_at, round_trip * 1e3)}
    if has_decisions and not flow.is_of_datagrams():
        tcp = flow.decisions()
        series["::tcp_cwnd"] = _window(tcp, flow.segment_size())
    return series


def _window(tcp: Columns, segment: float) -> tuple[Floats, Floats]:
    return tcp.seconds("time_ns"), tcp.numbers("cwnd") / max(segment, 1.0)


def _held(time: Floats, value: Floats, steps: Floats) -> list[float | None]:
    """Return the last value at each step; None before the first."""
    order = np.argsort(time, kind="stable")
    place = np.searchsorted(time[order], steps, side="right") - 1
    return [round(float(value[order][at]), 6) if at >= 0 else None for at in place]


def _samples(time: Floats, value: Floats) -> list[dict[str, float]]:
    begin = BEGIN.timestamp()
    return [{"t": round(begin + float(t), 6), "val": round(float(v), 6)} for t, v in zip(time, value, strict=True)]


def _metadata(result: Result, flows: list[str], end: float) -> dict[str, Any]:
    units = {"": "Mbits/s", "::tcp_rtt": "ms", "::tcp_cwnd": "segments"}
    names = ["TCP download"] if len(flows) == 1 else [f"TCP download::{number + 1}" for number in range(len(flows))]
    begin = BEGIN.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "NAME": "tcp_download" if len(flows) == 1 else "tcp_ndown",
        "TITLE": result.source.name,
        "NOTE": f"lasthop {result.version}; seed {result.summary.get('seed')}; flows {', '.join(flows)}",
        "TIME": begin,
        "T0": begin,
        "HOST": str(result.summary["flows"][0]["to"]) if result.summary.get("flows") else "",
        "LOCAL_HOST": "lasthop",
        "LENGTH": end,
        "TOTAL_LENGTH": end,
        "STEP_SIZE": STEP_S,
        "IP_VERSION": 4,
        "TEST_PARAMETERS": {},
        "SERIES_META": {name + series: {"UNITS": unit} for name in names for series, unit in units.items()},
    }


FORMAT: Final = Format(
    "flent", "a data file of Flent (version 4): throughput, round trip, window", needs=("segments",), uses=("tcp",),
    files=files,
)  # fmt: skip
