"""Numbers of Bruyeron, Hemon and Zhang that are about the course of a transfer, read from its records.

Times are seconds, windows kB of 1000 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lasthop.errors import RunError
from lasthop.results.run import Run
from lasthop.study.claims import Evidence, Verdict

NS = 1e9
KB = 1000.0

RENO_DROP_S = 122.93
"""Figure 11: when its drop event happens. The other times of the figure are counted from there."""
SACK_DROP_S = 123.43
"""Figure 12: the same."""

BEFORE_S = 0.5
"""Time without a drop before a burst that is examined."""
RENO_QUIET_S = 2.0
SACK_QUIET_S = 0.5
"""Time without a drop after it: Reno needs a timer and some round trips to be over with it, Sack only these."""
FAST_S = 0.5
"""A fast retransmit comes within a few round trips; a later one is another's."""

Floats = npt.NDArray[np.float64]
Row = dict[str, Any]


def slow_starts(run: Run) -> int:
    """Count the timeouts after which slow start begins, those of a segment that had timed out before apart."""
    return len(_timeouts(run))


def slow_starts_per_5s(run: Run) -> float:
    """Count slow starts for each 5 s."""
    return 5 * slow_starts(run) / float(run.summary["stopped_s"])


def longest_without_slow_start(run: Run) -> float:
    """Return the longest time from one timeout to the last progress before the next: waits for a timer do not count."""
    timeouts = [0.0, *_timeouts(run, again=True), float(run.summary["stopped_s"])]
    heard = _heard(run).time_s
    stretches = [(before, heard[(heard > before) & (heard < after)]) for before, after in pairwise(timeouts)]
    return max(float(times[-1]) - before for before, times in stretches if len(times))


def all_but_fastest(run: Run) -> float:
    """Return the throughput in the whole run of all flows but the fastest, kB/s."""
    rates = [flow["windows"][0]["throughput_Bps"] for flow in run.summary["flows"]]
    return float(sum(rates) - max(rates)) / KB


def lost_pct(run: Run) -> float:
    """Return the share of the packets with data that the sending host lost, percent."""
    links = {(link["link"], link["direction"]): link for link in run.summary["links"]}
    losses = links["losses", "down"]
    return 100 * float(losses["error_drops"]) / float(losses["packets_in"])


def flows(run: Run) -> float:
    """Return the number of flows."""
    return float(len(run.summary["flows"]))


def unused(run: Run) -> float:
    """Return what all flows together leave of 4 Mbit/s (section 4.2), kB/s."""
    return 500 - float(sum(flow["windows"][0]["throughput_Bps"] for flow in run.summary["flows"])) / KB


# ---- Figures 11 and 12: what follows a burst of three ----------------------------------------------------------------


def reno_drop_event(run: Run) -> float:
    """Return the document's own time: the others are counted from it."""
    _after_bursts(run, _reno_story, RENO_QUIET_S)
    return RENO_DROP_S


def reno_first_missing_fast_retransmit(run: Run) -> float:
    """Return when the first of three is sent again."""
    return RENO_DROP_S + _after_bursts(run, _reno_story, RENO_QUIET_S)["fast_retransmit"]


def reno_new_packet_sent(run: Run) -> float:
    """Return when a new packet goes out after it."""
    return RENO_DROP_S + _after_bursts(run, _reno_story, RENO_QUIET_S)["new_packet"]


def reno_second_missing_retransmitted_after_timeout(run: Run) -> float:
    """Return when the second of three is sent again, by the timer."""
    return RENO_DROP_S + _after_bursts(run, _reno_story, RENO_QUIET_S)["timeout"]


def reno_ack_received_window_2(run: Run) -> float:
    """Return when the ACK of that comes."""
    return RENO_DROP_S + _after_bursts(run, _reno_story, RENO_QUIET_S)["acked"]


def reno_all_acked_window_3(run: Run) -> float:
    """Return when all three are acknowledged."""
    return RENO_DROP_S + _after_bursts(run, _reno_story, RENO_QUIET_S)["all_acked"]


def reno_idle_time(run: Run) -> float:
    """Return how long nothing is sent before the timeout, ms."""
    return 1000 * _after_bursts(run, _reno_story, RENO_QUIET_S)["idle"]


def sack_drop_event(run: Run) -> float:
    """Return the document's own time: the others are counted from it."""
    _after_bursts(run, _sack_story, SACK_QUIET_S)
    return SACK_DROP_S


def sack_three_missing_fast_retransmitted(run: Run) -> float:
    """Return when the last of three is sent again."""
    return SACK_DROP_S + _after_bursts(run, _sack_story, SACK_QUIET_S)["resent"]


def sack_all_acked(run: Run) -> float:
    """Return when all three are acknowledged."""
    return SACK_DROP_S + _after_bursts(run, _sack_story, SACK_QUIET_S)["all_acked"]


@dataclass(frozen=True)
class Burst:
    """Three new segments in a row that were dropped: when the first was, and where each ends."""

    dropped_s: float
    ends: Sequence[int]


@dataclass(frozen=True)
class Sent:
    """Data that the sender put out, in time: when, where it ends, and why it was sent again (or empty)."""

    time_s: Floats
    end: npt.NDArray[np.int64]
    cause: npt.NDArray[np.object_]

    def first(self, after_s: float, rows: npt.NDArray[np.bool_]) -> float | None:
        """Return when the first of these rows was sent that came at or after a time."""
        times = self.time_s[rows & (self.time_s >= after_s)]
        return float(times[0]) if len(times) else None


@dataclass(frozen=True)
class Heard:
    """Acknowledgments of new data, in time: when, and up to where."""

    time_s: Floats
    ack: npt.NDArray[np.int64]

    def reached(self, end: int) -> float | None:
        """Return when everything before `end` was acknowledged."""
        times = self.time_s[self.ack >= end]
        return float(times[0]) if len(times) else None


Story = Callable[[Burst, Sent, Heard], dict[str, float] | None]


def _after_bursts(run: Run, story: Story, quiet_s: float) -> dict[str, float]:
    """Return the median time of each step of the story over the run's bursts after which it went so."""
    sent, heard = _sent(run), _heard(run)
    stories = [steps for burst in _bursts(run, quiet_s) if (steps := story(burst, sent, heard)) is not None]
    if not stories:
        raise RunError("no burst of three went as the document says")
    return {step: median(steps[step] for steps in stories) for step in stories[0]}


def _reno_story(burst: Burst, sent: Sent, heard: Heard) -> dict[str, float] | None:
    """A fast retransmit, a new packet, silence, a timeout: seconds since the drop, or nothing if it went otherwise."""
    first, second, third = burst.ends
    again = sent.first(burst.dropped_s, (sent.end == first) & (sent.cause == "fast_retransmit"))
    timeout = sent.first(burst.dropped_s, (sent.end == second) & (sent.cause == "timeout"))
    if again is None or timeout is None or again - burst.dropped_s > FAST_S or timeout - again > RENO_QUIET_S:
        return None
    new = sent.first(again, (sent.cause == "") & (sent.time_s < timeout))
    acked, all_acked = heard.reached(second), heard.reached(third)
    if new is None or acked is None or all_acked is None or all_acked <= acked:
        return None
    last = float(sent.time_s[sent.time_s < timeout][-1])
    steps = {"fast_retransmit": again, "new_packet": new, "timeout": timeout, "acked": acked, "all_acked": all_acked}
    return {name: time - burst.dropped_s for name, time in steps.items()} | {"idle": timeout - last}


def _sack_story(burst: Burst, sent: Sent, heard: Heard) -> dict[str, float] | None:
    """All three sent again without a timeout: seconds since the drop, or nothing if it went otherwise."""
    again = [sent.first(burst.dropped_s, (sent.end == end) & (sent.cause != "")) for end in burst.ends]
    all_acked = heard.reached(burst.ends[-1])
    if None in again or all_acked is None:
        return None
    resent = max(time for time in again if time is not None)
    until = (sent.time_s > burst.dropped_s) & (sent.time_s < all_acked)
    if resent - burst.dropped_s > FAST_S or (sent.cause[until] == "timeout").any():
        return None
    return {"resent": resent - burst.dropped_s, "all_acked": all_acked - burst.dropped_s}


def _bursts(run: Run, quiet_s: float) -> Iterator[Burst]:
    """Yield drop events that took three new segments in a row, with nothing else dropped near them."""
    packets = _losses(run)
    dropped = packets.filter(pc.equal(packets["fate"], "error_drop"))
    time_s = dropped["entered_ns"].to_numpy() / NS
    ends = dropped["seq"].to_numpy() + dropped["len"].to_numpy()
    new = ~dropped["retransmission"].to_numpy(zero_copy_only=False)
    for place in range(len(time_s) - 2):
        three = slice(place, place + 3)
        before = time_s[place - 1] if place else -BEFORE_S
        after = time_s[place + 3] if place + 3 < len(time_s) else np.inf
        quiet = time_s[place] - before > BEFORE_S and after - time_s[place + 2] > quiet_s
        in_a_row = bool(new[three].all()) and time_s[place + 2] - time_s[place] < FAST_S
        if quiet and in_a_row:
            yield Burst(float(time_s[place]), [int(end) for end in ends[three]])


def _losses(run: Run) -> pa.Table:
    """Return the data that came to the losing host."""
    packets = run.tables["packets"]
    here = pc.and_(_is(packets["link"], "losses"), _is(packets["direction"], "down"))
    return packets.filter(pc.and_(here, pc.greater(packets["len"], 0)))


def _sent(run: Run) -> Sent:
    packets = _losses(run)
    cause = np.array([cause or "" for cause in packets["cause"].to_pylist()], dtype=np.object_)
    end = packets["seq"].to_numpy() + packets["len"].to_numpy()
    return Sent(packets["entered_ns"].to_numpy() / NS, end.astype(np.int64), cause)


def _heard(run: Run) -> Heard:
    tcp = run.tables["tcp"]
    acks = tcp.filter(pc.and_(_is(tcp["event"], "ack"), pc.greater(tcp["len"], 0)))
    return Heard(acks["time_ns"].to_numpy() / NS, acks["seq"].to_numpy().astype(np.int64))


def _timeouts(run: Run, *, again: bool = False) -> list[float]:
    """Return when the timer ran out; for a segment that had timed out before only if asked."""
    tcp = run.tables["tcp"]
    timeouts = tcp.filter(_is(tcp["event"], "timeout"))
    first = timeouts if again else timeouts.filter(pc.invert(_is(timeouts["reason"], "again")))
    return [time / NS for time in first["time_ns"].to_pylist()]


def _is(column: pa.ChunkedArray, text: str) -> pa.ChunkedArray:
    return pc.equal(column.cast(pa.string()), text)


# ---- Section 3.4: the overshoot of slow start ------------------------------------------------------------------------


def cwnd_collapse_time(run: Run) -> float:
    """Return when the first loss is found."""
    return _Windows.of(run).collapse_s


def ssthresh_after_collapse(run: Run) -> float:
    """Return the least threshold within 20 s of that, kB."""
    windows = _Windows.of(run)
    near = (windows.time_s >= windows.collapse_s) & (windows.time_s < windows.collapse_s + 20)
    return float(windows.ssthresh_kb[near].min())


def cwnd_equilibrium(run: Run) -> float:
    """Return the median window in the second half of the run, kB."""
    windows = _Windows.of(run)
    return float(np.median(windows.cwnd_kb[windows.time_s > windows.time_s[-1] / 2]))


def time_to_equilibrium(run: Run) -> float:
    """Return when the window is at its equilibrium for the first time after the collapse."""
    windows = _Windows.of(run)
    late = windows.time_s > windows.collapse_s + 20
    there = windows.time_s[late & (windows.cwnd_kb >= cwnd_equilibrium(run))]
    return float(there[0])


@dataclass(frozen=True)
class _Windows:
    """The window and its threshold over time, and when the first loss is found."""

    time_s: Floats
    cwnd_kb: Floats
    ssthresh_kb: Floats
    collapse_s: float

    @classmethod
    def of(cls, run: Run) -> _Windows:
        tcp = run.tables["tcp"]
        time_s = tcp["time_ns"].to_numpy() / NS
        lossy = np.isin(tcp["event"].cast(pa.string()).to_pylist(), ["fast_retransmit", "timeout"])
        if not lossy.any():
            raise RunError("no loss was found")
        cwnd, ssthresh = (tcp[name].cast(pa.float64()).to_numpy() / KB for name in ("cwnd", "ssthresh"))
        return cls(time_s, cwnd, np.nan_to_num(ssthresh, nan=np.inf), float(time_s[lossy][0]))


# ---- Claims ----------------------------------------------------------------------------------------------------------


def lost_retransmissions_need_timeouts(evidence: Evidence) -> Verdict:
    """Claim 4: of the segments sent again on SACKs whose retransmission was dropped, how many needed the timer."""
    (run,) = evidence.runs.values()
    packets = _losses(run)
    fast = pc.is_in(packets["cause"].cast(pa.string()), pa.array(["fast_retransmit", "scoreboard"]))
    dropped = packets.filter(pc.and_(pc.equal(packets["fate"], "error_drop"), fast))
    tcp = run.tables["tcp"]
    timeouts = set(tcp.filter(_is(tcp["event"], "timeout"))["seq"].to_pylist())
    needed = sum(seq in timeouts for seq in dropped["seq"].to_pylist())
    figures = f"{needed} of {dropped.num_rows} retransmissions that were lost in fast recovery needed a timeout; "
    return Verdict(needed > 0.9 * dropped.num_rows > 0, figures + f"{len(timeouts)} segments timed out")


def sack_resends_three_reno_one(evidence: Evidence) -> Verdict:
    """Claim 7: how many bursts go as Figures 11 and 12 show, by why each of the three was sent again."""
    runs = evidence.by("flow")
    courses = {flow: [_course(burst, _sent(run)) for burst in _bursts(run, SACK_QUIET_S)] for flow, run in runs.items()}
    reno, sack = courses["reno"], courses["sack"]
    reno_so = reno.count(("fast_retransmit", "timeout", "after_timeout"))
    sack_so = sack.count(("fast_retransmit", "scoreboard", "scoreboard"))
    needless = _needless_after_timeout(runs["reno"])
    figures = (
        f"Sack sends all three again from its scoreboard after {sack_so} of {len(sack)} bursts; Reno sends one again "
    )
    figures += (
        f"and times out for the second after {reno_so} of {len(reno)}; it sent {needless} segments needlessly after "
    )
    figures += f"its {len(_timeouts(runs['reno']))} timeouts"
    return Verdict(2 * sack_so > len(sack) and 2 * reno_so > len(reno) and needless > 0, figures)


def round_trips_of_repair(evidence: Evidence) -> Verdict:
    """Claim 19: from the first retransmission of three to their acknowledgment, in round trips of half a second."""
    took = {flow: _repairs(run) for flow, run in evidence.by("flow").items()}
    if not all(took.values()):
        return Verdict(None, "no lonely burst of three")
    middle = {flow: median(times) / LONG_RTT_S for flow, times in took.items()}
    figures = f"round trips for three: Reno {middle['reno']:.1f} ({len(took['reno'])} bursts), "
    figures += f"Sack {middle['sack']:.1f} ({len(took['sack'])} bursts)"
    return Verdict(middle["sack"] < BETWEEN_RTTS < middle["reno"], figures)


def _course(burst: Burst, sent: Sent) -> tuple[str, ...]:
    """Say why each of the three was sent again for the first time."""
    again = [sent.cause[(sent.end == end) & (sent.cause != "")] for end in burst.ends]
    return tuple(str(causes[0]) if len(causes) else "" for causes in again)


def _needless_after_timeout(run: Run) -> int:
    segments = run.tables["segments"]
    after = pc.is_in(segments["cause"].cast(pa.string()), pa.array(["timeout", "after_timeout"]))
    return int(segments.filter(pc.and_(after, pc.fill_null(segments["needless"], False))).num_rows)


def _repairs(run: Run) -> list[float]:
    sent, heard = _sent(run), _heard(run)
    found = []
    for burst in _bursts(run, 4 * LONG_RTT_S):
        begun = sent.first(burst.dropped_s, (sent.end == burst.ends[0]) & (sent.cause != ""))
        acked = heard.reached(burst.ends[-1])
        if begun is not None and acked is not None:
            found.append(acked - begun)
    return found


LONG_RTT_S = 0.5
"""Sections 3.2 to 3.4."""
BETWEEN_RTTS = 2
"""Half-way between one round trip for three packets and one for each."""
