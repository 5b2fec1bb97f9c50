"""A rule that says when an entry does badly: a small decision tree over the trials of a search.

The tree is that of Breiman et al., Classification and regression trees (1984): each split is the threshold of one
feature with the least Gini impurity.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from lasthop.judge.stress.genome import PACKET, Genome
from lasthop.judge.stress.trials import Trial

DEPTH: Final = 3
"""Most conditions of a rule."""

LEAST_IN_LEAF: Final = 5
"""Least number of trials on each side of a split."""

FEATURES: Final[Mapping[str, Callable[[Genome], float]]] = {
    "least rate, Mbit/s": lambda genome: min(step.rate_bps for step in genome.steps) / 1e6,
    "greatest rate, Mbit/s": lambda genome: max(step.rate_bps for step in genome.steps) / 1e6,
    "largest fall of the rate, times": lambda genome: _largest_ratio([step.rate_bps for step in genome.steps]),
    "largest rise of the rate, times": lambda genome: _largest_ratio([step.rate_bps for step in genome.steps][::-1]),
    "least delay, ms": lambda genome: 1e3 * min(step.delay_s for step in genome.steps),
    "greatest delay, ms": lambda genome: 1e3 * max(step.delay_s for step in genome.steps),
    "largest rise of the delay, times": lambda genome: _largest_ratio([step.delay_s for step in genome.steps][::-1]),
    "queue, packets": lambda genome: genome.queue_bytes / PACKET,
    "queue at the least rate, ms": lambda genome: (
        8e3 * genome.queue_bytes / min(step.rate_bps for step in genome.steps)
    ),
    "random loss, %": lambda genome: 100 * genome.loss,
    "most cross traffic, % of the rate": lambda genome: 100 * max(step.cross for step in genome.steps),
}
"""What a rule may speak of."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A feature below a threshold, or not below it."""

    feature: str
    below: bool
    threshold: float

    def __str__(self) -> str:
        """Return the condition as text."""
        return f"{self.feature} {'<' if self.below else '≥'} {self.threshold:.3g}"


@dataclass(frozen=True, slots=True)
class Rule:
    """When an entry does badly: all conditions hold.

    Trials are counted as the search made them, which is no fair sample of paths.
    """

    score: float
    """The score from which a trial is bad; 1 where no trial has one above 0."""
    conditions: tuple[Condition, ...]
    bad: int
    """Number of bad trials for which the rule holds."""
    held: int
    """Number of trials for which the rule holds."""
    all_bad: int
    """Number of bad trials in all."""

    def __str__(self) -> str:
        """Return the rule as a sentence."""
        if not self.all_bad:
            return "No trial has a score above 0, so that there is no rule."
        when = " and ".join(str(condition) for condition in self.conditions) or "always"
        return (
            f"The score is {self.score:.2f} or more when {when}: in {self.bad} of the {self.held} trials for which "
            f"that holds; {self.all_bad - self.bad} other trials reach it too."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the rule as a JSON object."""
        return {**asdict(self), "text": str(self)}


def rule_of(trials: Sequence[Trial], score: float) -> Rule:
    """Return the leaf of the decision tree with the most bad trials; those with `score` or more are bad."""
    table = np.array([[feature(trial.genome) for feature in FEATURES.values()] for trial in trials])
    bad = np.array([trial.score >= score for trial in trials])
    conditions: list[Condition] = []
    inside = np.ones(len(trials), dtype=bool)
    while len(conditions) < DEPTH and (split := _best_split(table[inside], bad[inside])) is not None:
        column, threshold, below = split
        conditions.append(Condition(list(FEATURES)[column], below, threshold))
        inside &= (table[:, column] < threshold) == below
    return Rule(score, _joined(conditions), int(bad[inside].sum()), int(inside.sum()), int(bad.sum()))


def _joined(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """Return the conditions without those that a later one on the same side of the same feature implies."""
    return tuple({(each.feature, each.below): each for each in conditions}.values())


def _best_split(table: Any, bad: Any) -> tuple[int, float, bool] | None:
    """Return column, threshold, and whether most bad trials lie below; None where no split lessens the impurity."""
    best, least = None, _impurity(bad) - 1e-9
    for column in range(table.shape[1]):
        values = np.unique(table[:, column])
        for threshold in (values[1:] + values[:-1]) / 2:
            low = table[:, column] < threshold
            if min(low.sum(), (~low).sum()) < LEAST_IN_LEAF:
                continue
            impurity = _impurity(bad[low]) + _impurity(bad[~low])
            if impurity < least:
                below = bool(bad[low].mean() > bad[~low].mean())
                best, least = (column, float(threshold), below), impurity
    return best


def _impurity(bad: Any) -> float:
    """Return Gini's impurity times the number of trials."""
    share = bad.mean() if len(bad) else 0.0
    return float(2 * share * (1 - share) * len(bad))


def _largest_ratio(values: Sequence[float]) -> float:
    """Return the largest ratio of a value to the one after it, 1 at least."""
    return max([1.0, *(before / after for before, after in itertools.pairwise(values))])
