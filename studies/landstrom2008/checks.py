"""Measures of Landström 2008 that are about the course of a run, from its records."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from statistics import fmean

from lasthop.results.run import Run
from lasthop.study.claims import Evidence, Verdict

NS_PER_MS = 1e6
SMALL_BUFFERS = (4, 6)
LARGE_BUFFERS = (16, 18, 20, 22)

Times = Mapping[tuple[int, str], float]
"""Seconds that transfers took, by buffer and file."""


def slower_and_less_predictable(evidence: Evidence) -> Verdict:
    """Claim 28: A8L8 and 2W beside A4L4, with the smallest and the largest buffers."""
    small = {acks: _mean(times, SMALL_BUFFERS) for acks, times in _times(evidence).items()}
    steps = {acks: _mean_step(times) for acks, times in _times(evidence).items()}
    holds = all(found[acks] > found["a4l4"] for found in (small, steps) for acks in ("a8l8", "2w"))
    told = [f"{acks} {small[acks]:.2f} s with 4 and 6, {steps[acks]:.3f} s from step to step" for acks in small]
    return Verdict(holds, "; ".join(told))


def four_in_a_window_are_best(evidence: Evidence) -> Verdict:
    """Claim 29: the mean time of all transfers."""
    means = {acks: fmean(times.values()) for acks, times in _times(evidence).items()}
    told = ", ".join(f"{acks} {mean:.3f} s" for acks, mean in means.items())
    return Verdict(min(means, key=means.__getitem__) == "4w", told)


def _times(evidence: Evidence) -> dict[str, dict[tuple[int, str], float]]:
    found: dict[str, dict[tuple[int, str], float]] = {}
    for case, run in evidence.runs.items():
        values = evidence.cases[case].values
        place = int(values["buffer"]), str(values["transfer"])
        found.setdefault(str(values["acks"]), {})[place] = float(run.summary["flows"][0]["elapsed_s"])
    return found


def _mean(times: Times, buffers: tuple[int, ...]) -> float:
    return fmean(time for (buffer, _), time in times.items() if buffer in buffers)


def _mean_step(times: Times) -> float:
    """How much a time changes from one of the largest buffers to the next, in the mean."""
    files = {file for _, file in times}
    steps = [(times[small, file], times[large, file]) for small, large in pairwise(LARGE_BUFFERS) for file in files]
    return fmean(abs(after - before) for before, after in steps)


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
