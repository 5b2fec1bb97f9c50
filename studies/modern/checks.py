"""The claims about the course of a connection, judged from its records.

Times are seconds, windows bytes; the window of a claim is in segments of 1448 bytes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from lasthop.results.run import Run
from lasthop.study.claims import Evidence, Verdict

NS = 1e9
MSS = 1448
"""1500 bytes of the link less headers and timestamps."""
BETA = 0.7
STEEPNESS = 0.4
"""RFC 9438 §4.6 and §5: beta_cubic and C."""
NEAR = 0.01
SENDER = "s1"
SHORTEST_PROBE_S = 0.2
INTERVAL_S = (9.0, 13.0)
"""PROBE_RTT comes ten seconds after the last shortest round trip, and what it takes itself."""

Row = dict[str, Any]


def cubic_leaves_seven_tenths(evidence: Evidence) -> Verdict:
    """Claim 1: ssthresh after the loss, of cwnd before it."""
    rows, loss = _loss(evidence)
    before, left = rows[loss - 1]["cwnd"], rows[loss]["ssthresh"]
    kept = left / before
    figures = f"{before / MSS:.1f} segments, of which {left / MSS:.1f} are left: {kept:.3f}"
    return Verdict(abs(kept - BETA) <= NEAR * BETA, figures)


def cubic_follows_its_function(evidence: Evidence) -> Verdict:
    """Claim 2: the window half of K and K after congestion avoidance has begun again."""
    rows, loss = _loss(evidence)
    most = rows[loss - 1]["cwnd"] / MSS
    taken = most * (1 - BETA)
    k = (taken / STEEPNESS) ** (1 / 3)
    begins = next(row for row in rows[loss:] if row["phase"] == "congestion_avoidance")["time_ns"] / NS
    after = {part: _window_at(rows, begins + part * k) / MSS for part in (0.5, 1.0)}
    expected = {0.5: most - taken / 8, 1.0: most}
    figures = f"W_max {most:.1f} segments, K {k:.2f} s; "
    figures += ", ".join(f"after {part:g} K {after[part]:.1f} for {expected[part]:.1f}" for part in after)
    return Verdict(all(abs(after[part] - expected[part]) <= NEAR * expected[part] for part in after), figures)


def bbr_probes_the_round_trip(evidence: Evidence) -> Verdict:
    """Claim 23: the spans in which cwnd is four segments."""
    (run,) = evidence.runs.values()
    spans = _spans_at(_rows(run), 4 * MSS)
    lengths = [until - since for since, until in spans]
    gaps = [later[0] - earlier[0] for earlier, later in pairwise(spans)]
    figures = f"{len(spans)} times, {', '.join(f'{length:.2f}' for length in lengths)} s long, "
    figures += f"{', '.join(f'{gap:.1f}' for gap in gaps)} s apart"
    long_enough = all(length >= SHORTEST_PROBE_S for length in lengths)
    return Verdict(
        len(gaps) >= 3 and long_enough and all(INTERVAL_S[0] <= gap <= INTERVAL_S[1] for gap in gaps), figures
    )


def _loss(evidence: Evidence) -> tuple[list[Row], int]:
    (run,) = evidence.runs.values()
    rows = _rows(run)
    return rows, next(place for place, row in enumerate(rows) if row["event"] == "fast_retransmit")


def _rows(run: Run) -> list[Row]:
    """Return the records of the first sender, in order."""
    rows: list[Row] = run.tables["tcp"].to_pylist()
    return [row for row in rows if row["host"] == SENDER]


def _window_at(rows: list[Row], time: float) -> float:
    return float([row["cwnd"] for row in rows if row["time_ns"] / NS <= time][-1])


def _spans_at(rows: list[Row], window: int) -> list[tuple[float, float]]:
    spans: list[tuple[float, float]] = []
    since = None
    for row in rows:
        if row["cwnd"] <= window and since is None:
            since = row["time_ns"] / NS
        elif row["cwnd"] > window and since is not None:
            spans.append((since, row["time_ns"] / NS))
            since = None
    return spans
