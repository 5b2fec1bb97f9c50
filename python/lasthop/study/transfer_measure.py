"""Goodputs of transfers, from a run's table `transfers`: each transfer counts once, however long it took.

A flow that ends no transfer in the window counts as one transfer with the goodput of the flow there: a starved user
would otherwise be missing from the distribution.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from lasthop.results.run import Run
from lasthop.study.measures import chosen_flows, within

PREFIX: Final = "transfers "
"""Prefix of the engine's name of such a check; its parameters follow as JSON."""

Rates = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TransferMeasure:
    """A number of the distribution of the transfers' goodputs."""

    flows: str | None
    """Pattern of the flows' names, in which `*` matches any text; None for all flows."""
    window: str | None
    """The window in which transfers end; None for the whole run."""
    statistic: Literal["quantile", "below", "at_least"]
    """A quantile of the goodputs in bytes per second, or the percentage of transfers below or not below a goodput."""
    value: float
    """The share of the quantile, or the goodput in bytes per second."""

    @classmethod
    def of(cls, name: str) -> TransferMeasure:
        """Return the measure that a check's name describes."""
        return cls(**json.loads(name.removeprefix(PREFIX)))

    def __call__(self, run: Run) -> float:
        """Return the number of a run."""
        rates = self.goodputs(run)
        if self.statistic == "quantile":
            return float(np.quantile(rates, self.value))
        below = float(100 * np.mean(rates < self.value))
        return below if self.statistic == "below" else 100 - below

    def goodputs(self, run: Run) -> Rates:
        """Return the goodput of each transfer, in bytes per second; transfers without a duration are left out."""
        flows = chosen_flows(run.summary["flows"], self.flows)
        table = run.tables["transfers"].to_pydict()
        ended: dict[str, list[tuple[int, int, int]]] = {}
        for name, *transfer in zip(table["flow"], table["start_ns"], table["end_ns"], table["bytes"], strict=True):
            ended.setdefault(name, []).append((transfer[0], transfer[1], transfer[2]))
        return np.array([rate for flow in flows for rate in self._of_flow(flow, ended.get(flow["flow"], ()))])

    def _of_flow(self, flow: Mapping[str, Any], transfers: Sequence[tuple[int, int, int]]) -> Iterator[float]:
        span = within(flow, self.window)
        begin, end = (0.0, np.inf) if self.window is None else (span["from_s"], span["to_s"])
        inside = [one for one in transfers if begin < one[1] / 1e9 <= end and one[1] > one[0]]
        yield from (size * 1e9 / (ended - started) for started, ended, size in inside)
        if not inside:
            yield float(span["throughput_Bps" if self.window is None else "goodput_Bps"] or 0.0)
