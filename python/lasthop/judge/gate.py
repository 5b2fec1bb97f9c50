"""A gate for continuous integration: today's runs held against those of a baseline, seed by seed.

The test is sequential: the runs of the first seeds are looked at, and only duels with an undecided change run more. The
error of 5 % is divided among the looks (Bonferroni), so that looking several times does not enlarge it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path as File
from typing import Any, Final, Literal

from lasthop.errors import InputError
from lasthop.judge.batch import Tick
from lasthop.judge.duels import FLOWS, Duel, Failed, Outcome, play_duels
from lasthop.judge.entries import Entry
from lasthop.judge.league import FORMAT, Measure
from lasthop.judge.paths import paths, version

Verdict = Literal["within", "outside", "undecided"]

COMPARED: Final = ("goodput_bps", "delay_p95_s")
"""Measures of each side that a gate compares."""

CONFIDENCE: Final = 0.95
"""Confidence of all looks together."""

FIRST_LOOK: Final = 10
"""Number of runs at the first look: enough for an interval at 99 %, that of each of up to five looks."""


@dataclass(frozen=True, slots=True)
class Change:
    """The relative change of a measure in one duel, paired by seeds: its median with its interval."""

    one: str
    other: str
    path: str
    measure: str
    change: Measure
    verdict: Verdict


@dataclass(frozen=True)
class Gate:
    """Every change, and the duels that could not be run."""

    within: float
    changes: tuple[Change, ...]
    failed: tuple[Failed, ...]

    @property
    def passes(self) -> bool:
        """Whether no duel failed, and no change is outside of the band or undecided."""
        return not self.failed and all(change.verdict == "within" for change in self.changes)

    def to_json(self) -> dict[str, Any]:
        """Return the gate as a JSON object."""
        return {
            "passes": self.passes,
            "within": self.within,
            "changes": [asdict(change) for change in self.changes],
            "failed": [{"duel": failed.duel.name, "why": failed.why} for failed in self.failed],
        }


def check_against(baseline: File, *, within: float, tick: Tick | None = None) -> Gate:
    """Run the duels of a baseline (`lasthop league --json`) under its seeds, and compare goodputs and delays.

    `within` is the half-width of the band, 0.02 for 2 %. A change is within the band if the interval of its median is,
    outside if the whole interval is beyond, and otherwise undecided. Seeds of the baseline are run in the order of
    `looks`, and a duel stops when each of its changes is decided. Raises InputError for a file that is no baseline.
    """
    document = read_baseline(baseline)
    before = _outcomes(document, baseline)
    seeds = [int(seed) for seed in document["seeds"]]
    ends = looks(len(seeds))
    comparison = _Comparison(before, within, 1 - (1 - CONFIDENCE) / len(ends), tick)
    for begin, end in zip([0, *ends], ends, strict=False):
        comparison.look(seeds[begin:end])
    return Gate(within, tuple(comparison.changes()), tuple(comparison.failed))


def looks(seeds: int) -> list[int]:
    """Return the numbers of runs after which a baseline with `seeds` seeds is looked at.

    They double, from the first that can decide at the error of each look; a few seeds are looked at once.
    """
    ends = [FIRST_LOOK]
    while 2 * ends[-1] <= seeds:
        ends.append(2 * ends[-1])
    return [*ends[:-1], seeds] if seeds >= FIRST_LOOK else [seeds]


@dataclass
class _Comparison:
    """The duels of a baseline, and their outcomes so far."""

    before: Mapping[Duel, Sequence[Outcome]]
    within: float
    confidence: float
    """Confidence of the interval at each look."""
    tick: Tick | None
    after: dict[Duel, list[Outcome]] = field(default_factory=dict)
    failed: list[Failed] = field(default_factory=list)
    runs: int = 0

    def look(self, seeds: Sequence[int]) -> None:
        """Run the undecided duels under more seeds."""
        played = play_duels(self._undecided(), seeds, tick=self._tick)
        self.runs += played.runs
        self.failed += played.failed
        for duel, outcomes in played.outcomes.items():
            self.after.setdefault(duel, []).extend(outcomes)

    def changes(self) -> list[Change]:
        """Return the changes of all duels that did not fail."""
        return [change for duel in self._whole() for change in self._changes(duel)]

    def _undecided(self) -> list[Duel]:
        if not self.after and not self.failed:
            return list(self.before)
        return [duel for duel in self._whole() if any(each.verdict == "undecided" for each in self._changes(duel))]

    def _whole(self) -> list[Duel]:
        failed = [each.duel for each in self.failed]
        return [duel for duel in self.after if duel not in failed]

    def _changes(self, duel: Duel) -> list[Change]:
        return _changes(duel, self.before[duel], self.after[duel], self.within, self.confidence)

    def _tick(self, runs: int) -> None:
        if self.tick is not None:
            self.tick(self.runs + runs)


def read_baseline(file: File) -> Mapping[str, Any]:
    """Return the document of a baseline. Raises InputError for another file, and another version of the paths."""
    help = "write one with lasthop league ENTRIES --json"
    try:
        document = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read as JSON ({error})", file=str(file), help=help) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError("is no baseline", file=str(file), help=help)
    if document["paths_version"] != version():
        message = f"was made with version {document['paths_version']} of the paths, and this is {version()}"
        raise InputError(message, file=str(file), help=help)
    return document


def verdict_of(change: Measure, within: float) -> Verdict:
    """Return what an interval says of the band from -`within` to `within`."""
    if -within <= change.low and change.high <= within:
        return "within"
    return "outside" if change.high < -within or change.low > within else "undecided"


def _outcomes(document: Mapping[str, Any], file: File) -> dict[Duel, tuple[Outcome, ...]]:
    entries = {given["name"]: Entry.from_json(given) for given in document["entries"]}
    known = {path.name: path for path in paths(document["paths"])}
    found = {}
    for run in document["runs"]:
        duel = Duel(entries[run["one"]], entries[run["other"]], known[run["path"]])
        found[duel] = tuple(Outcome.from_json(each) for each in run["outcomes"])
    if not found:
        raise InputError("the baseline has no run", file=str(file), help="write it again")
    return found


def _changes(
    duel: Duel, before: Sequence[Outcome], after: Sequence[Outcome], within: float, confidence: float
) -> list[Change]:
    # The runs of the first seeds: a sequential test may have ended before the baseline does.
    pairs = list(zip(before, after, strict=False))
    measures = {
        f"{key}_{name}": [
            _relative(getattr(old.sides[place], key), getattr(new.sides[place], key)) for old, new in pairs
        ]
        for place, name in enumerate(FLOWS)
        for key in COMPARED
    }
    found = {key: Measure.of(values, confidence) for key, values in measures.items()}
    names = (duel.one.name, duel.other.name, duel.path.name)
    return [Change(*names, key, change, verdict_of(change, within)) for key, change in found.items()]


def _relative(old: float, new: float) -> float:
    """Return (new − old) / old; a change from nothing is infinite."""
    if old == new:
        return 0.0
    return (new - old) / old if old else math.inf
