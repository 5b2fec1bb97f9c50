"""The claims of Sarolahti 2000 that are about the course of a transfer, judged from its records.

Each check is given recorded runs of the claim's cases (`Evidence`) and says whether the claim holds, and by which
figures. Times are seconds, windows segments of 256 bytes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from lasthop.results.run import Run
from lasthop.study.claims import Evidence, Verdict
from lasthop.study.queue_checks import drops_slowstart

MSS = 256
"""Table 48."""
BEYOND_THE_QUEUE = 5
"""Packets that the pipe holds besides the router's queue: four in the send buffer, one on its way (section 5.1)."""
NS = 1e9
SINGLE_S = 1.0
"""Drops further apart than this are single: a packet takes a quarter of a second, a round trip more than one."""

TOLERANCE = 0.025
"""Tolerance of elapsed times without delays, as for the tables."""

NEARLY_SEVEN = 5
"""Claim 45: seven in the document; which segment is delayed, it does not say for sure."""
UP_TO_THREE = 3
"""Claim 50: eight segments less four in the link's buffer and one on its way (section 6.5)."""

Row = dict[str, Any]


def pipe_capacity_pkts(run: Run) -> int:
    """Packets from the sender to the router's first drop and back: outstanding when it happens, the dropped one apart.

    As the document counts (section 5.1): those in the queue and the link's send buffer, and one that has left it but is
    not yet acknowledged.
    """
    dropped = _drops(run)[0]
    acks = [row for row in _passages(run, "lan", "up") if row["delivered_ns"] is not None]
    acked = max((row["ack"] for row in acks if row["delivered_ns"] <= dropped["entered_ns"]), default=1)
    return int(dropped["seq"] - acked) // MSS


def first_overflow_at_capacity_plus_one(evidence: Evidence) -> Verdict:
    """Claim 2: cwnd when the router drops its first packet."""
    windows = {buffer: _window(run, _drops(run)[0]["entered_ns"]) for buffer, run in evidence.by("buffer_pkts").items()}
    figures = [
        f"buffer {buffer}: cwnd {window}, capacity {buffer + BEYOND_THE_QUEUE}" for buffer, window in windows.items()
    ]
    holds = all(window == buffer + BEYOND_THE_QUEUE + 1 for buffer, window in windows.items())
    return Verdict(holds, "; ".join(figures))


def later_drops_single_and_rarer(evidence: Evidence) -> Verdict:
    """Claim 3: drops after the first retransmission, by buffer from small to large."""
    later = {buffer: _later_drops(run) for buffer, run in evidence.by("buffer_pkts").items()}
    counts = [len(times) for times in later.values()]
    gaps = [after - before for times in later.values() for before, after in pairwise(times)]
    holds = all(more > fewer for more, fewer in pairwise(counts)) and min(gaps, default=SINGLE_S) >= SINGLE_S
    figures = ", ".join(f"{len(times)} at buffer {buffer}" for buffer, times in later.items())
    return Verdict(holds, f"later drops: {figures}; the closest {min(gaps, default=float('nan')):.1f} s apart")


def same_overshoot(evidence: Evidence) -> Verdict:
    """Claim 5: drops of slow start for 50, 100 and 200 KB."""
    by_buffer: dict[int, list[int]] = {}
    for case, run in evidence.runs.items():
        by_buffer.setdefault(evidence.cases[case].values["buffer_pkts"], []).append(drops_slowstart(run))
    figures = [f"buffer {buffer}: {', '.join(map(str, drops))}" for buffer, drops in by_buffer.items()]
    return Verdict(all(len(set(drops)) == 1 for drops in by_buffer.values()), "; ".join(figures))


def first_recovery_longer_with_buffer(evidence: Evidence) -> Verdict:
    """Claim 7: from the first fast retransmit to its end."""
    lengths = {buffer: _first_recovery(run) for buffer, run in evidence.by("buffer_pkts").items()}
    figures = [f"{length:.1f} s at buffer {buffer}" for buffer, length in lengths.items()]
    return Verdict(all(a < b for a, b in pairwise(lengths.values())), ", ".join(figures))


def delayed_acks_without_effect(evidence: Evidence) -> Verdict:
    """Claim 9: elapsed time with delayed ACKs and with an ACK for every segment."""
    by_buffer: dict[int, list[float]] = {}
    for case, run in evidence.runs.items():
        by_buffer.setdefault(evidence.cases[case].values["buffer_pkts"], []).append(_flow(run)["elapsed_s"])
    figures = [
        f"buffer {buffer}: {', '.join(f'{time:.2f} s' for time in times)}" for buffer, times in by_buffer.items()
    ]
    return Verdict(all(max(times) < (1 + TOLERANCE) * min(times) for times in by_buffer.values()), "; ".join(figures))


def needless_fast_retransmit(evidence: Evidence) -> Verdict:
    """Claim 14: a spurious timeout, needless go-back-N, and a fast retransmit out of its duplicate ACKs."""
    (run,) = evidence.runs.values()
    resent, needless = _needless_after_timeout(run), _needless_fast_retransmits(run)
    spurious = _flow(run)["spurious_timeouts"]
    figures = f"{spurious} spurious timeouts, {resent} segments resent needlessly after them, "
    return Verdict(spurious > 0 and resent > 0 and needless > 0, figures + f"{needless} needless fast retransmits")


def careful_bugfix_stops_it(evidence: Evidence) -> Verdict:
    """Claim 15: needless fast retransmits with either variant of the bugfix."""
    counts = {variant: _needless_fast_retransmits(run) for variant, run in evidence.by("bugfix").items()}
    figures = f"needless fast retransmits: {counts['document']} less careful, {counts['careful']} careful"
    return Verdict(counts["document"] > 0 and counts["careful"] == 0, figures)


def doubled_timeout_after_lost_retransmission(evidence: Evidence) -> Verdict:
    """Claim 16: between the first two timeouts retransmissions are dropped and no fast retransmit happens."""
    (run,) = evidence.runs.values()
    timeouts = [row["time_ns"] / NS for row in _events(run, "timeout")]
    if len(timeouts) < 2:
        return Verdict(False, f"{len(timeouts)} timeout")
    first, second = timeouts[:2]
    lost = sum(first < row["entered_ns"] / NS < second for row in _drops(run) if row["retransmission"])
    barred = not any(first < row["time_ns"] / NS < second for row in _events(run, "fast_retransmit"))
    word = "no" if barred else "a"
    figures = f"timeouts after {first:.1f} s and {second:.1f} s; between them {lost} retransmissions dropped, "
    return Verdict(lost > 0 and barred, figures + f"{word} fast retransmit")


def new_data_dropped_in_spurious_recovery(evidence: Evidence) -> Verdict:
    """Claim 21: the new segments from the first that the router drops in a spurious fast recovery to its end."""
    (run,) = evidence.runs.values()
    begun = min((row["time_ns"] for row in _fast_retransmitted(run) if row["needless"]), default=None)
    if begun is None:
        return Verdict(False, "no needless fast retransmit")
    ended = min(row["time_ns"] for row in _events(run, "recovered") if row["time_ns"] > begun)
    arrived = _passages(run, "lasthop", "down")
    new = [row for row in arrived if row["kind"] == "data" and begun < row["entered_ns"] < ended]
    dropped = [row["fate"] == "queue_drop" for row in new]
    since_full = dropped[dropped.index(True) :] if True in dropped else []
    figures = f"in the spurious fast recovery from {begun / NS:.1f} to {ended / NS:.1f} s {len(new)} new segments; "
    figures += f"of the {len(since_full)} since the queue is full {sum(since_full)} are dropped"
    return Verdict(len(since_full) > 0 and all(since_full), figures)


def no_new_kind_of_effect(evidence: Evidence) -> Verdict:
    """Claim 22: why segments were resent with two delays, against with one, at the same buffer."""
    with_one: dict[int, set[str]] = {}
    with_two: dict[int, set[str]] = {}
    for case, run in evidence.runs.items():
        values = evidence.cases[case].values
        kinds = with_two if "+" in values["delay_spec"] else with_one
        kinds.setdefault(values["buffer_pkts"], set()).update(_reasons(run))
    new = {buffer: reasons - with_one[buffer] for buffer, reasons in with_two.items()}
    figures = [
        f"buffer {buffer}: with one delay {', '.join(sorted(with_one[buffer]))}; "
        f"with two also {', '.join(sorted(more)) or 'none'}"
        for buffer, more in new.items()
    ]
    return Verdict(not any(new.values()), "; ".join(figures))


def leader_has_twice_the_window(evidence: Evidence) -> Verdict:
    """Claim 24: both windows when the router drops its first packet."""
    (run,) = evidence.runs.values()
    first = _drops(run)[0]["entered_ns"]
    flows = sorted({row["flow"] for row in _rows(run, "tcp")})
    windows = sorted(_window(run, first, flow) for flow in flows)
    figures = f"cwnd at the first drop: {windows[0]:g} and {windows[-1]:g} segments"
    return Verdict(1.5 * windows[0] <= windows[-1], figures)


def overflow_in_spite_of_the_window(evidence: Evidence) -> Verdict:
    """Claim 45: needless retransmissions after the timeout, and what the router drops of them."""
    (run,) = evidence.runs.values()
    resent, dropped = _needless_after_timeout(run), len(_drops(run))
    figures = f"{resent} segments resent needlessly after the timeout, {dropped} packets dropped"
    return Verdict(resent >= NEARLY_SEVEN and dropped > 0, figures)


def queue_within_three(evidence: Evidence) -> Verdict:
    """Claim 50: the longest queue at the router."""
    (run,) = evidence.runs.values()
    longest = _router(run)["queue_max"]
    return Verdict(longest <= UP_TO_THREE, f"the longest queue was {longest} packets")


def red_shortens_the_queue(evidence: Evidence) -> Verdict:
    """Claim 58: the mean length of the router's queue over the transfer."""
    means: dict[str, dict[int, float]] = {"baseline": {}, "red_r3": {}}
    for case, run in evidence.runs.items():
        values = evidence.cases[case].values
        means[values["enhancement"]][values["buffer_pkts"]] = _mean_queue(run)
    pairs = [(buffer, means["baseline"][buffer], means["red_r3"][buffer]) for buffer in means["baseline"]]
    figures = [f"buffer {buffer}: {tail:.1f} packets with tail drop, {red:.1f} with RED" for buffer, tail, red in pairs]
    return Verdict(all(red < tail for _, tail, red in pairs), "; ".join(figures))


def _mean_queue(run: Run) -> float:
    """Return the length of the router's queue, averaged over the time from its first packet to its last."""
    rows = [row for row in _rows(run, "queue") if (row["link"], row["direction"]) == ("lasthop", "down")]
    weighted = sum(row["packets"] * (later["time_ns"] - row["time_ns"]) for row, later in pairwise(rows))
    return float(weighted) / float(rows[-1]["time_ns"] - rows[0]["time_ns"])


def _router(run: Run) -> Row:
    links: list[Row] = run.summary["links"]
    return next(row for row in links if (row["link"], row["direction"]) == ("lasthop", "down"))


def _rows(run: Run, table: str) -> list[Row]:
    rows: list[Row] = run.tables[table].to_pylist()
    return rows


def _flow(run: Run) -> Row:
    flow: Row = run.summary["flows"][0]
    return flow


def _events(run: Run, event: str) -> list[Row]:
    return [row for row in _rows(run, "tcp") if row["event"] == event]


def _passages(run: Run, link: str, direction: str) -> list[Row]:
    return [row for row in _rows(run, "packets") if (row["link"], row["direction"]) == (link, direction)]


def _drops(run: Run) -> list[Row]:
    """Return what the router dropped, in order."""
    return [row for row in _passages(run, "lasthop", "down") if row["fate"] == "queue_drop"]


def _later_drops(run: Run) -> list[float]:
    """Return the times of the drops after the first retransmission."""
    resent = [row["entered_ns"] for row in _passages(run, "lasthop", "down") if row["retransmission"]]
    return [row["entered_ns"] / NS for row in _drops(run) if row["entered_ns"] > min(resent)]


def _window(run: Run, time_ns: int, flow: str | None = None) -> float:
    """Return cwnd in segments as it was at a time."""
    rows = [row for row in _rows(run, "tcp") if row["time_ns"] <= time_ns and flow in (None, row["flow"])]
    return float(rows[-1]["cwnd"]) / MSS if rows else 0.0


def _first_recovery(run: Run) -> float:
    begun, ended = _events(run, "fast_retransmit")[0], _events(run, "recovered")[0]
    return float(ended["time_ns"] - begun["time_ns"]) / NS


def _resent(run: Run) -> list[Row]:
    return [row for row in _rows(run, "segments") if row["direction"] == "sent" and row["retransmission"]]


def _reasons(run: Run) -> set[str]:
    return {row["why"] for row in _resent(run) if row["why"] is not None}


def _fast_retransmitted(run: Run) -> list[Row]:
    return [row for row in _resent(run) if row["cause"] == "fast_retransmit"]


def _needless_fast_retransmits(run: Run) -> int:
    return sum(bool(row["needless"]) for row in _fast_retransmitted(run))


def _needless_after_timeout(run: Run) -> int:
    return sum(bool(row["needless"]) and row["cause"] in ("timeout", "after_timeout") for row in _resent(run))
