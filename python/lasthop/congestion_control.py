"""The congestion control of a captured sender, by the shape of its window.

The shape (`trace::shape`) is compared with those of lasthop's own runs of known congestion controls, which
`benches/controls.py` writes into `congestion_signatures.csv`: the probability of a control is a density at the distance
of its nearest run. CCAnalyzer (R. Ware, A. A. Philip, N. Hungria, Y. Kothari, J. Sherry, S. Seshan, "CCAnalyzer: an
efficient and nearly-passive congestion control classifier", SIGCOMM 2024) looks for nearest neighbours, too.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Texts = npt.NDArray[np.str_]

SIGNATURES: Final = Path(__file__).parent / "congestion_signatures.csv"
"""Features of runs of known congestion controls."""

UNKNOWN: Final = "unknown"
LEAST_PROBABILITY: Final = 0.5
"""Below this, no control is named."""
FARTHEST: Final = 0.85
"""Mean distance of the features above which a shape resembles no known one: of the learnt runs over each path, 95 of
100 are nearer to a run over another path (`benches/controls.py`). Beyond, one known control may be far more probable
than the others and still be wrong, because the sender may run none of them."""
NO_QUEUE: Final = 1.01
"""Longest round trip, as a multiple of the shortest, with which no packet waited in a queue. No learnt run without a
loss stays below."""
WIDTH: Final = 0.04
"""Distance over which the density of a control's nearest run falls to 1/e. Chosen by leaving the learnt runs of one
seed, and those of one path, out in turn: at 0.03 more shapes are named wrongly, at 0.06 more are unknown."""
MISSING: Final = 3.0
"""Distance in a feature that only one of two shapes has."""

FEATURES: Final = (
    "log_reductions",
    "decrease",
    "decrease_spread",
    "decrease_lower_quartile",
    "decrease_upper_quartile",
    "decrease_by_delay",
    "reached_quarter",
    "reached_half",
    "reached_three_quarters",
    "log_segments",
    "log_parts",
    "log_climb",
    "variation",
    "flat",
    "dips",
    "cycle",
    "log_delay",
    "log_longest_delay",
    "fill",
    "falls",
    "fall_depth",
    "deep_falls",
    "log_change_at_short_delay",
    "log_change_at_long_delay",
    "log_usual_change_at_short_delay",
    "log_usual_change_at_long_delay",
)
"""Names of the features, in their order."""


@dataclass(frozen=True)
class Guess:
    """The most probable congestion control, "unknown" if none stands out; `reason` says why in words."""

    control: str
    probability: float
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {"name": self.control, "probability": round(self.probability, 3), "reason": self.reason}


def features(shape: Mapping[str, Any]) -> list[float | None]:
    """Return the features of a shape in the order of `FEATURES`; None for those that it does not have."""
    growth, steady, steps = shape["growth"], shape["steady"], shape["steps"]
    reductions = _log((shape["reductions"] + 0.5) / shape["rounds"])
    growing: list[float | None] = [None] * 11
    if growth is not None:
        logs = (_log(growth[name]) for name in ("segments_per_round", "parts_per_round", "rounds"))
        decrease = [growth["decrease"], growth["decrease_spread"], *growth["decrease_quartiles"]]
        growing = [*decrease, growth["decrease_by_delay"], *growth["reached"], *logs]
    course = [steady["variation"], steady["flat"], steady["dips"], steady["cycle"]]
    delays = [_log(steady["delay"]), _log(steady["longest_delay"]), steady["fill"]]
    falls = [steps["falls"], steps["fall_depth"], steps["deep_falls"]]
    changes = (
        _signed_log(steps[f"{name}_{delay}_delay"]) for name in ("at", "usual_at") for delay in ("short", "long")
    )
    return [reductions, *growing, *course, *delays, *falls, *changes]


def of_sender(shape: Mapping[str, Any] | None, place: str) -> Guess:
    """Name the congestion control of a sender with this shape, in a capture at this place."""
    if shape is None:
        return Guess(UNKNOWN, 0.0, "too few round trips")
    if place == "receiver":
        return Guess(UNKNOWN, 0.0, "captured at the receiver, where the data in flight are not seen")
    return guess(shape)


def guess(shape: Mapping[str, Any]) -> Guess:
    """Name the congestion control with this shape."""
    if shape["receiver_limited"] > 0.5:
        return Guess(UNKNOWN, 0.0, "the peer's window was full most of the time")
    if shape["reductions"] == 0 and shape["steady"]["longest_delay"] < NO_QUEUE:
        return Guess(UNKNOWN, 0.0, "its window met neither a loss nor a queue: something else limited it")
    names, distances = _distances(features(shape))
    if distances.min() > FARTHEST:
        return Guess(UNKNOWN, 0.0, "its window resembles no known one")
    density = {name: math.exp(-float(distances[names == name].min()) / WIDTH) for name in sorted(set(names))}
    whole = sum(density.values())
    best = max(density, key=lambda name: density[name])
    probability = density[best] / whole
    if probability < LEAST_PROBABILITY:
        likely = sorted(density, key=lambda name: -density[name])[:2]
        return Guess(UNKNOWN, probability, f"its window resembles that of {' and '.join(likely)}")
    return Guess(best, probability, _words(shape))


def _words(shape: Mapping[str, Any]) -> str:
    """Describe the shape."""
    growth, steady = shape["growth"], shape["steady"]
    if growth is None:
        return f"no growth between two losses; the window varies by {100 * steady['variation']:.0f} %"
    return (
        f"a loss leaves {growth['decrease']:.2f} of the window, which then grows by"
        f" {growth['segments_per_round']:.2g} segments per round trip,"
        f" {100 * growth['reached'][1]:.0f} % of it in the first half of the time"
    )


def _distances(found: Sequence[float | None]) -> tuple[Texts, Floats]:
    """Return the controls of the known runs, and the distance of each from these features."""
    names, known, scales = _signatures()
    mine = np.array([math.nan if value is None else value for value in found])
    apart = np.abs(known - mine) / scales
    lacking = np.isnan(known) != np.isnan(mine)
    apart = np.where(lacking, MISSING, np.where(np.isnan(apart), 0.0, np.minimum(apart, MOST)))
    return names, apart.mean(axis=1)


MOST: Final = 6.0
"""Distance in one feature beyond which more makes no difference."""


@cache
def _signatures() -> tuple[Texts, Floats, Floats]:
    """Return controls, features, and the scale of each feature: the geometric mean of its deviation within the runs of
    a control over a path, and of its deviation in all."""
    with SIGNATURES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = np.array([row["control"] for row in rows])
    groups = np.array([f"{row['control']} {row['path']}" for row in rows])
    known = np.array([[float(row[name] or "nan") for name in FEATURES] for row in rows])
    within = np.concatenate([_deviations(known[groups == group]) for group in sorted(set(groups))])
    scales = [np.sqrt(np.nanmean(each**2, axis=0)) + LEAST_DEVIATION for each in (within, _deviations(known))]
    return names, known, np.sqrt(scales[0] * scales[1])


LEAST_DEVIATION: Final = 0.02
"""Smaller differences of a feature mean nothing."""


def _deviations(rows: Floats) -> Floats:
    """Return the distances of rows from their mean, NaN where a row or all of them lack the feature."""
    there = ~np.isnan(rows)
    counts = np.maximum(there.sum(axis=0), 1)
    return np.asarray(rows - np.where(there, rows, 0.0).sum(axis=0) / counts)


def _log(value: float) -> float:
    return math.log(max(value, 1e-3))


def _signed_log(value: float | None) -> float | None:
    """Return the logarithm of a change of either sign, which is nearly the change itself where that is small."""
    return None if value is None else math.copysign(math.log1p(abs(value)), value)
