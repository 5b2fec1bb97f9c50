"""What a search maximises: how much worse an entry does than a reference, from 0 (not at all) to 1.

Without a rival entry the reference is the best that the path allows, so that a bad path alone scores nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from lasthop.judge.entries import Entry
from lasthop.judge.stress.genome import PACKET, Genome
from lasthop.stats import jain_index

Goal = Literal["goodput", "delay", "fairness", "needless", "harm"]

GOALS: Final[tuple[Goal, ...]] = get_args(Goal)

MEANINGS: Final[Mapping[Goal, str]] = {
    "goodput": "share of the reference's goodput that it does not reach",
    "delay": "share of its 95th percentile of the one-way delay that the reference does not have",
    "fairness": "Jain's index of two flows of the reference, minus that of two of its own",
    "needless": "share of its segments that are needless retransmissions, minus the reference's share",
    "harm": "share of its goodput that a CUBIC flow loses alongside it, compared with the reference in its place",
}

NEIGHBOUR: Final = Entry("cubic", "cubic")
"""The flow that is harmed: RFC 9743 section 5.2 compares with the standard algorithms."""

PAYLOAD: Final = 1448 / PACKET
"""Share of a full packet with timestamps that is data."""

Flows = Sequence[Mapping[str, Any]]
"""The flows of a run's summary that belong to the entries."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The flows of one run: an entry alone, or with a second one."""

    one: Entry
    other: Entry | None = None


def runs_of(goal: Goal, entry: Entry, against: Entry | None) -> tuple[Sides, ...]:
    """Return the runs that a score needs: the entry's, and where the reference is another entry, or CUBIC, its own."""
    if goal == "harm":
        return (Sides(entry, NEIGHBOUR), Sides(against or NEIGHBOUR, NEIGHBOUR))
    both = [entry] if against is None else [entry, against]
    return tuple(Sides(each, each if goal == "fairness" else None) for each in both)


def score(goal: Goal, genome: Genome, runs: Sequence[Flows]) -> float:
    """Return the score of the runs of `runs_of`, in their order."""
    own, reference = runs[0], runs[1] if len(runs) > 1 else None
    match goal:
        case "goodput":
            best = genome.capacity_bps * PAYLOAD if reference is None else _goodput(reference[0])
            return _gap(_goodput(own[0]), best)
        case "delay":
            least = _least_delay(genome) if reference is None else _delay(reference[0], genome)
            return _gap(least, _delay(own[0], genome))
        case "fairness":
            return max(0.0, (1.0 if reference is None else _fairness(reference)) - _fairness(own))
        case "needless":
            return max(0.0, _needless(own[0]) - (0.0 if reference is None else _needless(reference[0])))
        case "harm":
            assert reference is not None, "harm is always compared"
            return _gap(_goodput(own[1]), _goodput(reference[1]))


def _gap(less: float, more: float) -> float:
    return max(0.0, 1 - less / more) if more > 0 else 0.0


def _goodput(flow: Mapping[str, Any]) -> float:
    return 8 * float(flow["throughput_Bps"] or 0.0)


def _delay(flow: Mapping[str, Any], genome: Genome) -> float:
    """Return the 95th percentile in seconds; the length of the run where nothing arrived."""
    return genome.seconds if flow["delay_p95_s"] is None else float(flow["delay_p95_s"])


def _least_delay(genome: Genome) -> float:
    """Return the longest delay of a path whose queue is empty: propagation, and the transmission of two packets."""
    return max(step.delay_s + 2 * 8 * PACKET / step.rate_bps for step in genome.steps)


def _needless(flow: Mapping[str, Any]) -> float:
    return float(flow["unnecessary_retransmissions"] or 0) / max(int(flow["segments_sent"]), 1)


def _fairness(flows: Flows) -> float:
    goodputs = [_goodput(flow) for flow in flows]
    return jain_index(goodputs) if statistics.fmean(goodputs) > 0 else 1.0
