"""The answers: every case with the candidate, Reno and CUBIC in the candidate's place, compared seed by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from lasthop.errors import InputError
from lasthop.judge.batch import Tick, summaries_of
from lasthop.judge.bcp133.items import Asked, Case, Item, items, version
from lasthop.judge.bcp133.measures import MEASURES, of_flow
from lasthop.judge.entries import Entry
from lasthop.judge.league import Measure

Verdict = Literal["worse", "not worse", "better"]

FORMAT: Final = "lasthop bcp133 1"

REFERENCES: Final = (Entry("Reno", "sack-6675"), Entry("CUBIC", "cubic"))
"""RFC 5681 with the loss recovery of RFC 6675, and RFC 9438 with the same: those that section 5.2 of the RFC names."""

SEEDS: Final = range(1, 7)
"""Six seeds: the least number whose median has an interval at 95 %."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The candidate's measure minus that of a reference in its place, paired by seeds."""

    reference: str
    difference: Measure
    verdict: Verdict
    """"worse" and "better" where the whole interval of the median difference lies on that side."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One measure of one case: of the candidate and of each reference, and the comparisons."""

    case: str
    asked: Asked
    values: Mapping[str, Measure]
    """By the name of the entry."""
    comparisons: tuple[Comparison, ...]

    @property
    def is_worse_than_all(self) -> bool:
        """Whether the candidate does worse than each reference."""
        return bool(self.comparisons) and all(each.verdict == "worse" for each in self.comparisons)


@dataclass(frozen=True, slots=True)
class Answer:
    """An item with its findings; none where it cannot be measured."""

    item: Item
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Answers:
    """The answers to all items."""

    candidate: Entry
    answers: tuple[Answer, ...]
    seeds: tuple[int, ...]
    runs: int

    def to_json(self) -> dict[str, Any]:
        """Return everything as a JSON object."""
        return {
            "format": FORMAT,
            "items_version": version(),
            "candidate": self.candidate.to_json(),
            "references": [entry.to_json() for entry in REFERENCES],
            "seeds": list(self.seeds),
            "runs": self.runs,
            "items": [
                {
                    "section": each.item.section,
                    "title": each.item.title,
                    "force": each.item.force,
                    "asks": each.item.asks,
                    "unmeasured": each.item.unmeasured,
                    "findings": [asdict(finding) for finding in each.findings],
                }
                for each in self.answers
            ],
        }


def answer(candidate: Entry, *, seeds: Sequence[int] = SEEDS, tick: Tick | None = None) -> Answers:
    """Run every case with the candidate and each reference under every seed, and compare.

    Raises InputError for a mistake of the candidate's class, and RunError for a run that fails.
    """
    if candidate.name in [entry.name for entry in REFERENCES]:
        raise InputError("a reference has this name", key=candidate.name, help=f"name it: mine={candidate.name}")
    entries = [candidate, *REFERENCES]
    listed = items()
    cases = [case for item in listed for case in item.cases]
    parts = [(case, entry) for case in cases for entry in entries]
    runs = summaries_of([case.scenario(entry) for case, entry in parts], seeds, tick)
    summaries = {(case.name, entry.name): found for (case, entry), found in zip(parts, runs, strict=True)}
    answers = [
        Answer(item, tuple(_finding(case, asked, summaries, entries) for case in item.cases for asked in case.measures))
        for item in listed
    ]
    return Answers(candidate, tuple(answers), tuple(seeds), len(cases) * len(entries) * len(seeds))


def number_of_runs(seeds: int) -> int:
    """Return the number of runs of all cases."""
    return sum(len(item.cases) for item in items()) * (1 + len(REFERENCES)) * seeds


Summaries = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]
"""The summaries of runs in the order of their seeds, by the names of case and entry."""


def _finding(case: Case, asked: Asked, summaries: Summaries, entries: Sequence[Entry]) -> Finding:
    runs = {
        entry.name: [of_flow(summary, asked.flow, asked.measure) for summary in summaries[case.name, entry.name]]
        for entry in entries
    }
    known = {name: [value for value in values if value is not None] for name, values in runs.items()}
    own = runs[entries[0].name]
    return Finding(
        case=case.name,
        asked=asked,
        values={name: Measure.of(values) for name, values in known.items() if values},
        comparisons=tuple(
            compared
            for reference in entries[1:]
            if (compared := _compared(reference.name, own, runs[reference.name], asked)) is not None
        ),
    )


def _compared(
    reference: str, own: Sequence[float | None], others: Sequence[float | None], asked: Asked
) -> Comparison | None:
    pairs = zip(own, others, strict=True)
    differences = [mine - its for mine, its in pairs if mine is not None and its is not None]
    if not differences:
        return None
    difference = Measure.of(differences)
    return Comparison(reference, difference, _verdict(difference, MEASURES[asked.measure].more_is_better))


def _verdict(difference: Measure, more_is_better: bool) -> Verdict:
    low, high = (-difference.high, -difference.low) if more_is_better else (difference.low, difference.high)
    if low > 0:
        return "worse"
    return "better" if high < 0 else "not worse"
