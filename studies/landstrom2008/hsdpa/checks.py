"""Measures of Landström 2008, chapter 7, of one run: its cells and its users after the first 10 s."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

import numpy as np

from lasthop.results.run import Run
from lasthop.stats import jain_index

WINDOW = "steady"
LOSS_LIMIT = 0.01
"""Section 7.6: a call is satisfied that loses less than 1 % of its frames."""

Span = Mapping[str, Any]


def throughput_kbps(run: Run) -> float:
    """Figures 7.2 and 7.3."""
    return fmean(float(sector["bit_rate"]) for sector in _cell(run)["sectors"]) / 1e3


def offered_kbps(run: Run) -> float:
    """Figure 7.4: the offered load."""
    return fmean(float(sector["offered_bit_rate"]) for sector in _cell(run)["sectors"]) / 1e3


def slots_pct(run: Run) -> float:
    """The share of TTIs in which a cell sends."""
    return 100 * fmean(float(sector["slots"]) for sector in _cell(run)["sectors"])


def block_bits(run: Run) -> float:
    """Figure 7.5."""
    sizes = run.summary["cells"][0]["block_bits"]
    counts = np.sum([sector["blocks"] for sector in _cell(run)["sectors"]], axis=0)
    return float(np.dot(counts, sizes) / max(1, int(counts.sum())))


def voice_satisfied_pct(run: Run) -> float:
    """Figures 7.6 and 7.7."""
    losses = [float(flow["frame_loss"]) for flow in _flows(run, "voice") if flow["frame_loss"] is not None]
    return 100 * fmean(loss < LOSS_LIMIT for loss in losses)


def fairness(run: Run) -> float:
    """Return the similarity of the goodputs of web users."""
    return 100 * jain_index(_web_kbps(run))


def _web_kbps(run: Run) -> list[float]:
    return [float(flow["goodput_Bps"]) * 8 / 1e3 for flow in _flows(run, "web")]


def _flows(run: Run, kind: str) -> list[Span]:
    return [_steady(flow) for flow in run.summary["flows"] if flow["flow"].startswith(kind)]


def _cell(run: Run) -> Span:
    return _steady(run.summary["cells"][0])


def _steady(part: Span) -> Span:
    found: Span = next(window for window in part["windows"] if window["window"] == WINDOW)
    return found
