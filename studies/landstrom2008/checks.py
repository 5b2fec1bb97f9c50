"""Measures and claims of Landström 2008 that are about the course of a run, from its records.

Times are seconds, sizes of bursts segments. Each function `cov_…` is the coefficient of variation of chapter 5 at one
time scale; the samples lie 50 ms apart, so each scale is a whole number of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from statistics import fmean

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from lasthop.results.run import Run
from lasthop.stats import rate_variation
from lasthop.study.claims import Evidence, Verdict

NS = 1e9
WARM_UP_S = 50.0
"""Section 5.2: the last 150 of 200 s."""
TRANSMISSION_S = 0.0008
"""A segment of 1000 bytes at 10 Mbit/s."""
ROUND_TRIP_S = 0.06
SHARE_OF_SEGMENTS = 0.95
NS_PER_MS = 1e6
SMALL_BUFFERS = (4, 6)
LARGE_BUFFERS = (16, 18, 20, 22)
FREQUENT_ACKS = ("ae", "dal2")
RARE_ACKS = ("a8l8", "2w")

Times = Mapping[tuple[int, str], float]
"""Seconds that transfers took, by buffer and file."""


def slower_and_less_predictable(evidence: Evidence) -> Verdict:
    """Claim 28: A8L8 and 2W compared with A4L4 with the smallest buffers, and with AE and DAL2 with the largest."""
    small = {acks: _mean(times, SMALL_BUFFERS) for acks, times in _times(evidence).items()}
    steps = {acks: _mean_step(times) for acks, times in _times(evidence).items()}
    slower = min(small[acks] for acks in RARE_ACKS) > small["a4l4"]
    less_predictable = min(steps[acks] for acks in RARE_ACKS) > max(steps[acks] for acks in FREQUENT_ACKS)
    figures = [f"{acks} {small[acks]:.2f} s with 4 and 6, {steps[acks]:.3f} s from step to step" for acks in small]
    return Verdict(slower and less_predictable, "; ".join(figures))


def four_in_a_window_are_best(evidence: Evidence) -> Verdict:
    """Claim 29: the mean time of all transfers."""
    means = {acks: fmean(times.values()) for acks, times in _times(evidence).items()}
    figures = ", ".join(f"{acks} {mean:.3f} s" for acks, mean in means.items())
    return Verdict(min(means, key=means.__getitem__) == "4w", figures)


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
    """Return the mean change of a time from one of the largest buffers to the next."""
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
    """Lengths of the first three rounds: each from its first segment to the ACK that reports it."""
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


def cov_50ms(run: Run) -> float:
    """At 50 ms."""
    return _variation(run, 1)


def cov_100ms(run: Run) -> float:
    """At 100 ms."""
    return _variation(run, 2)


def cov_200ms(run: Run) -> float:
    """At 200 ms."""
    return _variation(run, 4)


def cov_500ms(run: Run) -> float:
    """At 500 ms."""
    return _variation(run, 10)


def cov_1s(run: Run) -> float:
    """At 1 s."""
    return _variation(run, 20)


def cov_2s(run: Run) -> float:
    """At 2 s."""
    return _variation(run, 40)


def cov_5s(run: Run) -> float:
    """At 5 s."""
    return _variation(run, 100)


def burst_p95(run: Run) -> float:
    """Return the size that the burst of a segment does not exceed, for 95 % of the segments after the warm-up.

    A burst lasts as long as segments follow each other in less than half the time that the bottleneck takes for one.
    """
    times = _sent(run)
    times = times[times >= WARM_UP_S]
    begins = np.flatnonzero(np.diff(times, prepend=-np.inf) >= TRANSMISSION_S / 2)
    sizes = np.sort(np.diff(begins, append=len(times)))
    reached = np.searchsorted(np.cumsum(sizes), SHARE_OF_SEGMENTS * len(times))
    return float(sizes[reached])


def drop_pct_of_tried(run: Run) -> float:
    """Return the drops of the flows called first, in percent of their segments."""
    return _drop_pct(run, "first")


def drop_pct_of_standard(run: Run) -> float:
    """Return the drops of the flows called second, in percent of their segments."""
    return _drop_pct(run, "second")


def up_kbps(run: Run) -> float:
    """Return what arrived per second of the time in which the last link did not stand still, after the warm-up.

    A spike is as long as it stretched the transmission that it met: on a link that is used there is always one.
    """
    (window,) = run.summary["flows"][0]["windows"]
    packets = run.tables["packets"]
    late = pc.greater_equal(packets["entered_ns"].cast("int64"), int(window["from_s"] * NS))
    held = packets.filter(pc.and_(late, pc.equal(packets["delay_cause"].cast("string"), "spike")))
    still = sum(held["delay_ns"].cast("int64").to_pylist()) / NS
    return float(8 * window["received"] / (window["to_s"] - window["from_s"] - still) / 1000)


def winthresh_does_not_stall(evidence: Evidence) -> Verdict:
    """Claim 14: timeouts, and the longest time without a segment, around losses with a window of ten segments."""
    figures, holds = [], True
    for loss, run in evidence.by("loss").items():
        (flow,) = run.summary["flows"]
        times = _sent(run)
        pause = max(after - before for before, after in pairwise(times.tolist()))
        figures.append(f"lost {loss}: {flow['timeouts']} timeouts, {pause:.3f} s at most without a segment")
        holds = holds and flow["timeouts"] == 0 and flow["retransmissions"] > 0 and pause < 1.5 * ROUND_TRIP_S
    return Verdict(holds, "; ".join(figures))


def _variation(run: Run, samples: int) -> float:
    progress = run.tables["progress"]
    late = progress.filter(pc.greater_equal(progress["time_ns"].cast("int64"), int(WARM_UP_S * NS)))
    return rate_variation(late["sent"].to_pylist(), samples)


def _drop_pct(run: Run, name: str) -> float:
    """Return what was sent again for need, of what was sent: each drop is repaired once, and nothing else is lost."""
    flows = [flow for flow in run.summary["flows"] if flow["flow"].startswith(name)]
    needed = sum(flow["retransmissions"] - flow["unnecessary_retransmissions"] for flow in flows)
    return float(100 * needed / sum(flow["segments_sent"] for flow in flows))


def _sent(run: Run) -> npt.NDArray[np.float64]:
    """Return when the first flow's sender sent data, in order."""
    segments = run.tables["segments"]
    mine = pc.and_(pc.equal(segments["direction"], "sent"), pc.equal(segments["host"], "s1"))
    data = segments.filter(pc.and_(mine, pc.greater(segments["len"], 0)))
    times = data["time_ns"].cast("int64").to_numpy() / NS
    return np.asarray(times, dtype=np.float64)
