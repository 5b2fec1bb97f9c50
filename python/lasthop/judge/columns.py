"""The columns of a league's tables: heads, units, and how a measure is written."""

from __future__ import annotations

from typing import Final

from lasthop.judge.league import Measure

HEADS: Final = {
    "goodput": "goodput, share of the best",
    "goodput_bps": "goodput, Mbit/s",
    "delay_p50_s": "delay p50, ms",
    "delay_p95_s": "delay p95, ms",
    "loss": "sent again, %",
    "fairness": "fairness",
    "harm": "harm",
}
"""Column heads of the measures, with their units."""

SCALES: Final = {"goodput_bps": 1e-6, "delay_p50_s": 1e3, "delay_p95_s": 1e3, "loss": 100.0}
"""Factors from the measures, in units of the SI, to the units of `HEADS`; 1 where there is none."""


def shown(key: str, measure: Measure | None) -> str:
    """Return the median of a measure in the unit of `HEADS`; a dash where there is none."""
    return "–" if measure is None else f"{measure.median * SCALES.get(key, 1.0):.3g}"
