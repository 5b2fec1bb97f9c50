"""The claims of Gurtov 2001, judged from the records of a transfer.

Each check is given recorded runs of the claim's cases (`Evidence`) and says whether the claim holds, and by which
figures. Times are seconds, windows segments of 256 bytes, as the link carries them.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from statistics import median
from typing import Any

from lasthop.results.run import Run
from lasthop.study.claims import Evidence, Verdict

MSS = 256
"""MTU of the link, 296 bytes, less headers."""
NS = 1e9
NEW_RENO = range(130, 171)
"""Range of "about half more", in percent."""
MOST_WINDOWS = 1.6
"""Upper bound of "about 1.5 windows" of retransmissions."""
SEVERAL = 2
"""Copies of each segment that count as several."""
PAUSE = 4
"""A gap between new segments this many times as long as the usual one is a pause."""

Row = dict[str, Any]


def spurious_timeout(evidence: Evidence) -> Verdict:
    """Claim 1: nothing is lost, the timer runs out, and the oldest segment goes out again first."""
    run = evidence.by("sender")["reno"]
    timeout = _timeout(run)
    first = next(row for row in _resent(run) if row["time_ns"] >= timeout["time_ns"])
    flow, lost = _flow(run), _lost(run)
    figures = f"{flow['spurious_timeouts']} spurious timeouts, {lost} packets lost; the first at "
    figures += f"{timeout['time_ns'] / NS:.1f} s, where segment {_number(timeout)} is the oldest"
    figures += f"; {_number(first)} is sent again"
    return Verdict(flow["spurious_timeouts"] > 0 and lost == 0 and first["seq"] == timeout["seq"], figures)


def go_back_n(evidence: Evidence) -> Verdict:
    """Claims 2 and 12: all that was outstanding at the timeout is sent again, but what is acknowledged earlier."""
    figures, holds = [], True
    for sender, run in evidence.by("sender").items():
        outstanding, again = _outstanding(_timeout(run)), _gone_back(run)
        figures.append(f"{sender}: {outstanding} outstanding, {again} sent again")
        holds = holds and outstanding - 1 <= again <= outstanding
    return Verdict(holds, "; ".join(figures))


def false_fast_retransmit(evidence: Evidence) -> Verdict:
    """Claim 3: the copies draw duplicate ACKs, those a fast retransmit, and that cuts the window."""
    run = evidence.by("sender")["reno"]
    needless = [row for row in _resent(run) if row["cause"] == "fast_retransmit" and row["needless"]]
    if not needless:
        return Verdict(False, "no needless fast retransmit")
    before, after = _around(run, "fast_retransmit")
    figures = f"{len(needless)} needless fast retransmit, {_lost(run)} packets lost; "
    figures += f"ssthresh from {before['ssthresh'] // MSS} to {after['ssthresh'] // MSS}"
    return Verdict(after["ssthresh"] < before["ssthresh"] and _lost(run) == 0, figures)


def pause_then_progress(evidence: Evidence) -> Verdict:
    """Claim 4: new data pause after the false fast retransmit, then continue as before."""
    run = evidence.by("sender")["reno"]
    cut = _events(run, "fast_retransmit")[0]["time_ns"]
    usual, gap, until = _longest_gap(run, cut)
    later = [row for row in _events(run, "timeout") + _events(run, "fast_retransmit") if row["time_ns"] > until]
    figures = f"cut at {cut / NS:.1f} s; no new segment for {gap:.1f} s until {until / NS:.1f} s"
    figures += f", usually one in {usual:.2f} s; "
    return Verdict(gap > PAUSE * usual and not later, figures + f"{len(later)} timeouts and fast retransmits after it")


def new_reno_adds_half(evidence: Evidence) -> Verdict:
    """Claim 5: needless retransmissions of NewReno and of Reno, after one spurious timeout."""
    runs = evidence.by("sender")
    reno, new_reno = (_flow(runs[sender])["unnecessary_retransmissions"] for sender in ("reno", "newreno"))
    figures = f"{new_reno} needless retransmissions with NewReno, {reno} with Reno: {new_reno / reno:.2f} times as many"
    return Verdict(round(100 * new_reno / reno) in NEW_RENO, figures)


def new_segments_make_it_worse(evidence: Evidence) -> Verdict:
    """Claim 6 as it was read: fast retransmits of NewReno with new segments for partial ACKs, without, and careful."""
    counts = {sender: _flow(run)["fast_retransmits"] for sender, run in evidence.by("sender").items()}
    figures = f"fast retransmits: {counts['newreno']} with new segments for partial ACKs, "
    figures += f"{counts['newreno-still']} without, {counts['careful']} where the first is prevented"
    return Verdict(counts["newreno"] > 1 and counts["careful"] == 0, figures)


def timeout_in_false_recovery(evidence: Evidence) -> Verdict:
    """Claim 7: the timer runs out in the fast recovery, while duplicate ACKs come."""
    run = evidence.by("sender")["reno-aggressive"]
    for timeout in _chain(run):
        before = [row for row in _mobile(run) if row["time_ns"] < timeout["time_ns"]]
        duplicates = [row for row in before if row["event"] == "duplicate_ack"][-3:]
        last = before[-1]
        if last["event"] == "duplicate_ack" and last["phase"] == "fast_recovery":
            figures = (
                f"timeout at {timeout['time_ns'] / NS:.1f} s in fast recovery; the last ACKs before it, duplicates, "
            )
            times = ", ".join(f"{row['time_ns'] / NS:.1f}" for row in duplicates)
            return Verdict(True, figures + f"at {times} s")
    return Verdict(False, "no timeout in a fast recovery")


def chain_of_timeouts(evidence: Evidence) -> Verdict:
    """Claim 8: further timeouts once the delay is over, each of a flight that is sent again whole, ever smaller."""
    run = evidence.by("sender")["careful-aggressive"]
    timeouts = [_timeout(run), *_chain(run)]
    flights = [(_outstanding(timeout), _gone_back(run, timeout)) for timeout in timeouts]
    figures = "; ".join(f"{outstanding} outstanding, {again} sent again" for outstanding, again in flights)
    whole = all(again >= outstanding - 1 for outstanding, again in flights)
    shrinks = all(before > after for (before, _), (after, _) in pairwise(flights))
    holds = len(timeouts) > 1 and whole and shrinks and _lost(run) == 0 and _flow(run)["completed"]
    return Verdict(holds, f"timeouts out of one delay: {figures}; {_lost(run)} packets lost")


def data_sent_several_times(evidence: Evidence) -> Verdict:
    """Claim 9: segments sent for each segment of the transfer, where timeouts follow timeouts, nothing lost."""
    figures, ratios = [], []
    for sender, run in evidence.by("sender").items():
        flow, segments = _flow(run), len({row["seq"] for row in _sent(run)})
        ratios.append(flow["segments_sent"] / segments if _lost(run) == 0 and len(_chain(run)) > 0 else 0.0)
        figures.append(
            f"{sender}: {flow['segments_sent']} segments sent for {segments} ({ratios[-1]:.2f}), {_lost(run)} lost"
        )
    return Verdict(max(ratios) > SEVERAL, "; ".join(figures))


def reset_avoids_the_chain(evidence: Evidence) -> Verdict:
    """Claim 10: with and without a reset by each duplicate: the chain after a delay, the time that losses cost."""
    chains: dict[str, int] = {}
    times: dict[str, float] = {}
    for case, run in evidence.runs.items():
        values = evidence.cases[case].values
        if values["trouble"] == "none":
            chains[values["sender"]] = len(_chain(run))
        else:
            times[values["sender"]] = _flow(run)["elapsed_s"]
    plain, reset = "reno-aggressive", "reno-aggressive-reset"
    figures = f"chain of {chains[plain]} timeouts without and {chains[reset]} with the reset; "
    figures += f"with a loss that only the timer repairs {times[plain]:.1f} s without and {times[reset]:.1f} s with it"
    return Verdict(chains[plain] > 0 and chains[reset] == 0 and times[reset] > times[plain], figures)


def chain_without_new_reno(evidence: Evidence) -> Verdict:
    """Claim 11: the chain is there with plain Reno, which repeats nothing on partial ACKs."""
    run = evidence.by("sender")["reno-aggressive"]
    partial = sum(row["cause"] == "partial_ack" for row in _resent(run))
    figures = f"{len(_chain(run))} timeouts after the delay is over, {partial} retransmissions by partial ACKs"
    return Verdict(len(_chain(run)) > 0 and partial == 0, figures)


def order_of_stacks(evidence: Evidence) -> Verdict:
    """Claim 13: throughputs: FreeBSD and Windows below both Linux; FreeBSD's repeated signals."""
    flows = {sender: _flow(run) for sender, run in evidence.by("sender").items()}
    figures = ", ".join(f"{sender} {flow['throughput_Bps']:.0f} B/s" for sender, flow in flows.items())
    rates = {sender: flow["throughput_Bps"] for sender, flow in flows.items()}
    linux = min(rates["linux-2.2"], rates["linux-2.4"])
    worst = flows["freebsd-2001"]
    figures += f"; FreeBSD: {worst['timeouts']} timeouts, {worst['fast_retransmits']} fast retransmits"
    repeated = worst["timeouts"] > 1 and worst["fast_retransmits"] > 1
    return Verdict(rates["freebsd-2001"] < linux and rates["windows-2000"] < linux and repeated, figures)


def freebsd_resends_all(evidence: Evidence) -> Verdict:
    """Claim 14: bursts of retransmissions, each on one ACK that advances, compared with those of ordinary go-back-N."""
    most = {}
    for sender, run in evidence.by("sender").items():
        start = _timeout(run)["time_ns"]
        again = [row["time_ns"] for row in _resent(run) if row["time_ns"] >= start]
        most[sender] = max(len(list(group)) for _, group in groupby(again))
    figures = ", ".join(f"{sender}: {count}" for sender, count in most.items())
    outstanding = _outstanding(_timeout(evidence.by("sender")["freebsd-2001"]))
    holds = most["freebsd-2001"] >= outstanding - 2 and most["linux-2.2"] < outstanding / 4
    return Verdict(holds, f"most retransmissions at one time: {figures}; FreeBSD had {outstanding} outstanding")


def windows_resends_early(evidence: Evidence) -> Verdict:
    """Claim 15: Windows: timeouts that no delay explains, and the trouble of the others after one."""
    without, delayed = (evidence.by("delay")[delay] for delay in ("none", "25s"))
    early, flow = _flow(without), _flow(delayed)
    first = min(row["len"] for row in _sent(delayed)[:2])
    figures = f"without any delay {early['spurious_timeouts']} spurious timeouts, "
    figures += f"{early['unnecessary_retransmissions']} needless retransmissions; "
    figures += f"with it {flow['spurious_timeouts']} and {flow['unnecessary_retransmissions']}, "
    figures += f"{flow['fast_retransmits']} fast retransmits; first window of two segments of {first} bytes"
    return Verdict(early["spurious_timeouts"] > 0 and flow["fast_retransmits"] > 0, figures)


def linux_recovers(evidence: Evidence) -> Verdict:
    """Claim 16: both Linux: no more than one false fast retransmit, and about one window and a half again."""
    figures, holds = [], True
    for sender, run in evidence.by("sender").items():
        flow, outstanding = _flow(run), _outstanding(_timeout(run))
        windows = flow["retransmissions"] / outstanding
        figures.append(f"{sender}: {flow['fast_retransmits']} fast retransmits, {windows:.2f} windows sent again")
        holds = holds and flow["fast_retransmits"] <= 1 and windows <= MOST_WINDOWS
    return Verdict(holds, "; ".join(figures))


def one_linux_sends_more(evidence: Evidence) -> Verdict:
    """Claim 17: the kernel that sends a new segment for each partial ACK repeats more needlessly than the other."""
    counts = {sender: _flow(run)["unnecessary_retransmissions"] for sender, run in evidence.by("sender").items()}
    beside = {sender: _new_on_partial_acks(run) for sender, run in evidence.by("sender").items()}
    figures = "; ".join(
        f"{name}: {counts[name]} needless, {beside[name]} new segments on partial ACKs" for name in counts
    )
    return Verdict(counts["linux-2.2"] > counts["linux-2.4"] and beside["linux-2.2"] > beside["linux-2.4"], figures)


def linux_pauses(evidence: Evidence) -> Verdict:
    """Claim 18: ACKs advance and nothing new is sent, for after the cut the window is smaller than the flight."""
    run = evidence.by("sender")["linux-2.2"]
    usual, gap, until = _longest_gap(run, _events(run, "fast_retransmit")[0]["time_ns"])
    inside = [row for row in _mobile(run) if until - gap * NS < row["time_ns"] < until and row["event"] == "ack"]
    full = all(row["flight"] >= row["cwnd"] for row in inside)
    avoiding = sum(row["phase"] == "congestion_avoidance" for row in inside)
    figures = f"no new segment for {gap:.1f} s until {until / NS:.1f} s (usually one in {usual:.2f} s), "
    figures += f"while {len(inside)} ACKs advance, the flight falling from {_outstanding(inside[0])} to "
    figures += f"{_outstanding(inside[-1])} segments above a window of {inside[0]['cwnd'] // MSS}; "
    figures += f"{avoiding} of them in congestion avoidance"
    return Verdict(gap > PAUSE * usual and len(inside) > PAUSE and full and avoiding >= len(inside) - 1, figures)


def later_linux_is_careful(evidence: Evidence) -> Verdict:
    """Claim 19: fast retransmits of the kernel before and after the repair."""
    counts = {sender: _flow(run)["fast_retransmits"] for sender, run in evidence.by("sender").items()}
    figures = f"false fast retransmits: {counts['linux-2.2']} before, {counts['linux-2.4']} after"
    return Verdict(counts["linux-2.2"] > 0 and counts["linux-2.4"] == 0, figures)


def windows_counts_to_two(evidence: Evidence) -> Verdict:
    """Claim 20: duplicate ACKs in a row before each fast retransmit."""
    counts = {sender: _duplicates_before(run) for sender, run in evidence.by("sender").items()}
    figures = ", ".join(f"{sender}: {count}" for sender, count in counts.items())
    holds = set(counts["windows-2000"]) == {2} and 2 not in counts["windows-nt"]
    return Verdict(holds, f"duplicates before fast retransmits: {figures}")


def window_is_overrun(evidence: Evidence) -> Verdict:
    """Claim 21: how far each sender goes beyond the window that it was offered."""
    beyond = {sender: _overrun(run) for sender, run in evidence.by("sender").items()}
    figures = ", ".join(f"{sender}: {count} bytes" for sender, count in beyond.items())
    return Verdict(beyond["windows-nt"] > 0 and beyond["reno"] == 0, f"most beyond the offered window: {figures}")


def careful_costs_one_window(evidence: Evidence) -> Verdict:
    """Claim 22: the careful variant: no fast retransmit, and no more than the outstanding window again."""
    run = evidence.by("sender")["careful"]
    flow, outstanding = _flow(run), _outstanding(_timeout(run))
    figures = f"{flow['retransmissions']} retransmissions for {outstanding} outstanding, "
    figures += f"{flow['fast_retransmits']} fast retransmits"
    return Verdict(
        flow["fast_retransmits"] == 0 and flow["retransmissions"] <= outstanding + flow["timeouts"] - 1, figures
    )


def careful_needs_the_reset(evidence: Evidence) -> Verdict:
    """Claim 23: timeouts after the delay is over, careful with an aggressive timer, without and with reset."""
    counts = {sender: len(_chain(run)) for sender, run in evidence.by("sender").items()}
    figures = f"timeouts after the delay is over: {counts['careful-aggressive']} without the reset, "
    figures += f"{counts['careful-aggressive-reset']} with it"
    return Verdict(counts["careful-aggressive"] > 0 and counts["careful-aggressive-reset"] == 0, figures)


def dsack_stops_the_rest(evidence: Evidence) -> Verdict:
    """Claim 24: D-SACK: go-back-N as usual, but no false fast retransmit and nothing by partial ACKs."""
    run = evidence.by("sender")["dsack"]
    outstanding, again = _outstanding(_timeout(run)), _gone_back(run)
    partial = sum(row["cause"] == "partial_ack" for row in _resent(run))
    figures = f"{again} of {outstanding} sent again, {partial} by partial ACKs; "
    figures += f"{_flow(run)['fast_retransmits']} fast retransmits"
    return Verdict(again >= outstanding - 1 and _flow(run)["fast_retransmits"] == 0 and partial == 0, figures)


def eifel_stops_all(evidence: Evidence) -> Verdict:
    """Claim 25: Eifel: nothing but what the timer itself sends again."""
    flow = _flow(evidence.by("sender")["eifel"])
    figures = f"{flow['retransmissions']} retransmissions, {flow['timeouts']} timeouts, "
    figures += f"{flow['fast_retransmits']} fast retransmits"
    return Verdict(flow["retransmissions"] == flow["timeouts"] > 0 and flow["fast_retransmits"] == 0, figures)


def lifetime_makes_it_genuine(evidence: Evidence) -> Verdict:
    """Claim 26: the network discards what is older than the timer: real losses, and no answers to needless copies."""
    by_trouble = evidence.by("trouble")
    without, run = _flow(by_trouble.pop("none")), next(iter(by_trouble.values()))
    flow, timer = _flow(run), _timeout(evidence.by("trouble")["none"])["rto_ns"] / NS / 2
    false = sum(row["cause"] == "fast_retransmit" and bool(row["needless"]) for row in _resent(run))
    figures = f"timer of {timer:.1f} s at the delay; {_lost(run)} packets discarded; {flow['spurious_timeouts']} of "
    figures += (
        f"{flow['timeouts']} timeouts spurious (without: {without['spurious_timeouts']} of {without['timeouts']}); "
    )
    figures += f"{flow['unnecessary_retransmissions']} of {flow['retransmissions']} retransmissions needless, "
    figures += f"{false} of {flow['fast_retransmits']} fast retransmits false"
    return Verdict(_lost(run) > 0 and flow["spurious_timeouts"] == 0 and false == 0, figures)


def patience_costs(evidence: Evidence) -> Verdict:
    """Claim 29: a very conservative timer: no spurious timeout after the delay, but losses take longer."""
    timeouts: dict[str, int] = {}
    times: dict[str, float] = {}
    for case, run in evidence.runs.items():
        values, flow = evidence.cases[case].values, _flow(run)
        if values["trouble"] == "none":
            timeouts[values["sender"]] = flow["spurious_timeouts"]
        else:
            times[values["sender"]] = flow["elapsed_s"]
    figures = (
        f"spurious timeouts after the delay: {timeouts['reno']} and, conservative, {timeouts['reno-conservative']}; "
    )
    figures += f"with a loss that only the timer repairs {times['reno']:.1f} s and {times['reno-conservative']:.1f} s"
    holds = timeouts["reno"] > 0 and timeouts["reno-conservative"] == 0 and times["reno-conservative"] > times["reno"]
    return Verdict(holds, figures)


def _rows(run: Run, table: str) -> list[Row]:
    rows: list[Row] = run.tables[table].to_pylist()
    return rows


def _flow(run: Run) -> Row:
    flow: Row = run.summary["flows"][0]
    return flow


def _mobile(run: Run) -> list[Row]:
    return [row for row in _rows(run, "tcp") if row["host"] == "mobile"]


def _events(run: Run, event: str) -> list[Row]:
    return [row for row in _mobile(run) if row["event"] == event]


def _sent(run: Run) -> list[Row]:
    """Return the segments with data that the mobile host sent."""
    rows = _rows(run, "segments")
    return [row for row in rows if (row["host"], row["direction"]) == ("mobile", "sent") and row["len"] > 0]


def _resent(run: Run) -> list[Row]:
    return [row for row in _sent(run) if row["retransmission"]]


def _number(row: Row) -> int:
    return int(row["seq"]) // MSS + 1


def _outstanding(row: Row) -> int:
    return int(row["flight"]) // MSS


def _lost(run: Run) -> int:
    """Return how many packets the link lost or discarded."""
    return sum(row["fate"] not in ("delivered", "in_flight") for row in _rows(run, "packets"))


def _held(run: Run) -> Row:
    """Return the packet that was held for the given time."""
    return max(_rows(run, "packets"), key=lambda row: row["delay_ns"] or 0)


def _timeout(run: Run) -> Row:
    """Return the first timeout while the packet is held."""
    begun = _held(run)["transmitted_ns"]
    return next(row for row in _events(run, "timeout") if row["time_ns"] > begun)


def _chain(run: Run) -> list[Row]:
    """Return the timeouts once the packet that was held has arrived and its ACK may be back."""
    delivered = _held(run)["delivered_ns"]
    back = min(row["time_ns"] for row in _events(run, "ack") if row["time_ns"] > delivered)
    return [row for row in _events(run, "timeout") if row["time_ns"] > back]


def _gone_back(run: Run, timeout: Row | None = None) -> int:
    """Return how many of the segments that were outstanding at a timeout (the first) are sent again after it."""
    timeout = timeout or _timeout(run)
    outstanding = range(timeout["seq"], timeout["seq"] + timeout["flight"])
    again = [row for row in _resent(run) if row["time_ns"] >= timeout["time_ns"] and row["seq"] in outstanding]
    return len({row["seq"] for row in again})


def _around(run: Run, event: str) -> tuple[Row, Row]:
    """Return the rows before and at the first event of that name: the window before it and after."""
    rows = _mobile(run)
    place = next(place for place, row in enumerate(rows) if row["event"] == event)
    return rows[place - 1], rows[place]


def _longest_gap(run: Run, begun: int) -> tuple[float, float, int]:
    """Return the usual gap between new segments, the longest after a time, in seconds, and when that ends."""
    new = [row["time_ns"] for row in _sent(run) if not row["retransmission"]]
    gaps = [(after - before, after) for before, after in pairwise(new) if after > before]
    longest, until = max((gap, after) for gap, after in gaps if after - gap >= begun)
    return median(gap for gap, _ in gaps) / NS, longest / NS, until


def _new_on_partial_acks(run: Run) -> int:
    """Return how many new segments are sent along with a retransmission for a partial ACK."""
    partial = {row["time_ns"] for row in _resent(run) if row["cause"] == "partial_ack"}
    return sum(not row["retransmission"] and row["time_ns"] in partial for row in _sent(run))


def _duplicates_before(run: Run) -> list[int]:
    """Return the length of the row of duplicate ACKs that ends in each fast retransmit."""
    counts, row_length = [], 0
    for row in _mobile(run):
        if row["event"] == "fast_retransmit":
            # The duplicate that draws it is recorded after it.
            counts.append(row_length + 1)
        elif row["event"] == "duplicate_ack":
            row_length += 1
        elif row["event"] in ("ack", "recovered", "timeout"):
            row_length = 0
    return counts


def _overrun(run: Run) -> int:
    """Return the most bytes that were sent beyond the window offered by then."""
    rows = [row for row in _rows(run, "segments") if row["host"] == "mobile"]
    edge, most = 0, 0
    for row in rows:
        if row["direction"] == "received":
            edge = max(edge, row["ack"] + row["window"])
        elif row["len"] > 0:
            most = max(most, row["seq"] + row["len"] - edge)
    return most
