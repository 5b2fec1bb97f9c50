"""One scenario under several seeds: its measures, with their spread.

Runs are parallel. The summary of each is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lasthop import _native
from lasthop.errors import InputError, RunError
from lasthop.parallel import processors
from lasthop.scenario import RECORD_NOTHING, Scenario, check_virtual_time
from lasthop.stats import Spread, are_alike, spread

Tick = Callable[[int], None]
"""Called with the number of finished runs."""

Summary = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Replications:
    """The summaries of one scenario's runs, in the order of their seeds."""

    scenario: str
    seeds: tuple[int, ...]
    summaries: tuple[Summary, ...]

    def flows(self) -> dict[str, dict[str, Spread]]:
        """Return the spread of each flow's measures over all runs, by flow and measure."""
        return _measures(self.summaries, "flows", lambda flow: str(flow["flow"]))

    def links(self) -> dict[str, dict[str, Spread]]:
        """Return the spread of each link direction's measures, by direction ("lasthop.down") and measure."""
        return _measures(self.summaries, "links", lambda link: f"{link['link']}.{link['direction']}")

    @property
    def deterministic(self) -> bool:
        """Whether all runs are equal, so that no random number made a difference."""
        return are_alike(self.summaries)

    def to_json(self) -> dict[str, Any]:
        """Return everything as a JSON object: the spread of each measure, and the summary of each run."""
        return {
            "scenario": self.scenario,
            "seeds": list(self.seeds),
            "deterministic": self.deterministic,
            "flows": [{"flow": name, "measures": _as_json(found)} for name, found in self.flows().items()],
            "links": [{"link": name, "measures": _as_json(found)} for name, found in self.links().items()],
            "runs": list(self.summaries),
        }


def replicate(scenarios: Sequence[Scenario], *, jobs: int | None = None, tick: Tick | None = None) -> Replications:
    """Run scenarios that differ only in their seeds, `jobs` at a time (default: the number of processors).

    `tick` is called with the number of finished runs. Raises RunError, with the seed, if a run fails; the others are
    stopped.
    """
    check_virtual_time(scenarios[0])
    seeds = [scenario.seed for scenario in scenarios]
    summaries: dict[int, Summary] = {}

    def finished(ended: Sequence[tuple[int, _native.Run | Exception | None]]) -> list[int]:
        for place, result in ended:
            if isinstance(result, InputError):
                # A mistake in a program that the scenario brings, with its own place.
                raise result
            if isinstance(result, Exception):
                raise RunError(f"seed {seeds[place]}: {result}") from result
            if result is not None:
                summaries[place] = json.loads(result.summary_json)
        if tick is not None:
            tick(len(summaries))
        return []

    runs = [(0, seed) for seed in seeds]
    _native.run_batch([(scenarios[0].json, RECORD_NOTHING)], runs, jobs or processors(), finished)
    return Replications(scenarios[0].name, tuple(seeds), tuple(summaries[place] for place in range(len(seeds))))


def _measures(
    summaries: Sequence[Summary], part: str, name_of: Callable[[Mapping[str, Any]], str]
) -> dict[str, dict[str, Spread]]:
    """Return the spread of every number of a part, by name; measures that some run lacks are left out."""
    values: dict[str, dict[str, list[float]]] = {}
    for summary in summaries:
        for entry in summary[part]:
            own = values.setdefault(name_of(entry), {})
            for key, number in _numbers(entry):
                own.setdefault(key, []).append(number)
    runs = len(summaries)
    return {
        name: {key: spread(numbers) for key, numbers in own.items() if len(numbers) == runs}
        for name, own in values.items()
    }


def _numbers(entry: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for key, value in entry.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield key, float(value)


def _as_json(measures: Mapping[str, Spread]) -> dict[str, Any]:
    return {name: asdict(found) for name, found in measures.items()}
