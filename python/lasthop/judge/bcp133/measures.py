"""Measures of flows, from the summary of a run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lasthop.stats import jain_index

Flow = Mapping[str, Any]
"""A flow in the summary of a run."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A measure: its head with the unit, whether more of it is better, and how flows have it."""

    head: str
    more_is_better: bool
    of: Callable[[Sequence[Flow]], float | None]
    """Returns the measure of equal flows; None where none has it."""


def of_flow(summary: Mapping[str, Any], flow: str, measure: str) -> float | None:
    """Return a measure of the flow of that name, or of its `count` equal flows NAME-1, NAME-2, …"""
    found = [each for each in summary["flows"] if each["flow"].rpartition("-")[0] == flow or each["flow"] == flow]
    return MEASURES[measure].of(found)


def _goodput(flows: Sequence[Flow]) -> float:
    return sum(8e-6 * (flow["throughput_Bps"] or 0.0) for flow in flows)


def _mean(key: str, scale: float) -> Callable[[Sequence[Flow]], float | None]:
    def mean(flows: Sequence[Flow]) -> float | None:
        known = [scale * flow[key] for flow in flows if flow[key] is not None]
        return statistics.fmean(known) if known else None

    return mean


def _share_of_segments(key: str) -> Callable[[Sequence[Flow]], float | None]:
    def share(flows: Sequence[Flow]) -> float | None:
        sent = sum(flow["segments_sent"] for flow in flows)
        return 100 * sum(flow[key] or 0 for flow in flows) / sent if sent else None

    return share


def _segments(flows: Sequence[Flow]) -> float:
    return float(sum(flow["segments_sent"] for flow in flows))


def _fairness(flows: Sequence[Flow]) -> float | None:
    goodputs = [flow["throughput_Bps"] or 0.0 for flow in flows]
    return jain_index(goodputs) if sum(goodputs) > 0 else None


MEASURES: Final[Mapping[str, Kind]] = {
    "goodput": Kind("goodput, Mbit/s", True, _goodput),
    "delay": Kind("delay p95, ms", False, _mean("delay_p95_s", 1e3)),
    "resent": Kind("sent again, %", False, _share_of_segments("retransmissions")),
    "needless": Kind("needlessly sent again, %", False, _share_of_segments("unnecessary_retransmissions")),
    "segments": Kind("segments sent", False, _segments),
    "fairness": Kind("Jain's index", True, _fairness),
    "transfer": Kind("transfer p95, s", False, _mean("transfer_p95_s", 1.0)),
    "frames": Kind("frames lost or late, %", False, _mean("frame_loss", 100.0)),
}
