"""A league: every pair of entries on every path, and what each does for itself and to the others."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

from lasthop.errors import InputError
from lasthop.judge.batch import Tick
from lasthop.judge.duels import Duel, Failed, Outcome, play_duels
from lasthop.judge.entries import Entry, distinct
from lasthop.judge.paths import Path, version
from lasthop.stats import median_interval, quantile
from lasthop.study.store import Store

FORMAT: Final = "lasthop league 1"

MEASURES: Final = ("goodput", "delay_p50_s", "delay_p95_s", "loss", "fairness", "harm")
"""The measures of the standings, in the order of their columns."""


@dataclass(frozen=True, slots=True)
class Measure:
    """The median of some runs, with the interval of the median (order statistics)."""

    median: float
    low: float
    high: float
    n: int

    @staticmethod
    def of(values: Iterable[float], confidence: float = 0.95) -> Measure:
        """Return the measure of at least one value."""
        ordered = sorted(values)
        low, high = median_interval(ordered, confidence)
        return Measure(quantile(ordered, 0.5), low, high, len(ordered))


@dataclass(frozen=True)
class Row:
    """One side of a duel: the measures of each run, in the order of the seeds."""

    entry: Entry
    rival: Entry
    path: Path
    runs: Mapping[str, tuple[float, ...]]

    @cached_property
    def measures(self) -> Mapping[str, Measure]:
        """The median and interval of each measure."""
        return {key: Measure.of(values) for key, values in self.runs.items()}


@dataclass(frozen=True)
class Standing:
    """An entry over all paths and rivals: for each measure the median over the seeds, and its interval."""

    entry: Entry
    measures: Mapping[str, Measure]


@dataclass(frozen=True)
class League:
    """All duels of some entries; `runs` is the number of runs that were made for it, without those of a store."""

    entries: tuple[Entry, ...]
    paths: tuple[Path, ...]
    seeds: tuple[int, ...]
    outcomes: Mapping[Duel, tuple[Outcome, ...]]
    failed: tuple[Failed, ...]
    runs: int

    @cached_property
    def rows(self) -> list[Row]:
        """Both sides of every duel; of a duel of an entry with itself too."""
        return [self._row(duel, place) for duel in self.outcomes for place in (0, 1)]

    @cached_property
    def standings(self) -> list[Standing]:
        """The standing of each entry that has a run.

        For each seed, goodput, loss, fairness and harm are means over paths and rivals, and delays are geometric
        means. Goodput is a share of the largest that any entry has on the path, so that fast paths do not weigh more.
        """
        found = []
        for entry in self.entries:
            own = [row for row in self.rows if row.entry == entry]
            if own:
                found.append(Standing(entry, _measures_of(own, self._best)))
        return found

    def harm_between(self, entry: Entry, rival: Entry) -> float | None:
        """Return the mean over paths of the median harm that `entry` does to `rival`; None without a run."""
        harms = [
            row.measures["harm"].median
            for row in self.rows
            if row.entry == entry and row.rival == rival and "harm" in row.runs
        ]
        return statistics.fmean(harms) if harms else None

    def share_of_best(self, row: Row) -> float:
        """Return the median goodput of a row as a share of the largest on its path."""
        return row.measures["goodput_bps"].median / self._best[row.path.name]

    def to_json(self) -> dict[str, Any]:
        """Return everything as a JSON object, which `lasthop check` takes as a baseline."""
        return {
            "format": FORMAT,
            "paths_version": version(),
            "entries": [entry.to_json() for entry in self.entries],
            "paths": [path.name for path in self.paths],
            "seeds": list(self.seeds),
            "standings": [
                {"entry": each.entry.name, **{key: asdict(found) for key, found in each.measures.items()}}
                for each in self.standings
            ],
            "rows": [
                {"entry": row.entry.name, "rival": row.rival.name, "path": row.path.name}
                | {key: asdict(found) for key, found in row.measures.items()}
                for row in self.rows
            ],
            "runs": [
                {
                    "one": duel.one.name,
                    "other": duel.other.name,
                    "path": duel.path.name,
                    "outcomes": [outcome.to_json() for outcome in found],
                }
                for duel, found in self.outcomes.items()
            ],
            "failed": [{"duel": failed.duel.name, "why": failed.why} for failed in self.failed],
        }

    def _row(self, duel: Duel, place: int) -> Row:
        outcomes = self.outcomes[duel]
        sides = [outcome.sides[place] for outcome in outcomes]
        entry, rival = (duel.one, duel.other)[place], (duel.one, duel.other)[1 - place]
        runs = {key: tuple(asdict(side)[key] for side in sides) for key in asdict(sides[0])}
        runs["fairness"] = tuple(outcome.fairness for outcome in outcomes)
        if entry != rival and (harm := self._harm(duel, 1 - place)):
            runs["harm"] = harm
        return Row(entry, rival, duel.path, runs)

    def _harm(self, duel: Duel, harmed: int) -> tuple[float, ...]:
        """Return, for each run, the share of its goodput that the side `harmed` loses: 0 none, 1 all.

        Ware et al., Beyond Jain's fairness index (HotNets 2019): (alone − beside) / alone, where the rival beside
        another of its own kind stands for alone, as RFC 9743 §5.2 compares a candidate with what the standard
        algorithms do in its place. Negative harm is goodput that the rival gains.
        """
        rival = (duel.one, duel.other)[harmed]
        alike = self.outcomes.get(Duel(rival, rival, duel.path), ())
        standards = [statistics.fmean(side.goodput_bps for side in outcome.sides) for outcome in alike]
        pairs = zip(self.outcomes[duel], standards, strict=False)
        return tuple(1 - outcome.sides[harmed].goodput_bps / max(standard, 1.0) for outcome, standard in pairs)

    @cached_property
    def _best(self) -> Mapping[str, float]:
        """The largest median goodput on each path, in bit/s, and 1 at least."""
        best = {path.name: 1.0 for path in self.paths}
        for row in self.rows:
            best[row.path.name] = max(best[row.path.name], row.measures["goodput_bps"].median)
        return best


def play(
    entries: Sequence[Entry],
    on: Sequence[Path],
    *,
    seeds: Sequence[int],
    store: Store | None = None,
    tick: Tick | None = None,
) -> League:
    """Run every pair of entries, and each alongside itself, on every path under every seed.

    Runs that `store` has are not repeated, so that one entry more costs its own duels alone. An entry that fails is
    listed in `failed`, and the others continue. Raises InputError where two entries have one name.
    """
    if not seeds:
        raise InputError("there is no seed", key="seeds", help="give at least one")
    pairs = itertools.combinations_with_replacement(distinct(entries), 2)
    duels = [Duel(one, other, path) for one, other in pairs for path in on]
    played = play_duels(duels, seeds, store, tick)
    return League(tuple(entries), tuple(on), tuple(seeds), played.outcomes, played.failed, played.runs)


def number_of_runs(entries: int, on: int, seeds: int) -> int:
    """Return the number of runs of a league."""
    return entries * (entries + 1) // 2 * on * seeds


def _measures_of(rows: Sequence[Row], best: Mapping[str, float]) -> dict[str, Measure]:
    """Return the measures of `MEASURES` over the rows of one entry, as far as it has them."""
    shares = [tuple(run / best[row.path.name] for run in row.runs["goodput_bps"]) for row in rows]
    by_measure = {
        "goodput": shares,
        **{key: [row.runs[key] for row in rows if key in row.runs] for key in MEASURES[1:]},
    }
    found = {}
    for key, runs in by_measure.items():
        mean = statistics.geometric_mean if key.startswith("delay") else statistics.fmean
        if runs:
            found[key] = Measure.of(mean(of_seed) for of_seed in zip(*runs, strict=True))
    return found
