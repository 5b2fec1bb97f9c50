"""A genome: a path in a few steps, as a point of the unit cube and as the link and the cross traffic of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from lasthop.judge.paths import LINK

STEP_S: Final = 3.0
"""Length of a step in seconds: ten round trips of the longest path."""

PACKET: Final = 1500
"""Bytes of a full packet, by which queues are rounded."""

RATES: Final = (0.5e6, 20e6)
"""Range of the rate in bit/s; the middle of a gene is the geometric mean."""

DELAYS: Final = (0.005, 0.15)
"""Range of the one-way delay in seconds; geometric too."""

QUEUES: Final = (2 * PACKET, 300 * PACKET)
"""Range of the limit of the queue in bytes; geometric too."""

MOST_LOSS: Final = 0.05
"""Largest probability of random loss. The lower half of its gene is no loss at all."""

MOST_CROSS: Final = 0.9
"""Largest share of cross traffic. The lower half of its gene is no cross traffic at all."""

STEPS: Final = (2, 5)
"""Least and greatest number of steps."""


@dataclass(frozen=True, slots=True)
class Step:
    """The path in one step."""

    rate_bps: float
    """Rate of the bottleneck in bit/s."""
    delay_s: float
    """One-way delay in seconds, in each direction."""
    cross: float
    """Share of the rate that datagrams at a constant rate take."""


@dataclass(frozen=True, slots=True)
class Genome:
    """The steps of a path, and what they share."""

    steps: tuple[Step, ...]
    queue_bytes: int
    """Limit of the queue, a tail-drop queue."""
    loss: float
    """Probability of the loss of a packet."""

    @property
    def seconds(self) -> float:
        """Length of a run."""
        return STEP_S * len(self.steps)

    @property
    def capacity_bps(self) -> float:
        """Mean rate that cross traffic and random loss leave, in bit/s."""
        left = sum(step.rate_bps * (1 - step.cross) for step in self.steps) / len(self.steps)
        return left * (1 - self.loss)

    def to_json(self) -> dict[str, Any]:
        """Return the genome as a JSON object."""
        return asdict(self)

    def link(self) -> dict[str, Any]:
        """Return the keys of its link in a scenario: each step after the first is a change without an interruption."""
        first, *later = self.steps
        return {
            "name": LINK,
            "between": ["server", "client"],
            "down": {
                "rate": rate_text(first.rate_bps),
                "propagation": delay_text(first.delay_s),
                "queue": {"limit": f"{self.queue_bytes} bytes"},
                **({"errors": {"per": "packet", "probability": self.loss, "effect": "drop"}} if self.loss else {}),
                **self._changes([_cell(step, has_rate=True) for step in later]),
            },
            "up": {
                "rate": rate_text(RATES[1]),
                "propagation": delay_text(first.delay_s),
                **self._changes([_cell(step, has_rate=False) for step in later]),
            },
        }

    def cross_traffic(self) -> list[dict[str, Any]]:
        """Return the flows of its cross traffic."""
        return [
            {
                "name": f"cross-{number}",
                "from": "server",
                "to": "client",
                "start": f"{STEP_S * (number - 1):g} s",
                "until": f"{STEP_S * number:g} s",
                "workload": {"constant-rate": {"rate": rate_text(step.rate_bps * step.cross)}},
            }
            for number, step in enumerate(self.steps, start=1)
            if step.cross
        ]

    def _changes(self, cells: list[dict[str, Any]]) -> dict[str, Any]:
        if all(step == self.steps[0] for step in self.steps):
            return {}
        return {"handovers": {"interval": f"{STEP_S:g} s", "suspension": "0 s", "cells": cells}}


def dimensions(steps: int) -> int:
    """Return the number of genes of a genome with `steps` steps: three for each, and two for all."""
    return 3 * steps + 2


def genome_of(genes: Sequence[float]) -> Genome:
    """Return the genome at a point of the unit cube with `dimensions(steps)` coordinates; numbers are rounded."""
    *of_steps, queue, loss = genes
    steps = tuple(
        Step(
            rate_bps=_rounded(_geometric(rate, *RATES), 2),
            delay_s=round(_geometric(delay, *DELAYS), 3),
            cross=round(_upper_half(cross) * MOST_CROSS, 1),
        )
        for rate, delay, cross in zip(of_steps[::3], of_steps[1::3], of_steps[2::3], strict=True)
    )
    return Genome(
        steps, PACKET * round(_geometric(queue, *QUEUES) / PACKET), _rounded(_upper_half(loss) * MOST_LOSS, 2)
    )


def rate_text(rate_bps: float) -> str:
    """Return a rate as a scenario has it."""
    return f"{rate_bps / 1e3:g} kbit/s"


def delay_text(seconds: float) -> str:
    """Return a delay as a scenario has it."""
    return f"{1e3 * seconds:g} ms"


def _cell(step: Step, *, has_rate: bool) -> dict[str, Any]:
    return {**({"rate": rate_text(step.rate_bps)} if has_rate else {}), "propagation": delay_text(step.delay_s)}


def _geometric(gene: float, low: float, high: float) -> float:
    return float(low * (high / low) ** gene)


def _upper_half(gene: float) -> float:
    return max(0.0, 2 * gene - 1)


def _rounded(number: float, digits: int) -> float:
    return float(f"{number:.{digits}g}")
