"""A simpler genome with nearly the same score: without whatever does not matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from lasthop.judge.stress.genome import PACKET, Genome
from lasthop.judge.stress.trials import Bench, Trial

KEPT: Final = 0.9
"""Share of the score that a simpler genome keeps."""


def simplify(bench: Bench, worst: Trial, seeds: Sequence[int]) -> Trial:
    """Return the simplest trial that a series of single simplifications leads to.

    Each is kept if its median score over the seeds is `KEPT` times that of `worst` at least; the first that is kept
    begins the series anew, until none is.
    """
    found = worst
    while True:
        simpler = [genome for genome in simplifications(found.genome) if genome != found.genome]
        kept = (trial for trial in _tried(bench, simpler, seeds) if trial.score >= KEPT * worst.score)
        following = next(kept, None)
        if following is None:
            return found
        found = following


def simplifications(genome: Genome) -> Iterator[Genome]:
    """Yield genomes that are simpler by one thing, the simplest first."""
    steps = genome.steps
    if len(steps) > 1:
        for place in range(len(steps)):
            yield replace(genome, steps=steps[:place] + steps[place + 1 :])
    if genome.loss:
        yield replace(genome, loss=0.0)
    for place, step in enumerate(steps):
        if step.cross:
            yield _with_step(genome, place, cross=0.0)
    for place in range(1, len(steps)):
        before = steps[place - 1]
        if steps[place].rate_bps != before.rate_bps:
            yield _with_step(genome, place, rate_bps=before.rate_bps)
        if steps[place].delay_s != before.delay_s:
            yield _with_step(genome, place, delay_s=before.delay_s)
    yield replace(genome, queue_bytes=_product(genome))


def _tried(bench: Bench, genomes: Sequence[Genome], seeds: Sequence[int]) -> Iterator[Trial]:
    """Try one genome after another, as long as the caller wants more."""
    for genome in genomes:
        yield bench.try_all([genome], seeds)[0]


def _with_step(genome: Genome, place: int, **changed: float) -> Genome:
    steps = list(genome.steps)
    steps[place] = replace(steps[place], **changed)
    return replace(genome, steps=tuple(steps))


def _product(genome: Genome) -> int:
    """Return the product of rate and round-trip time of the first step in bytes, in whole packets, two at least."""
    first = genome.steps[0]
    return PACKET * max(2, round(first.rate_bps * 2 * first.delay_s / 8 / PACKET))
