"""Measures of the study of ACKs that are quotients of a run's counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lasthop import Run

WINDOW = "late"
LINK = "radio"


def acks_per_100(run: Run) -> float:
    """Packets of the receivers for 100 packets that left the last hop: QUIC's ACKs are not counted by themselves."""
    links = {link["direction"]: _late(link) for link in run.summary["links"] if link["link"] == LINK}
    return 100 * float(links["up"]["packets_in"]) / max(float(links["down"]["packets_out"]), 1.0)


def share_pct(run: Run) -> float:
    """Share of the first flow in the goodput of the two, in percent."""
    first, second = (float(_late(flow)["goodput_Bps"]) for flow in run.summary["flows"])
    return 100 * first / (first + second)


def _late(part: Mapping[str, Any]) -> Mapping[str, Any]:
    return next(window for window in part["windows"] if window["window"] == WINDOW)
