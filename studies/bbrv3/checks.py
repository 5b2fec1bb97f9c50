"""What the cases of the BBR draft verify, judged from the decisions of the sender.

A span is a time in one state of BBR. Times are seconds, rates byte/s of payload, windows bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lasthop.results.run import Run
from lasthop.study.claims import Evidence, Verdict

NS = 1e9
MSS = 1448
"""Payload of a packet of 1500 bytes with timestamps."""
PAYLOAD = MSS / 1500
ROUND_TRIP_S = 0.0414
"""Of an idle path: twice 20 ms, and the time of a packet and its ACK at 10 Mbit/s."""
MARGIN = 0.02
"""Part of a rate that a measurement may be off."""
PACED = 0.99
"""BBR paces at 1 % below the product of gain and bandwidth (`BBR.PacingMarginPercent`)."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Span:
    """A time in one state."""

    state: str
    rows: list[Row]

    @property
    def begin(self) -> float:
        """The time of its first row."""
        return float(self.rows[0]["time_ns"]) / NS

    @property
    def length(self) -> float:
        """The time from its first row to its last one."""
        return float(self.rows[-1]["time_ns"]) / NS - self.begin

    @property
    def bandwidth(self) -> float:
        """The largest bandwidth that was measured, at its end."""
        return float(self.rows[-1]["bandwidth_Bps"])

    @property
    def gain(self) -> float:
        """The pacing rate over the bandwidth, the median of its rows."""
        gains = sorted(row["pacing_rate_Bps"] / row["bandwidth_Bps"] for row in self.rows if row["bandwidth_Bps"])
        return float(gains[len(gains) // 2]) / PACED

    @property
    def retransmissions(self) -> int:
        """Segments that were sent again in it."""
        return sum(row["event"] == "retransmit" for row in self.rows)


def _spans(evidence: Evidence) -> list[Span]:
    """Return the spans of the sender's course."""
    (run,) = evidence.runs.values()
    spans: list[Span] = []
    for row in _rows(run):
        if not spans or spans[-1].state != row["state"]:
            spans.append(Span(row["state"], []))
        spans[-1].rows.append(row)
    return spans


def _rows(run: Run) -> list[Row]:
    rows = run.table("tcp").to_pylist()
    return [row for row in rows if row["host"] == "server" and row["state"] is not None]


def _after(spans: list[Span], state: str) -> Iterator[tuple[Span, Span]]:
    """Yield each span in a state, and the one after it, unless a PROBE_RTT that was due interrupts it."""
    pairs = ((one, following) for one, following in pairwise(spans) if one.state == state)
    return ((one, following) for one, following in pairs if following.state != "probe_rtt")


def _mbps(rate: float) -> str:
    return f"{8e-6 * rate:.2f} Mbit/s"


def _payload(rate_bps: float) -> float:
    """Return the payload of a link's rate, in byte/s."""
    return rate_bps / 8 * PAYLOAD


def startup_ends_at_the_plateau(evidence: Evidence) -> Verdict:
    """Case A.1."""
    startup, following = _spans(evidence)[:2]
    expected = _payload(10e6)
    reached = next((row for row in startup.rows if row["bandwidth_Bps"] >= (1 - MARGIN) * expected), None)
    if reached is None:
        return Verdict(False, f"STARTUP measures {_mbps(startup.bandwidth)}")
    # The queue lengthens round trips meanwhile, to twice the first at the end.
    rounds = (startup.begin + startup.length - reached["time_ns"] / NS) / (startup.rows[-1]["srtt_ns"] / NS)
    near = abs(startup.bandwidth - expected) <= MARGIN * expected
    figures = f"{_mbps(startup.bandwidth)}, {rounds:.1f} round trips after the plateau began, then {following.state}"
    return Verdict(near and rounds <= 6 and following.state == "drain", figures)


def startup_ends_on_loss(evidence: Evidence) -> Verdict:
    """Case A.2."""
    startup, following = _spans(evidence)[:2]
    figures = f"after {startup.length:.2f} s with {startup.retransmissions} segments sent again, then {following.state}"
    return Verdict(startup.retransmissions > 0 and following.state == "drain", figures)


def drain_ends_by_flight(evidence: Evidence) -> Verdict:
    """Case A.3."""
    ((drain, following),) = list(_after(_spans(evidence), "drain"))
    bdp, left = drain.bandwidth * ROUND_TRIP_S, drain.rows[-1]["flight"]
    figures = f"gain {drain.gain:.2f}; {left / MSS:.0f} segments in flight, BDP {bdp / MSS:.1f}, then {following.state}"
    holds = abs(drain.gain - 0.5) < 0.01 and left <= bdp + 3 * MSS and following.state.startswith("probe_bw")
    return Verdict(holds, figures)


def drain_ends_by_time(evidence: Evidence) -> Verdict:
    """Case A.4."""
    ((drain, following),) = list(_after(_spans(evidence), "drain"))
    bdp, left = drain.bandwidth * ROUND_TRIP_S, drain.rows[-1]["flight"]
    rounds = drain.length / (drain.rows[-1]["srtt_ns"] / NS)
    figures = f"{rounds:.1f} smoothed round trips; {left / MSS:.0f} segments in flight for a BDP of {bdp / MSS:.1f}"
    holds = rounds >= 2.5 and left > bdp + 3 * MSS and following.state.startswith("probe_bw")
    return Verdict(holds, f"{figures}, then {following.state}")


def up_ends_at_the_plateau(evidence: Evidence) -> Verdict:
    """Case A.5."""
    probes = list(_after(_spans(evidence), "probe_bw_up"))
    rounds = [up.length / ROUND_TRIP_S for up, _ in probes]
    holds = bool(probes) and all(
        up.retransmissions == 0 and following.state == "probe_bw_down" for up, following in probes
    )
    figures = (
        f"{len(probes)} probes without a loss, of {min(rounds):.1f} to {max(rounds):.1f} round trips of an idle path"
    )
    return Verdict(holds and min(rounds) >= 3, figures)


def up_ends_on_loss(evidence: Evidence) -> Verdict:
    """Case A.6: the probes from 5 s on, when the application sends a seventh of what the link carries."""
    probes = [(up, following) for up, following in _after(_spans(evidence), "probe_bw_up") if up.begin > 5]
    lossy = [(up, following) for up, following in probes if up.retransmissions]
    down = sum(following.state == "probe_bw_down" for _, following in lossy)
    return Verdict(bool(lossy) and down == len(lossy), f"of {len(lossy)} probes with losses {down} end in PROBE_DOWN")


def down_ends_by_flight(evidence: Evidence) -> Verdict:
    """Case A.7."""
    downs = [(down, following) for down, following in _after(_spans(evidence), "probe_bw_down")]
    bdp = max(down.bandwidth for down, _ in downs) * ROUND_TRIP_S
    most = max(down.rows[-1]["flight"] for down, _ in downs)
    gains = [down.gain for down, _ in downs]
    cruises = all(following.state == "probe_bw_cruise" for _, following in downs)
    figures = f"{len(downs)} times, gain {min(gains):.2f} to {max(gains):.2f}; at most {most / MSS:.0f} segments"
    holds = cruises and all(abs(gain - 0.9) < 0.01 for gain in gains) and most <= bdp + 3 * MSS
    return Verdict(holds, f"{figures} in flight at the end, BDP {bdp / MSS:.1f}")


def down_ends_by_time(evidence: Evidence) -> Verdict:
    """Case A.8: the first PROBE_DOWN, after a DRAIN that did not drain."""
    down, following = next(_after(_spans(evidence), "probe_bw_down"))
    figures = f"after {down.length:.2f} s, then {following.state}"
    return Verdict(1.9 <= down.length <= 3.2 and following.state == "probe_bw_refill", figures)


def probe_rtt_halves_the_window(evidence: Evidence) -> Verdict:
    """Case A.9."""
    probe, following = next(_after(_spans(evidence), "probe_rtt"))
    bdp, window = probe.bandwidth * ROUND_TRIP_S, probe.rows[-1]["cwnd"]
    figures = f"at {probe.begin:.2f} s, {1e3 * probe.length:.0f} ms, {window / bdp:.2f} BDP, then {following.state}"
    holds = 5 <= probe.begin <= 5.5 and probe.length >= 0.2 and abs(window / bdp - 0.5) < 0.05
    return Verdict(holds and following.state.startswith("probe_bw"), figures)


def idle_time_counts_as_a_probe(evidence: Evidence) -> Verdict:
    """Case A.10."""
    spans = _spans(evidence)
    probes = sum(span.state == "probe_rtt" for span in spans)
    pauses = sum(later["time_ns"] - row["time_ns"] > 5 * NS for row, later in pairwise(_all(spans)))
    return Verdict(pauses > 2 and probes == 0, f"{pauses} pauses of more than 5 s, {probes} PROBE_RTT")


def startup_finds_the_bandwidth(evidence: Evidence) -> Verdict:
    """Case A.11. Clusters make samples larger than the link's rate, which BBR bounds by the rate of sending."""
    startup, *_ = _spans(evidence)
    expected = _payload(10e6)
    figures = f"{_mbps(startup.bandwidth)} after {startup.length:.2f} s, for {_mbps(expected)}"
    return Verdict(startup.bandwidth >= (1 - MARGIN) * expected, figures)


def aggregation_keeps_the_link_busy(evidence: Evidence) -> Verdict:
    """Case A.12."""
    cruises = [span for span in _spans(evidence) if span.state == "probe_bw_cruise"]
    windows = [row["cwnd"] for cruise in cruises[1:] for row in cruise.rows]
    bdp = _payload(10e6) * ROUND_TRIP_S
    acked = sum(cruise.rows[-1]["seq"] - cruise.rows[0]["seq"] for cruise in cruises)
    rate = acked / sum(cruise.length for cruise in cruises)
    figures = f"windows of {min(windows) / bdp:.1f} to {max(windows) / bdp:.1f} BDP, {_mbps(rate)}"
    return Verdict(min(windows) > 2 * bdp and rate >= 0.97 * _payload(10e6), figures)


def four_segments_are_the_least(evidence: Evidence) -> Verdict:
    """Case A.13. A minimum of four segments is in the window; PROBE_RTT needs no exception."""
    spans = _spans(evidence)
    least = min(row["cwnd"] for row in _all(spans))
    cruises = [span for span in spans if span.state == "probe_bw_cruise"]
    figures = f"at least {least / MSS:.1f} segments; PROBE_BW is reached"
    if not cruises:
        return Verdict(False, f"at least {least / MSS:.1f} segments; PROBE_BW is not reached")
    paced = max(abs(cruise.gain - 1) for cruise in cruises)
    return Verdict(least >= 4 * MSS and paced < 0.05, f"{figures} after {cruises[0].begin:.0f} s")


def ten_fold_rate_is_found(evidence: Evidence) -> Verdict:
    """Case A.14."""
    expected = (1 - MARGIN) * _payload(100e6)
    up = next((span for span in _spans(evidence) if span.state == "probe_bw_up" and span.begin > 5.5), None)
    found = next((row for row in up.rows if row["bandwidth_Bps"] >= expected), None) if up else None
    if up is None or found is None:
        return Verdict(False, "the first probe does not find it")
    rounds = (found["time_ns"] / NS - up.begin) / ROUND_TRIP_S
    return Verdict(rounds <= 20, f"{rounds:.0f} round trips of an idle path after the probe began")


def tenth_of_the_rate_is_found(evidence: Evidence) -> Verdict:
    """Case A.15."""
    spans, expected = _spans(evidence), (1 + MARGIN) * _payload(10e6)
    found = next((row for row in _all(spans) if row["time_ns"] > 6 * NS and row["bandwidth_Bps"] <= expected), None)
    if found is None:
        return Verdict(False, "the bandwidth stays above the new rate")
    probes = sum(span.state == "probe_bw_up" and 5.5 < span.begin < found["time_ns"] / NS for span in spans)
    return Verdict(probes <= 3, f"{found['time_ns'] / NS - 5.5:.1f} s after the fall, with {probes} probes")


def policer_is_obeyed(evidence: Evidence) -> Verdict:
    """Case A.16, after 10 s."""
    late = [row for row in _all(_spans(evidence)) if row["time_ns"] > 10 * NS]
    again = sum(row["event"] == "retransmit" for row in late)
    acked = late[-1]["seq"] - late[0]["seq"]
    seconds = (late[-1]["time_ns"] - late[0]["time_ns"]) / NS
    share, rate = again * MSS / acked, acked / seconds
    figures = f"{100 * share:.1f} % sent again, {_mbps(rate)} of {_mbps(_payload(10e6))}"
    return Verdict(share <= 0.05 and rate >= 0.9 * _payload(10e6), figures)


def spurious_loss_is_undone(evidence: Evidence) -> Verdict:
    """Case A.17."""
    (run,) = evidence.runs.values()
    (flow,) = run.summary["flows"]
    startup, following = _spans(evidence)[:2]
    expected = _payload(10e6)
    figures = f"{flow['unnecessary_retransmissions']} needless segments; STARTUP ends at {_mbps(startup.bandwidth)}"
    holds = flow["unnecessary_retransmissions"] > 0 and abs(startup.bandwidth - expected) <= MARGIN * expected
    return Verdict(holds and following.state == "drain", f"{figures}, then {following.state}")


def probe_rtt_leads_back_to_startup(evidence: Evidence) -> Verdict:
    """Case A.18."""
    followers = [following.state for _, following in _after(_spans(evidence), "probe_rtt")]
    return Verdict(bool(followers) and set(followers) == {"startup"}, f"then {', '.join(followers)}")


def loss_ends_up(evidence: Evidence) -> Verdict:
    """Case A.19: the probes after the first loss has set a bound."""
    probes = list(_after(_spans(evidence), "probe_bw_up"))[1:]
    lossy = [(up, following) for up, following in probes if up.retransmissions]
    down = sum(following.state == "probe_bw_down" for _, following in lossy)
    bounded = all(following.rows[0]["cwnd"] <= max(row["cwnd"] for row in up.rows) for up, following in lossy)
    figures = f"{len(lossy)} of {len(probes)} probes lose, and {down} of them end in PROBE_DOWN"
    return Verdict(bool(lossy) and down == len(lossy) and bounded, figures)


def limited_samples_lower_nothing(evidence: Evidence) -> Verdict:
    """Case A.20, after STARTUP."""
    spans = [span for span in _spans(evidence) if span.state != "startup"]
    least = min(row["bandwidth_Bps"] for row in _all(spans))
    refills = sum(span.state == "probe_bw_refill" for span in spans)
    figures = f"{refills} PROBE_REFILL; the bandwidth is at least {_mbps(least)}"
    return Verdict(refills > 3 and least >= (1 - MARGIN) * _payload(10e6), figures)


def _all(spans: list[Span]) -> list[Row]:
    return [row for span in spans for row in span.rows]
