"""Measures of Landström 2008 that are about the course of a run, from its records."""

from __future__ import annotations

from lasthop.results.run import Run

NS_PER_MS = 1e6


def round_1_ms(run: Run) -> float:
    """The first round of slow start."""
    return _rounds_ms(run)[0]


def round_2_ms(run: Run) -> float:
    """The second."""
    return _rounds_ms(run)[1]


def round_3_ms(run: Run) -> float:
    """The third."""
    return _rounds_ms(run)[2]


def _rounds_ms(run: Run) -> list[float]:
    """Lengths of the first three rounds: each from its first segment to the ACK that tells of it."""
    access = [row for row in run.tables["packets"].to_pylist() if row["link"] == "access"]
    sent = [(row["entered_ns"], row["seq"]) for row in access if row["direction"] == "down" and row["len"]]
    acks = [(row["delivered_ns"], row["ack"]) for row in access if row["direction"] == "up" and row["delivered_ns"]]
    lengths: list[float] = []
    start, first = sent[0]
    while len(lengths) < 3:
        heard = next(time for time, ack in acks if time > start and ack > first)
        lengths.append((heard - start) / NS_PER_MS)
        start, first = next((time, seq) for time, seq in sent if time >= heard)
    return lengths
