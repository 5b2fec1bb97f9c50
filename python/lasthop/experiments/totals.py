"""Totals over the flows of a run: their throughput over one period, and its fairness among competing flows.

Flows compete if they send as much as they can (a bulk transfer; a call does not) and share a link or a cell.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lasthop.stats import jain_index

STEADY: Final = "steady"
"""The measurement window after a warm-up."""

PREFIXES: Final = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}

Flow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rivals:
    """The bulk flows that share a link or a cell, and its name; of several places that with most flows."""

    flows: tuple[str, ...] = ()
    place: str = ""


NO_RIVALS: Final = Rivals()


@dataclass(frozen=True, slots=True)
class Period:
    """The time that a total is of, in seconds; the words name it."""

    begin: float
    end: float
    words: str


def period_of(summary: Mapping[str, Any]) -> Period:
    """Return the period of a run's totals: the window after the warm-up, or the whole run.

    Of a single flow it is the time from its first SYN to its last ACK.
    """
    flows = summary["flows"]
    window = _steady(flows[0]) if flows else None
    if window is not None:
        return Period(window["from_s"], window["to_s"], f"from {window['from_s']:g} s to {window['to_s']:g} s")
    if len(flows) == 1 and flows[0]["elapsed_s"] is not None:
        return Period(0.0, flows[0]["elapsed_s"], "from the first SYN to the last ACK")
    return Period(0.0, summary["stopped_s"], "over the whole run")


def throughput(summary: Mapping[str, Any]) -> float | None:
    """Return the bytes that all flows received in the period, per second; None if none sent."""
    flows, period = summary["flows"], period_of(summary)
    if all(flow["throughput_Bps"] is None for flow in flows):
        return None
    if len(flows) == 1 and _steady(flows[0]) is None:
        return float(flows[0]["throughput_Bps"])
    received = sum(float((_steady(flow) or flow)["received"]) for flow in flows)
    length = period.end - period.begin
    return received / length if length > 0 else None


def fairness(summary: Mapping[str, Any], rivals: Rivals) -> float | None:
    """Return Jain's index of the rivals' throughputs, after the warm-up or else each over its own time."""
    of_rivals = [flow for flow in summary["flows"] if flow["flow"] in rivals.flows]
    rates = [(_steady(flow) or {}).get("goodput_Bps", flow["throughput_Bps"]) for flow in of_rivals]
    known = [float(rate) for rate in rates if rate is not None]
    return jain_index(known) if len(known) > 1 else None


def rivals_of(specification: Mapping[str, Any]) -> Rivals:
    """Return the flows of a resolved scenario that compete."""
    bulk = [flow for flow in specification.get("flows", ()) if "workload" not in flow]
    sharing: dict[str, list[str]] = defaultdict(list)
    for flow in bulk:
        for place in _places(specification, str(flow["from"]), str(flow["to"])):
            sharing[place].append(str(flow["name"]))
    place = max(sharing, key=lambda name: (len(sharing[name]), -_rate(specification, name)), default="")
    return Rivals(tuple(sharing[place]), place) if len(sharing.get(place, ())) > 1 else Rivals()


def _rate(specification: Mapping[str, Any], place: str) -> float:
    """Return the rate of a direction of a link in bits per second; 0 of a cell, or where the rate changes."""
    name, _, way = place.rpartition(".")
    links: dict[str, Mapping[str, Any]] = {link["name"]: link for link in specification["links"]}
    words = re.fullmatch(r"([\d.]+) (\w*)bit/s", str(links.get(name, {}).get(way, {}).get("rate", "")))
    return float(words[1]) * PREFIXES[words[2]] if words and words[2] in PREFIXES else 0.0


def _steady(flow: Flow) -> Mapping[str, Any] | None:
    return next((window for window in flow.get("windows", ()) if window["window"] == STEADY), None)


def _places(specification: Mapping[str, Any], source: str, target: str) -> Iterator[str]:
    """Yield the directions of links, or the cells, that a flow's data cross: the fewest hops, as the engine routes."""
    users = {
        str(user["link"]): str(cell["name"])
        for cell in specification.get("cells", ())
        for user in cell.get("users", ())
    }
    for link, way in _route(specification, source, target):
        yield users[link] if way == "down" and link in users else f"{link}.{way}"


def _route(specification: Mapping[str, Any], source: str, target: str) -> Sequence[tuple[str, str]]:
    routers = set(specification.get("routers", ()))
    reached: dict[str, list[tuple[str, str]]] = {source: []}
    waiting = deque([source])
    while waiting:
        node = waiting.popleft()
        if node != source and node not in routers:
            continue
        for link in specification.get("links", ()):
            first, second = link["between"]
            for here, there, way in ((first, second, "down"), (second, first, "up")):
                if here == node and there not in reached:
                    reached[there] = [*reached[node], (str(link["name"]), way)]
                    waiting.append(there)
    return reached.get(target, [])
