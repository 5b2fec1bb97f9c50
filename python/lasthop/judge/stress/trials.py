"""Runs of genomes: a scenario for each, its runs in one call to the engine, and a score from their summaries."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lasthop.judge.batch import Tick, summaries_of
from lasthop.judge.entries import Entry
from lasthop.judge.stress.genome import Genome
from lasthop.judge.stress.goals import Goal, Sides, runs_of, score
from lasthop.scenario import Scenario, parse_scenario

FLOWS: Final = ("entry", "beside")
"""The names of the flows of the entries in a run."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A genome, with its median score over the seeds."""

    genome: Genome
    scores: tuple[float, ...]

    @property
    def score(self) -> float:
        """The median of the scores."""
        return statistics.median(self.scores)


@dataclass
class Bench:
    """Where genomes are tried: an entry, what it is held against, the goal, and the number of runs so far."""

    entry: Entry
    goal: Goal
    against: Entry | None = None
    tick: Tick | None = None
    runs: int = 0

    @property
    def runs_for_one(self) -> int:
        """Number of runs of one genome under one seed."""
        return len(runs_of(self.goal, self.entry, self.against))

    def try_all(self, genomes: Sequence[Genome], seeds: Sequence[int]) -> list[Trial]:
        """Return a trial of each genome under each seed. Raises InputError for a mistake of the entry's class."""
        sides = runs_of(self.goal, self.entry, self.against)
        scenarios = [scenario(genome, each) for genome in genomes for each in sides]
        flows = self._flows(scenarios, seeds)
        found = []
        for place, genome in enumerate(genomes):
            own = range(place * len(sides), (place + 1) * len(sides))
            scores = [score(self.goal, genome, [flows[number][run] for number in own]) for run in range(len(seeds))]
            found.append(Trial(genome, tuple(scores)))
        return found

    def _flows(self, scenarios: Sequence[Scenario], seeds: Sequence[int]) -> list[list[list[Mapping[str, Any]]]]:
        """Return the flows of the entries, for each scenario and each seed."""
        before = self.runs

        def count(ended: int) -> None:
            self.runs = before + ended
            if self.tick is not None:
                self.tick(self.runs)

        return [[entries_of(run) for run in runs] for runs in summaries_of(scenarios, seeds, count)]


def entries_of(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the flows of the entries in a run's summary, without cross traffic."""
    by_name = {flow["flow"]: flow for flow in summary["flows"]}
    return [by_name[name] for name in FLOWS if name in by_name]


def keys_of(genome: Genome, sides: Sides) -> dict[str, Any]:
    """Return the keys of a run's scenario, without the programs of its entries."""
    flows = [
        {"name": name, "from": "server", "to": "client", "profile": entry.profile, "until": f"{genome.seconds:g} s"}
        for name, entry in _named(sides)
    ]
    return {
        "name": "stress",
        # What a sender without back-off has queued would otherwise be sent long after.
        "stop": f"{genome.seconds:g} s",
        "hosts": {"server": {"profile": "cubic"}, "client": {"profile": "cubic"}},
        "flows": [*flows, *genome.cross_traffic()],
        "links": [genome.link()],
        "measure": {"links": True},
    }


def programs_of(sides: Sides) -> dict[str, Entry]:
    """Return the flows whose congestion control is a program, each with its entry."""
    return {name: entry for name, entry in _named(sides) if entry.program is not None}


def scenario(genome: Genome, sides: Sides) -> Scenario:
    """Return the scenario of a run. The user has named the programs of its entries, so that they need no consent."""
    programs = {f"flows.{name}.tcp.congestion": entry.congestion for name, entry in programs_of(sides).items()}
    return parse_scenario(keys_of(genome, sides), source="stress", overrides=programs)


def _named(sides: Sides) -> list[tuple[str, Entry]]:
    entries = [sides.one] if sides.other is None else [sides.one, sides.other]
    return list(zip(FLOWS, entries, strict=False))
