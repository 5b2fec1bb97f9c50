"""A whole search: trials, the worst of them under other seeds, simplified, and the rule that says when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from lasthop.errors import InputError
from lasthop.judge.batch import Tick
from lasthop.judge.entries import Entry
from lasthop.judge.league import Measure
from lasthop.judge.stress.genome import STEPS, Genome, dimensions, genome_of
from lasthop.judge.stress.goals import GOALS, MEANINGS, NEIGHBOUR, Goal
from lasthop.judge.stress.rule import Rule, rule_of
from lasthop.judge.stress.search import METHODS, Method, number_at_random, search
from lasthop.judge.stress.simplify import simplify
from lasthop.judge.stress.trials import Bench, Trial

FORMAT: Final = "lasthop stress 1"

FINALISTS: Final = 5
"""Number of the best trials that are run again: the best of many is partly luck."""

FINAL_SEEDS: Final = range(101, 107)
"""Seeds of the final runs, none of the search: the median of six has an interval at 95 %."""

BAD: Final = 0.5
"""Share of the worst trial's score from which a trial counts as bad in the rule."""


@dataclass(frozen=True)
class Stress:
    """What a search has found."""

    entry: Entry
    against: Entry | None
    goal: Goal
    seed: int
    method: Method
    trials: tuple[Trial, ...]
    """The trials of the search, in order, under one seed."""
    by_method: dict[str, float]
    """The best score of the random trials, and of those of CMA-ES, in the search."""
    worst: Trial
    """The worst path under the final seeds."""
    simplest: Trial
    """The same without what does not matter."""
    rule: Rule
    runs: int
    """Number of runs in all."""

    @property
    def reference(self) -> str:
        """What the entry is held against, in words."""
        if self.against is not None:
            return self.against.name
        return NEIGHBOUR.name if self.goal == "harm" else "the best that the path allows"

    @property
    def score(self) -> Measure:
        """The score of the simplest path: median and 95 % interval over the final seeds."""
        return Measure.of(self.simplest.scores)

    def to_json(self) -> dict[str, Any]:
        """Return everything but the trials as a JSON object."""
        measure = self.score
        return {
            "format": FORMAT,
            "entry": self.entry.to_json(),
            "against": None if self.against is None else self.against.to_json(),
            "goal": self.goal,
            "meaning": MEANINGS[self.goal],
            "seed": self.seed,
            "search": self.method,
            "runs": self.runs,
            "trials": len(self.trials),
            "best": self.by_method,
            "worst": {"score": self.worst.score, "path": self.worst.genome.to_json()},
            "simplest": {
                "score": measure.median,
                "low": measure.low,
                "high": measure.high,
                "seeds": measure.n,
                "path": self.simplest.genome.to_json(),
            },
            "rule": self.rule.to_json(),
        }


def hunt(
    entry: Entry,
    *,
    goal: Goal = "goodput",
    against: Entry | None = None,
    steps: int = 3,
    runs: int = 300,
    seed: int = 1,
    method: Method = "both",
    tick: Tick | None = None,
) -> Stress:
    """Search for the path on which `entry` does worst at `goal`, with about `runs` runs, and simplify it.

    `against` is the reference; without it, the best that the path allows (`harm`: CUBIC). `steps` is the number of
    steps of a path, and `seed` that of the search and of its runs. The runs that choose and simplify the worst path
    come on top. Raises InputError for an argument out of range, and for a mistake of a class of Python.
    """
    _check(goal, steps, runs, method)
    bench = Bench(entry, goal, against, tick)
    trials: list[Trial] = []

    def scores(points: Sequence[Sequence[float]]) -> list[float]:
        found = bench.try_all([genome_of(point) for point in points], [seed])
        trials.extend(found)
        return [trial.score for trial in found]

    by_method = {}
    wanted = max(runs // bench.runs_for_one, 1)
    search(scores, dimensions(steps), wanted, seed, method)
    at_random = number_at_random(wanted, method)
    for name, part in (("random", trials[:at_random]), ("cma", trials[at_random:])):
        if part:
            by_method[name] = max(trial.score for trial in part)
    worst = _worst(bench, trials)
    simplest = simplify(bench, worst, FINAL_SEEDS) if worst.score > 0 else worst
    rule = rule_of(trials, BAD * worst.score if worst.score > 0 else 1.0)
    return Stress(entry, against, goal, seed, method, tuple(trials), by_method, worst, simplest, rule, bench.runs)


def _worst(bench: Bench, trials: Sequence[Trial]) -> Trial:
    """Return the worst of the finalists under the final seeds, which the search has not seen."""
    genomes: list[Genome] = []
    for trial in sorted(trials, key=lambda trial: -trial.score):
        if trial.genome not in genomes and len(genomes) < FINALISTS:
            genomes.append(trial.genome)
    return max(bench.try_all(genomes, FINAL_SEEDS), key=lambda trial: trial.score)


def _check(goal: str, steps: int, runs: int, method: str) -> None:
    for key, value, known in (("goal", goal, GOALS), ("search", method, METHODS)):
        if value not in known:
            raise InputError(f"{value!r} is no {key}", key=key, help=f"one of {', '.join(known)}")
    if not STEPS[0] <= steps <= STEPS[1]:
        raise InputError(f"{steps} steps", key="steps", help=f"give {STEPS[0]} to {STEPS[1]}")
    if runs < 1:
        raise InputError(f"{runs} runs", key="runs", help="give 1 at least")
