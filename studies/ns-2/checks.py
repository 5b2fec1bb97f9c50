"""ns-2 asked for each case of the study, and the claims about how well it and lasthop agree."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from lasthop.errors import OracleError
from lasthop.study import Case, Evidence, Verdict

AGENTS = {
    "ns-2-tahoe": "Tahoe",
    "ns-2-reno": "Reno",
    "ns-2-newreno": "Newreno",
    "ns-2-sack1": "Sack1",
    "ns-2-fack": "Fack",
    "ns-2-vegas": "Vegas",
}
"""The class of ns-2 (`Agent/TCP/…`) that each profile is made after."""

HEADERS = 40
"""Bytes of IP and TCP headers (`tcpip_base_hdr_size_`)."""

OURS_BEFORE_DATA = 2
"""Packets before the first data: our SYN and the ACK of its answer. ns-2 has the SYN alone, and counts it as 0."""

PATIENCE_S = 60.0
"""Time limit of one run of ns-2, which takes a tenth of a second."""

WITHIN = 0.05
SHARE = 0.95
SHARE_OF_COUNTS = 0.75

UNITS = {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "s": 1, "ms": 1e-3, "bytes": 1, "kB": 1e3, "KiB": 1024}
"""Units that resolved scenarios of this study have, and `packets` and `segments`, which are numbers."""


def ns_2(case: Case) -> dict[str, float]:
    """Run the case in ns-2. Raises OracleError where ns-2 ends without a result."""
    command = ["ns", str(Path(__file__).with_name("transfer.tcl")), *arguments(json.loads(case.variant().scenario))]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        raise OracleError(f"ns-2 took more than {PATIENCE_S:.0f} s for case {case.id}") from None
    lines = [line.split() for line in finished.stdout.splitlines()]
    done = [line[1:] for line in lines if line[:1] == ["done"]]
    if not done:
        said = (finished.stderr or finished.stdout).strip()[-500:]
        raise OracleError(f"ns-2 ended with status {finished.returncode} and no result for case {case.id}: {said}")
    elapsed_s, retransmissions, counted = map(float, done[-1])
    backoffs = [int(line[-1]) for line in lines if "backoff_" in line]
    doubled = sum(later > earlier for earlier, later in pairwise(backoffs))
    # Fack does not count its timeouts; Vegas backs its timer off at fast retransmits too.
    fack = case.values["tcp"] == "fack"
    return {"elapsed_s": elapsed_s, "retransmissions": retransmissions, "timeouts": doubled if fack else counted}


def arguments(scenario: Mapping[str, Any]) -> list[str]:
    """Return the arguments of transfer.tcl for a resolved scenario: keys and values in turn."""
    sender, sink = scenario["hosts"]
    (link,) = scenario["links"]
    tcp, down = sender["tcp"], link["down"]
    size = int(_number(link["mtu"])) - HEADERS
    named = {
        "agent": AGENTS[sender["profile"]],
        "rate": _number(down["rate"]),
        "back_rate": _number(link["up"]["rate"]),
        "delay": _number(down["propagation"]),
        "queue": int(_number(down["queue"]["limit"])),
        "size": size,
        "segments": int(_number(scenario["flows"][0]["bytes"])) // size,
        "window": int(_number(_parameters(sink["tcp"]["window"])["size"])) // size,
        "set": " ".join(_variables(tcp)),
        **_errors(down.get("errors")),
    }
    return [str(word) for pair in named.items() for word in pair]


def elapsed_times_agree(evidence: Evidence) -> Verdict:
    """Judge whether enough transfers take as long as in ns-2; the evidence names the others."""
    rows = [row for row in evidence.rows if row["metric"] == "elapsed_s"]
    off = [row for row in rows if row["ratio"] is None or abs(row["ratio"] - 1) > WITHIN]
    others = "; ".join(
        f"{_name(row)} {'unfinished' if row['ratio'] is None else format(row['ratio'], '.2f')}" for row in off
    )
    agreeing = f"{len(rows) - len(off)} of {len(rows)} within {WITHIN:.0%} ({_by_tcp(rows, off)})"
    return Verdict(len(rows) - len(off) >= SHARE * len(rows), f"{agreeing}; others: {others}" if others else agreeing)


def elapsed_times_of_five_agree(evidence: Evidence) -> Verdict:
    """Judge as `elapsed_times_agree` does, without Vegas."""
    rows = [row for row in evidence.rows if row["tcp"] != "vegas"]
    return elapsed_times_agree(replace(evidence, rows=rows))


def counts_agree(evidence: Evidence) -> Verdict:
    """Judge whether enough transfers have the same retransmissions and timeouts as in ns-2."""
    cells: dict[str, list[bool]] = {}
    for row in evidence.rows:
        if row["metric"] != "elapsed_s":
            cells.setdefault(f"{row['tcp']} {_name(row)}", []).append(row["measured"] == row["published"])
    same = sum(all(pair) for pair in cells.values())
    return Verdict(same >= SHARE_OF_COUNTS * len(cells), f"{same} of {len(cells)}")


def _variables(tcp: Mapping[str, Any]) -> Iterable[str]:
    """Yield names and values of Agent/TCP's variables that the study sets; others are as ns-2 has them."""
    rto = _parameters(tcp["rto"])
    yield f"tcpTick_ {_number(rto['tick'])} minrto_ {_number(rto['min'])} maxrto_ {_number(rto['max'])}"
    yield f"rtxcur_init_ {_number(rto['initial'])}"


def _parameters(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of a choice, which is a table of one key: the name of what is chosen."""
    (parameters,) = choice.values()
    return cast("Mapping[str, Any]", parameters)


def _errors(errors: Mapping[str, Any] | None) -> dict[str, object]:
    if errors is None:
        return {}
    periodic = errors["model"]["periodic"]
    first, every, burst = periodic["first"] - OURS_BEFORE_DATA, periodic["every"], periodic.get("burst", 1)
    numbers = " ".join(str(begin + more) for begin in range(first, LAST_ERROR, every) for more in range(burst))
    if errors["effect"] == "drop":
        return {"drop": numbers}
    return {"late": numbers, "late_by": _number(errors["delay"])}


LAST_ERROR = 5000
"""End of the script of errors: beyond the last packet of any transfer here."""


def _number(quantity: str) -> float:
    """Return a quantity of a resolved scenario in bit/s, seconds, bytes, or as a bare number of packets or segments."""
    number, unit = quantity.split()
    return float(number) * (1 if unit in {"packets", "segments"} else UNITS[unit])


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['tcp']} {row['path']} {row['errors']} {row['timer']}"


def _by_tcp(rows: Sequence[Mapping[str, Any]], off: Sequence[Mapping[str, Any]]) -> str:
    names = dict.fromkeys(row["tcp"] for row in rows)
    counts = {name: sum(row["tcp"] == name for row in rows) for name in names}
    missed = {name: sum(row["tcp"] == name for row in off) for name in names}
    return ", ".join(f"{name} {counts[name] - missed[name]}/{counts[name]}" for name in names)
