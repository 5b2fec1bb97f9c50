"""The data of a run on the page: the summary, and the columns of each flow and each queue.

Times are whole nanoseconds, sequence numbers whole bytes from the first byte of data.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lasthop.explanation import Explanation, explain
from lasthop.plots.columns import NANOSECONDS_PER_SECOND, Columns, Floats, Texts
from lasthop.plots.delivery import flight, round_trips
from lasthop.plots.flow import STATE, FlowTables, Sent, datagram_flows, flow_names
from lasthop.plots.queue_lengths import read_queues, worth_drawing
from lasthop.plots.source import ReadOnce
from lasthop.report.packing import Packer
from lasthop.results import RunResult

VERDICTS: Final = ("original", "needed", "needless", "unjudged")
"""Kinds of segments: first transmission, or a retransmission that was needed, needless or not judged, by index."""

PHASES: Final = (
    "slow_start", "congestion_avoidance", "fast_recovery", "after_timeout",
    "startup", "drain", "probe_bw", "probe_bw_down", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up", "probe_rtt",
)  # fmt: skip
"""Phases of senders, and states of those with a model of the path, by index."""

RATES: Final = ("pacing_rate_Bps", "bandwidth_Bps")
"""The rates of a model of the path; the page has them as `pacing_rate` and `bandwidth`, in bits per second."""

MOST_FLOWS: Final = 60
"""Largest number of flows in diagrams; the summary has all."""


MOST_EVENTS: Final = 400
"""Largest number of events of a connection; `lasthop explain` prints all."""


def run_payload(run: RunResult, packer: Packer) -> dict[str, Any]:
    """Return everything that the page shows of one run."""
    tables = ReadOnce(run)
    flows = flow_names(tables)[:MOST_FLOWS] if "segments" in run.table_names else []
    datagrams = datagram_flows(tables) if flows else []
    return {
        "name": run.name,
        "folder": run.path.name,
        "seed": run.index.get("seed"),
        "clock": run.index.get("clock"),
        "summary": run.summary,
        "tables": list(run.table_names),
        "verdicts": VERDICTS,
        "phases": PHASES,
        "flows": [_flow(tables, name, name in datagrams, packer) for name in flows],
        "queues": _queues(tables, packer) if "queue" in run.table_names else [],
    }


def _flow(run: ReadOnce, name: str, is_datagrams: bool, packer: Packer) -> dict[str, Any]:
    tables = FlowTables(run, name)
    sent, acks = tables.sent(), tables.acks()
    drops, delays, sacks, in_flight = tables.drops(sent), tables.delays(sent), tables.sacks(), flight(tables)
    at, round_trip = round_trips(tables)
    words = _Words()
    payload = {
        "name": name,
        "datagrams": is_datagrams,
        "sent": _columns(
            packer,
            time=_ns(sent.time),
            start=sent.start,
            end=sent.end,
            verdict=_places(sent),
            why=words.places(sent.why),
        ),
        "acks": _columns(packer, time=_ns(acks.time), ack=acks.ack, edge=acks.edge, duplicate=acks.duplicate),
        "sacks": _columns(packer, time=_ns(sacks.time), start=sacks.start, end=sacks.end),
        "drops": _columns(packer, **_in_order(drops.time, offset=drops.offset, why=words.places(drops.why))),
        "delays": _columns(
            packer, **_in_order(delays.begin, end=_ns(delays.end), offset=delays.offset, why=words.places(delays.why))
        ),
        "flight": _columns(packer, time=_ns(in_flight.time), bytes=in_flight.bytes),
        "roundTrips": _columns(packer, **_in_order(at, value=_ns(round_trip))),
        "decisions": None,
        "words": words.known,
        "stories": [] if is_datagrams else [_story(told) for told in explain(run, name)],
    }
    if "tcp" in run.table_names and not is_datagrams:
        payload["decisions"] = _decisions(tables.decisions(), packer)
    return payload


class _Words:
    """Texts that rows share, each once; the first is empty."""

    def __init__(self) -> None:
        self.known = [""]
        self._place = {"": 0}

    def places(self, texts: Texts) -> npt.NDArray[np.int64]:
        for text in texts:
            if text not in self._place:
                self._place[text] = len(self.known)
                self.known.append(text)
        return np.array([self._place[text] for text in texts], dtype=np.int64)


def _story(told: Explanation) -> dict[str, Any]:
    """Return the first events of a connection, and its shares of time."""
    return {
        "connection": told.connection,
        "events": [
            {"from": event.start, "to": event.end, "kind": event.kind, "text": event.text}
            for event in told.events[:MOST_EVENTS]
        ],
        "left_out": max(len(told.events) - MOST_EVENTS, 0),
        "shares": [{"kind": share.kind, "seconds": share.seconds, "words": share.words} for share in told.time_shares],
    }


def _decisions(tcp: Columns, packer: Packer) -> dict[str, Any]:
    """Return the sender's windows and timers at each step, and the events with their reasons."""
    modelled = STATE in tcp and bool(tcp.known(STATE).any())
    phase = tcp.texts(STATE if modelled else "phase").astype(str)
    events, reasons = tcp.texts("event").astype(str), tcp.texts("reason").astype(str)
    time = tcp.numbers("time_ns")
    notable = ~np.isin(events, ("ack", "duplicate_ack"))
    windows = {
        "time": time,
        "cwnd": tcp.numbers("cwnd"),
        "ssthresh": np.full(len(tcp), -1.0) if modelled else _or_unknown(tcp.numbers("ssthresh")),
        "srtt": _or_unknown(tcp.numbers("srtt_ns")),
        "rto": _or_unknown(tcp.numbers("rto_ns")),
        "phase": np.array([PHASES.index(each) if each in PHASES else -1 for each in phase], dtype=np.int64),
    }
    if modelled:
        windows |= {column.removesuffix("_Bps"): _or_unknown(tcp.numbers(column) * 8) for column in RATES}
    words = sorted(set(zip(events[notable], reasons[notable], strict=True)))
    place = {word: number for number, word in enumerate(words)}
    which = [place[word] for word in zip(events[notable], reasons[notable], strict=True)]
    return {
        **_columns(packer, **windows),
        "words": [f"{event.replace('_', ' ')}{': ' + reason if reason else ''}" for event, reason in words],
        "events": _columns(packer, time=time[notable], word=np.array(which, dtype=np.int64)),
    }


def _queues(run: ReadOnce, packer: Packer) -> list[dict[str, Any]]:
    queues, _ = worth_drawing(read_queues(run))
    return [
        {
            "name": queue.name,
            "limit": queue.limit.amount if queue.limit is not None and not queue.limit.in_bytes else None,
            **_columns(packer, time=_ns(queue.time), packets=queue.packets),
            "drops": _columns(packer, **_in_order(queue.drop_time, behind=queue.drop_behind)),
        }
        for queue in queues
    ]


def _columns(packer: Packer, **columns: npt.NDArray[Any]) -> dict[str, Any]:
    return {name: packer.add(column) for name, column in columns.items()}


def _in_order(time: Floats, **others: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """Return the rows sorted by time, for the page's binary search, without rows that have no time."""
    known = np.flatnonzero(np.isfinite(time))
    order = known[np.argsort(time[known], kind="stable")]
    return {"time": _ns(time[order]), **{name: column[order] for name, column in others.items()}}


def _places(sent: Sent) -> npt.NDArray[np.int64]:
    return np.array([VERDICTS.index(str(verdict)) for verdict in sent.verdict], dtype=np.int64)


def _ns(seconds: Floats) -> Floats:
    return seconds * NANOSECONDS_PER_SECOND


def _or_unknown(column: Floats) -> Floats:
    """Return whole numbers, with -1 for a missing one; none of these columns is negative."""
    return np.where(np.isfinite(column), column, -1.0)
