"""Searches in the unit cube: at random, and by CMA-ES (Hansen 2016, The CMA evolution strategy: a tutorial)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, get_args

import numpy as np

from lasthop.errors import InputError
from lasthop.extras import remedy_of

Method = Literal["both", "random", "cma"]

METHODS: Final[tuple[Method, ...]] = get_args(Method)

Score = Callable[[Sequence[Sequence[float]]], list[float]]
"""Returns the score of each point; a search looks for the largest."""

AT_ONCE: Final = 16
"""Points of the random search that are tried in one call."""

FIRST_STEP: Final = 0.25
"""First standard deviation of CMA-ES, a quarter of each gene's range (Hansen 2016, appendix A)."""

SHARE_AT_RANDOM: Final = 1 / 3
"""Share of the trials that `both` makes at random. CMA-ES starts at the best of them."""


def search(score: Score, dimensions: int, trials: int, seed: int, method: Method) -> None:
    """Call `score` with `trials` points in all.

    `both` searches at random first, and then by CMA-ES from the best point. CMA-ES that has converged starts again at a
    random point with twice the population (Auger and Hansen 2005, A restart CMA evolution strategy with increasing
    population size). Raises InputError where the package cmaes is missing.
    """
    random = np.random.default_rng(seed)
    at_random = number_at_random(trials, method)
    best = _at_random(score, dimensions, at_random, random)
    _by_cma(score, best if best is not None else np.full(dimensions, 0.5), trials - at_random, random)


def number_at_random(trials: int, method: Method) -> int:
    """Return how many of the trials are made at random; they are the first."""
    return {"random": trials, "cma": 0, "both": round(trials * SHARE_AT_RANDOM)}[method]


def _at_random(score: Score, dimensions: int, trials: int, random: np.random.Generator) -> Any:
    """Return the best of random points; None without any."""
    best, best_score = None, -np.inf
    for start in range(0, trials, AT_ONCE):
        points = random.random((min(AT_ONCE, trials - start), dimensions))
        for point, found in zip(points, score(points.tolist()), strict=True):
            if found > best_score:
                best, best_score = point, found
    return best


def _by_cma(score: Score, start: Any, trials: int, random: np.random.Generator) -> None:
    population = None
    while trials > 0:
        optimizer = _optimizer(start, population, int(random.integers(2**31)))
        population = 2 * optimizer.population_size
        while trials > 0 and not optimizer.should_stop():
            points = [optimizer.ask() for _ in range(optimizer.population_size)]
            # The last generation is whole: CMA-ES learns from a whole one only.
            scores = score([point.tolist() for point in points])
            optimizer.tell([(point, -found) for point, found in zip(points, scores, strict=True)])
            trials -= len(points)
        start = random.random(len(start))


def _optimizer(start: Any, population: int | None, seed: int) -> Any:
    try:
        from cmaes import CMA
    except ImportError:
        help = f"{remedy_of('stress')}; or search at random: --search random"
        raise InputError("the search by CMA-ES needs the package cmaes", key="--search", help=help) from None
    bounds = np.tile([0.0, 1.0], (len(start), 1))
    return CMA(start, FIRST_STEP, bounds=bounds, population_size=population, seed=seed)
