"""Runs of scenarios under several seeds in one call to the engine, when the first that fails ends them all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lasthop import _native
from lasthop.errors import RunError
from lasthop.parallel import processors
from lasthop.scenario import RECORD_NOTHING, Scenario

Tick = Callable[[int], None]
"""Called with the number of runs that have ended."""

Summaries = Sequence[Sequence[Mapping[str, Any]]]
"""The summaries of runs: for each scenario, in the order of the seeds."""


def summaries_of(scenarios: Sequence[Scenario], seeds: Sequence[int], tick: Tick | None = None) -> Summaries:
    """Run every scenario under every seed, and return the summaries.

    Raises InputError for a mistake of a program, and RunError, with the scenario and the seed, for a run that
    fails.
    """
    wanted = [(number, seed) for number in range(len(scenarios)) for seed in seeds]
    found: dict[int, Mapping[str, Any]] = {}

    def finished(ended: Sequence[tuple[int, _native.Run | Exception | None]]) -> list[int]:
        for place, result in ended:
            if isinstance(result, RunError):
                number, seed = wanted[place]
                raise RunError(f"{scenarios[number].name}, seed {seed}: {result}") from result
            if isinstance(result, Exception):
                raise result
            if result is not None:
                found[place] = json.loads(result.summary_json)
        if tick is not None:
            tick(len(found))
        return []

    _native.run_batch([(each.json, RECORD_NOTHING) for each in scenarios], wanted, processors(), finished)
    return [[found[number * len(seeds) + place] for place in range(len(seeds))] for number in range(len(scenarios))]
