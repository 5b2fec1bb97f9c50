"""Rounds of a slow start, and the claims of Cheskis 2006 that are about the course of a transfer.

A round is a round trip of 2 s: what the server sends around 0, 2, 4, … s, and what the client answers around 1, 3, … s.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from lasthop.results.run import Run
from lasthop.study.claims import Evidence, Verdict

ROUND_NS = 2_000_000_000
"""Section 3.1: 1 s added each way."""
NS = 1e9
NEXT_TO_NOTHING = 0.01
"""Upper bound of "next to nothing" and "no acceleration", as a share of the time."""

Row = dict[str, Any]


def server_round_1(run: Run) -> int:
    """Return how many packets of the server that carry something there were in the first round: its SYN."""
    return _server(run, 1)


def server_round_2(run: Run) -> int:
    """Return those of the second round."""
    return _server(run, 2)


def server_round_3(run: Run) -> int:
    """Return those of the third round."""
    return _server(run, 3)


def server_round_4(run: Run) -> int:
    """Return those of the fourth round."""
    return _server(run, 4)


def client_round_1(run: Run) -> int:
    """Return how many packets of the client that acknowledge something there were in the first round: its SYN-ACK."""
    return _client(run, 1)


def client_round_2(run: Run) -> int:
    """Return those of the second round."""
    return _client(run, 2)


def client_round_3(run: Run) -> int:
    """Return those of the third round."""
    return _client(run, 3)


def rounds_multiply(evidence: Evidence) -> Verdict:
    """Claim 1: each round has as many packets as the one before has packets and draws ACKs."""
    figures, holds = [], True
    for client, run in evidence.by("client").items():
        rounds = [_server(run, number) for number in (2, 3, 4)]
        holds &= all(after == before * (1 + _parts(client)) for before, after in pairwise(rounds))
        figures.append(f"{client}: {', '.join(map(str, rounds))}")
    return Verdict(holds, "packets a round: " + "; ".join(figures))


def more_parts_are_faster(evidence: Evidence) -> Verdict:
    """Claim 3: the more ACKs for a segment, the sooner the transfer is over."""
    times = {client: _elapsed(run) for client, run in evidence.by("client").items()}
    return Verdict(all(after < before for before, after in pairwise(times.values())), _listed(times))


def growth_is_capped(evidence: Evidence) -> Verdict:
    """Claim 4: the third round with data is smaller than two full rounds would make it, but not for two ACKs."""
    figures, capped = [], {}
    for client, run in evidence.by("client").items():
        before, after = _server(run, 3), _server(run, 4)
        full = before * (1 + _parts(client))
        capped[client] = after < full
        figures.append(f"{client}: {after} of {full}")
    holds = not capped["taba2"] and all(capped[client] for client in ("taba3", "taba4", "taba5"))
    return Verdict(holds, "packets in the third round with data: " + "; ".join(figures))


def nothing_once_the_window_is_full(evidence: Evidence) -> Verdict:
    """Claim 5: without loss, once the peer's window is full, division makes no packet faster: the last 2 MB."""
    times = {client: _time_of_the_last(run, 2_000_000) for client, run in evidence.by("client").items()}
    slowest, fastest = max(times.values()), min(times.values())
    return Verdict(slowest < (1 + NEXT_TO_NOTHING) * fastest, "the last 2 MB: " + _listed(times))


def linux_is_not_accelerated(evidence: Evidence) -> Verdict:
    """Claim 6: four ACKs for a segment make FreeBSD and Windows XP faster, and Linux not."""
    times: dict[str, dict[str, float]] = {}
    for case, run in evidence.runs.items():
        values = evidence.cases[case].values
        times.setdefault(values["server"], {})[values["client"]] = _elapsed(run)
    gains = {server: two["newreno"] / two["taba4"] - 1 for server, two in times.items()}
    others = all(gain > NEXT_TO_NOTHING for server, gain in gains.items() if server != "linux-2.6.5")
    holds = abs(gains["linux-2.6.5"]) < NEXT_TO_NOTHING and others
    return Verdict(holds, "gains: " + "; ".join(f"{server} {gain:+.1%}" for server, gain in gains.items()))


def bursts_end_sooner(evidence: Evidence) -> Verdict:
    """Claim 14: under bursts of loss the client that divides has finished first."""
    times = {client: _elapsed(run) for client, run in evidence.by("client").items()}
    return Verdict(times["taba2"] < times["newreno"], _listed(times))


def bluetooth_is_not_judged(_evidence: Evidence) -> Verdict:
    """Claims 15 and 16: of the radio link only its throughputs are known."""
    return Verdict(None, "the link's rate, round trip, losses and ARQ at each distance are not in the document")


def fairness_is_not_judged(_evidence: Evidence) -> Verdict:
    """Claim 18: the document measures no fairness, and names no measure."""
    return Verdict(None, "the document measures no fairness, and does not say what would be adequate")


def _server(run: Run, number: int) -> int:
    """Return how many packets the server sent in a round that take up sequence numbers."""
    sent = [row for row in _sent(run, "server") if row["len"] > 0 or "S" in row["flags"] or "F" in row["flags"]]
    return sum(round(row["time_ns"] / ROUND_NS) + 1 == number for row in sent)


def _client(run: Run, number: int) -> int:
    """Return how many packets with an acknowledgment the client sent in a round."""
    sent = [row for row in _sent(run, "client") if "." in row["flags"]]
    return sum(int(row["time_ns"] // ROUND_NS) + 1 == number for row in sent)


def _sent(run: Run, host: str) -> list[Row]:
    rows: list[Row] = run.tables["segments"].to_pylist()
    return [row for row in rows if row["host"] == host and row["direction"] == "sent"]


def _parts(client: str) -> int:
    return 1 if client == "newreno" else int(client.removeprefix("taba"))


def _elapsed(run: Run) -> float:
    return float(run.summary["flows"][0]["elapsed_s"])


def _time_of_the_last(run: Run, size: int) -> float:
    """Return the time in which the last bytes, of a given number, reached the client."""
    rows: list[Row] = run.tables["segments"].to_pylist()
    came = [row for row in rows if row["host"] == "client" and row["direction"] == "received" and row["len"] > 0]
    end = max(row["seq"] + row["len"] for row in came)
    first = min(row["time_ns"] for row in came if row["seq"] >= end - size)
    return float(max(row["time_ns"] for row in came) - first) / NS


def _listed(times: dict[Any, float]) -> str:
    return "; ".join(f"{name} {time:.2f} s" for name, time in times.items())
