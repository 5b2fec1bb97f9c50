"""What the study measures in each run, and the sentences of RFC 4341, 4342 and 5348 as checks."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from statistics import mean, pstdev
from typing import Any

import pyarrow.compute as pc

from lasthop.results.run import Run, RunResult
from lasthop.study import Evidence, Verdict

NS = 1e9
ROUND_TRIP_S = 0.1
"""Of the path without a queue: 1 ms and 49 ms each way."""
RETRANSMISSION_TIMEOUT = 4
"""In round trips (RFC 5348 §3.1)."""
FACTOR = 2
"""RFC 5348 §1: reasonably fair."""
SETTLED_S = 20
"""Slow start is over by then."""
BACK_S = 70
"""The rate of the link has come back."""
FELL_S = 40
REGAINED = 0.9

Cells = Mapping[tuple[str, ...], float]
"""Measured values by table, sender, loss, path and metric."""


def first(run: Run | RunResult) -> Mapping[str, Any]:
    """Return the numbers of the first flow."""
    flow: Mapping[str, Any] = run.summary["flows"][0]
    return flow


def lost_percent(run: Run | RunResult) -> float:
    """Return the share of data packets that were lost."""
    flow = first(run)
    return 100 * float(flow["packets_lost"]) / float(flow["segments_sent"])


def loss_events_percent(run: Run | RunResult) -> float:
    """Return the loss events for each data packet sent, in percent."""
    return 100 * float(first(run)["loss_event_rate"])


def packets_a_second(p: float) -> float:
    """Return the throughput equation's rate for a loss event rate (RFC 5348 §3.1, b = 1)."""
    timeouts = RETRANSMISSION_TIMEOUT * ROUND_TRIP_S * 3 * sqrt(3 * p / 8) * p * (1 + 32 * p * p)
    return 1 / (ROUND_TRIP_S * sqrt(2 * p / 3) + timeouts)


def factor_of_the_equation(run: Run | RunResult) -> float | None:
    """Return the packets a second over what the equation gives for the run's loss event rate."""
    flow = first(run)
    p = float(flow["loss_event_rate"])
    return float(flow["segments_sent"]) / float(flow["elapsed_s"]) / packets_a_second(p) if p else None


def share(run: Run | RunResult) -> float:
    """Return the goodput of the first flow over the second's."""
    one, other = (float(flow["throughput_Bps"]) for flow in run.summary["flows"])
    return one / other


def arriving(run: Run | RunResult) -> list[float]:
    """Return the bytes of the first flow that arrive in each second of the run."""
    flow, segments = first(run), run.table("segments")
    own = pc.and_(pc.equal(segments["flow"], flow["flow"]), pc.equal(segments["host"], flow["to"]))
    arrived = segments.filter(pc.and_(own, pc.equal(segments["direction"], "received")))
    seconds = [0.0] * (int(run.summary["stopped_s"]) + 1)
    for time, length in zip(arrived["time_ns"].to_pylist(), arrived["len"].to_pylist(), strict=True):
        seconds[int(time / NS)] += length
    return seconds[:-1]


def variation(run: Run | RunResult) -> float:
    """Return the coefficient of variation of what arrives in each second."""
    seconds = arriving(run)[SETTLED_S:]
    return pstdev(seconds) / mean(seconds)


def regain_s(run: Run | RunResult) -> float | None:
    """Return the seconds until the rate before the fall arrives again."""
    seconds = arriving(run)
    enough = REGAINED * mean(seconds[SETTLED_S:FELL_S])
    for second in range(BACK_S, len(seconds) - 1):
        if min(seconds[second : second + 2]) >= enough:
            return float(second - BACK_S)
    return None


def acks_for_100(run: Run | RunResult) -> float:
    """Return the packets of the receiver for 100 data packets."""
    flow = first(run)
    return 100 * float(flow["acks"]) / float(flow["segments_sent"])


def rate_is_the_equations(evidence: Evidence) -> Verdict:
    """Judge the rate of CCID 3 over random losses."""
    factors = {cell[2]: value for cell, value in _cells(evidence).items() if _is(cell, "ccid3", "factor")}
    return Verdict(all(_within_two(value) for value in factors.values()), _listed(factors))


def tfrc_is_within_two(evidence: Evidence) -> Verdict:
    """Judge CCID 3 alongside TCP and over the losses that a TCP had."""
    return _is_within_two(evidence, "ccid3")


def ccid2_is_within_two(evidence: Evidence) -> Verdict:
    """Judge CCID 2 in the same way."""
    return _is_within_two(evidence, "ccid2")


def _is_within_two(evidence: Evidence, sender: str) -> Verdict:
    cells = _cells(evidence)
    shares = {cell[3]: value for cell, value in cells.items() if _is(cell, sender, "share")}
    alone = {cell[2]: value for cell, value in cells.items() if cell[0] == "tcp"}
    shares |= {
        f"{cell[2]} % lost": value / alone[cell[2]]
        for cell, value in cells.items()
        if cell[0] == "equation" and _is(cell, sender, "first_mbps")
    }
    return Verdict(all(_within_two(value) for value in shares.values()), _listed(shares))


def tfrc_varies_less(evidence: Evidence) -> Verdict:
    """Judge the variation of CCID 3 and of TCP in its place, where the link itself is steady."""
    cells = {cell: value for cell, value in _cells(evidence).items() if cell[4] == "variation"}
    pairs = {
        cell[3]: (value, cells[("shares", "tcp", *cell[2:])])
        for cell, value in cells.items()
        if cell[1] == "ccid3" and cell[3] != "lte"
    }
    figures = "; ".join(f"{path}: {tfrc:.2f}, TCP {tcp:.2f}" for path, (tfrc, tcp) in pairs.items())
    return Verdict(all(tfrc < tcp for tfrc, tcp in pairs.values()), figures)


def tfrc_regains_later(evidence: Evidence) -> Verdict:
    """Judge the times to regain a rate."""
    times = {cell[1]: value for cell, value in _cells(evidence).items() if cell[4] == "regain_s"}
    return Verdict(times["ccid3"] > times["tcp"], _listed(times))


def fewer_acknowledgments(evidence: Evidence) -> Verdict:
    """Judge the acknowledgments of CCID 2 with losses and without."""
    counts = {cell[3]: value for cell, value in _cells(evidence).items() if _is(cell, "ccid2", "acks_for_100")}
    return Verdict(counts["acks-lost"] < counts["acks-kept"], _listed(counts))


def feedback_is_rare(evidence: Evidence) -> Verdict:
    """Judge the packets of CCID 3's receiver: at most two for a round trip of some 60 packets."""
    counts = {cell[3]: value for cell, value in _cells(evidence).items() if _is(cell, "ccid3", "acks_for_100")}
    return Verdict(all(count < 2 * 100 / 60 for count in counts.values()), _listed(counts))


def nothing_again(evidence: Evidence) -> Verdict:
    """Judge what is sent again, and what is lost."""
    cells = _cells(evidence)
    again = sum(value for cell, value in cells.items() if cell[4] == "again")
    lost = {f"{cell[1]} {cell[2]}": value for cell, value in cells.items() if cell[4] == "lost_percent"}
    return Verdict(again == 0 and all(lost.values()), f"{again:g} again; lost in percent: {_listed(lost)}")


def _within_two(value: float) -> bool:
    return 1 / FACTOR <= value <= FACTOR


def _cells(evidence: Evidence) -> Cells:
    columns = ("table", "sender", "loss", "path", "metric")
    return {
        tuple(str(row[column]) for column in columns): float(row["measured"])
        for row in evidence.rows
        if row["measured"] is not None
    }


def _is(cell: tuple[str, ...], sender: str, metric: str) -> bool:
    return cell[1] == sender and cell[4] == metric


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())
