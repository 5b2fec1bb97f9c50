"""One scenario under several seeds: what its measures come to, and how far that is to be trusted.

Runs go on side by side. What is kept of each is its summary.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lasthop import _native
from lasthop.errors import RunError
from lasthop.parallel import processors
from lasthop.scenario import RECORD_NOTHING, Scenario, check_virtual_time
from lasthop.stats import Spread, are_alike, spread

Tick = Callable[[int], None]
"""Told how many runs are done."""

Summary = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Replications:
    """The summaries of one scenario's runs, in the order of their seeds."""

    scenario: str
    seeds: tuple[int, ...]
    summaries: tuple[Summary, ...]

    def flows(self) -> dict[str, dict[str, Spread]]:
        """Return each flow's measures over all runs."""
        return _measures(self.summaries, "flows", lambda flow: str(flow["flow"]))

    def links(self) -> dict[str, dict[str, Spread]]:
        """Return the same for each direction of a link, by names like "lasthop.down"."""
        return _measures(self.summaries, "links", lambda link: f"{link['link']}.{link['direction']}")

    @property
    def deterministic(self) -> bool:
        """Whether all runs came to the same: no draw of a random number made a difference."""
        return are_alike(self.summaries)

    def to_json(self) -> dict[str, Any]:
        """Return everything as one object: the spread of each measure, and what each run came to."""
        return {
            "scenario": self.scenario,
            "seeds": list(self.seeds),
            "deterministic": self.deterministic,
            "flows": [{"flow": name, "measures": _as_json(found)} for name, found in self.flows().items()],
            "links": [{"link": name, "measures": _as_json(found)} for name, found in self.links().items()],
            "runs": list(self.summaries),
        }


def replicate(scenarios: Sequence[Scenario], *, jobs: int | None = None, tick: Tick | None = None) -> Replications:
    """Run the scenarios, which differ in their seeds alone, `jobs` at a time (as many as there are processors).

    Raises RunError, naming the seed, where a run fails; the others end soon then.
    """
    check_virtual_time(scenarios[0])
    seeds = [scenario.seed for scenario in scenarios]
    summaries: dict[int, Summary] = {}

    def finished(ended: Sequence[tuple[int, _native.Run | Exception | None]]) -> list[int]:
        for place, result in ended:
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
    """Return the spread of every number of a part, by name; a measure that some run does not have is left out."""
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
