"""Measures of ROHC on the channel, of one run: its users after the first seconds, and their links' counters."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from lasthop.results.run import Run

WINDOW = "steady"
LOSS_LIMIT = 0.01
"""Landström 2008, section 7.6: a call is satisfied that loses less than 1 % of its frames."""

Part = Mapping[str, Any]


def voice_satisfied_pct(run: Run) -> float:
    """Satisfied calls."""
    spans = [_steady(flow) for flow in run.summary["flows"] if flow["flow"].startswith("voice")]
    losses = [float(span["frame_loss"]) for span in spans if span["frame_loss"] is not None]
    return 100 * fmean(loss < LOSS_LIMIT for loss in losses)


def slots_pct(run: Run) -> float:
    """The share of TTIs in which a cell sends."""
    return 100 * fmean(float(sector["slots"]) for sector in _steady(run.summary["cells"][0])["sectors"])


def voice_packet(run: Run) -> float:
    """A frame on the channel."""
    return _mean_packet(run, "voice-radio")


def web_packet(run: Run) -> float:
    """A packet of a web user on the channel."""
    return _mean_packet(run, "web-radio")


def discarded(run: Run) -> float:
    """Packets that decompressors discarded."""
    return float(sum((link.get("wire") or {}).get("decompressor_drops", 0) for link in _down(run, "")))


def _mean_packet(run: Run, name: str) -> float:
    """The mean of all packets that were compressed; where none was, of those that got through."""
    links = _down(run, name)
    wires = [link["wire"] for link in links if link.get("wire")]
    if wires:
        packets = sum(wire["compressed"] + wire["refreshes"] + wire["plain"] for wire in wires)
        return float(sum(wire["wire_bytes"] for wire in wires) / packets)
    return float(sum(link["bytes_out"] for link in links) / sum(link["packets_out"] for link in links))


def _down(run: Run, name: str) -> list[Part]:
    return [link for link in run.summary["links"] if link["direction"] == "down" and link["link"].startswith(name)]


def _steady(part: Part) -> Part:
    found: Part = next(window for window in part["windows"] if window["window"] == WINDOW)
    return found
