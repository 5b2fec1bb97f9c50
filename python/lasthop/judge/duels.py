"""Two entries on one path at the same time: the scenario, its runs, and what each run measures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from lasthop import _native
from lasthop.errors import LasthopError
from lasthop.judge.batch import Tick
from lasthop.judge.entries import Entry
from lasthop.judge.paths import Path
from lasthop.parallel import processors
from lasthop.provenance import engine
from lasthop.scenario import RECORD_NOTHING, Scenario, parse_scenario
from lasthop.stats import jain_index
from lasthop.study.store import Store, run_key

SECONDS: Final = 20
"""Length of a run: a hundred round trips of the longest terrestrial path."""

FLOWS: Final = ("one", "other")


@dataclass(frozen=True, slots=True)
class Duel:
    """Two entries, perhaps the same one twice, on a path."""

    one: Entry
    other: Entry
    path: Path

    @property
    def name(self) -> str:
        """The duel in messages."""
        return f"{self.one.name} alongside {self.other.name} on {self.path.name}"


@dataclass(frozen=True, slots=True)
class SideOutcome:
    """One side of a duel in one run."""

    goodput_bps: float
    """Bytes that the receiver delivered, in bit/s."""
    delay_p50_s: float
    """Median of the one-way delays of its segments, queues included, in seconds."""
    delay_p95_s: float
    """95th percentile of these delays, in seconds."""
    loss: float
    """Share of its segments that were sent again."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of a duel."""

    seed: int
    sides: tuple[SideOutcome, SideOutcome]

    @property
    def fairness(self) -> float:
        """Jain's index of the two goodputs."""
        return jain_index([side.goodput_bps for side in self.sides])

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as a JSON object."""
        return asdict(self)

    @staticmethod
    def from_json(given: Mapping[str, Any]) -> Outcome:
        """Return the outcome of `to_json`."""
        one, other = (SideOutcome(**side) for side in given["sides"])
        return Outcome(given["seed"], (one, other))


@dataclass(frozen=True, slots=True)
class Failed:
    """A duel without outcomes, and why."""

    duel: Duel
    why: str


@dataclass(frozen=True)
class Played:
    """The outcomes of duels in the order of their seeds, the failed ones, and the number of runs made for them."""

    outcomes: Mapping[Duel, tuple[Outcome, ...]]
    failed: tuple[Failed, ...]
    runs: int


def scenario(duel: Duel, seconds: float = SECONDS) -> Scenario:
    """Return the scenario of a duel: two downloads that begin within half a second and end together.

    The program of an entry is an override, since a command named it: a profile file that brings one is refused. Raises
    InputError for an entry that makes no sense, with its file and line.
    """
    sides = tuple(zip(FLOWS, (duel.one, duel.other), strict=True))
    flows = [
        {
            "name": name,
            "from": "server",
            "to": "client",
            "until": f"{seconds} s",
            # Starts that differ from seed to seed: without them many runs would be one.
            "start": {"uniform": ["0 s", "0.5 s"]},
            "profile": entry.profile,
        }
        for name, entry in sides
    ]
    programs = {
        f"flows.{name}.tcp.congestion": entry.congestion for name, entry in sides if entry.congestion is not None
    }
    hosts = {"server": {"profile": "cubic"}, "client": {"profile": "cubic"}}
    keys = {"name": "duel", "hosts": hosts, "links": [duel.path.link], "flows": flows, "measure": {"links": True}}
    return parse_scenario(keys, source=duel.name, overrides=programs)


def play_duels(
    duels: Sequence[Duel], seeds: Sequence[int], store: Store | None = None, tick: Tick | None = None
) -> Played:
    """Run each duel under each seed, except runs that the store has; a duel that fails leaves the others running."""
    batch = _Batch(seeds, store, tick)
    for duel in duels:
        batch.read(duel)
    batch.run()
    return batch.played()


@dataclass
class _Batch:
    """The runs of some duels: those that a store has, and the others in one call to the engine."""

    seeds: Sequence[int]
    store: Store | None
    tick: Tick | None
    scenarios: dict[Duel, Scenario] = field(default_factory=dict)
    failed: dict[Duel, str] = field(default_factory=dict)
    summaries: dict[tuple[Duel, int], Mapping[str, Any]] = field(default_factory=dict)
    missing: list[tuple[Duel, int]] = field(default_factory=list)
    ended: int = 0

    def read(self, duel: Duel) -> None:
        """Resolve a duel's scenario, and find which of its runs are missing."""
        try:
            self.scenarios[duel] = scenario(duel)
        except LasthopError as error:
            self.failed[duel] = str(error)
            return
        for seed in self.seeds:
            found = self.store.get(self._key(duel, seed)) if self.store is not None else None
            if found is None:
                self.missing.append((duel, seed))
            else:
                self.summaries[duel, seed] = found

    def run(self) -> None:
        """Run what is missing."""
        if self.missing:
            texts = [(each.json, RECORD_NOTHING) for each in self.scenarios.values()]
            places = {duel: place for place, duel in enumerate(self.scenarios)}
            runs = [(places[duel], seed) for duel, seed in self.missing]
            _native.run_batch(texts, runs, processors(), lambda ended: self._finished(ended, places))

    def played(self) -> Played:
        """Return everything."""
        outcomes = {
            duel: tuple(_outcome(seed, self.summaries[duel, seed]) for seed in self.seeds)
            for duel in self.scenarios
            if duel not in self.failed
        }
        return Played(outcomes, tuple(Failed(duel, why) for duel, why in self.failed.items()), self.ended)

    def _finished(
        self, ended: Sequence[tuple[int, _native.Run | Exception | None]], places: Mapping[Duel, int]
    ) -> list[int]:
        """Keep finished runs; return the places of duels to be given up."""
        given_up = []
        for run, result in ended:
            duel, seed = self.missing[run]
            if isinstance(result, Exception):
                self.failed.setdefault(duel, f"seed {seed}: {result}")
                given_up.append(places[duel])
            elif result is not None:
                self.summaries[duel, seed] = json.loads(result.summary_json)
                if self.store is not None:
                    self.store.put(self._key(duel, seed), {"duel": duel.name}, result.summary_json)
        if self.store is not None:
            self.store.flush()
        self.ended += len(ended)
        if self.tick is not None:
            self.tick(self.ended)
        return given_up

    def _key(self, duel: Duel, seed: int) -> str:
        return run_key(self.scenarios[duel].hash, seed, (), engine())


def _outcome(seed: int, summary: Mapping[str, Any]) -> Outcome:
    flows = {flow["flow"]: flow for flow in summary["flows"]}
    one, other = (_side(flows[name]) for name in FLOWS)
    return Outcome(seed, (one, other))


def _side(flow: Mapping[str, Any]) -> SideOutcome:
    """Return the measures of a flow; a flow of which nothing arrived has the length of the run for its delays."""
    return SideOutcome(
        goodput_bps=8 * (flow["throughput_Bps"] or 0.0),
        delay_p50_s=SECONDS if flow["delay_p50_s"] is None else flow["delay_p50_s"],
        delay_p95_s=SECONDS if flow["delay_p95_s"] is None else flow["delay_p95_s"],
        loss=flow["retransmissions"] / max(flow["segments_sent"], 1),
    )
