"""A number from one run, by a metric of the study: pure functions of the run's summary.

A metric may be about a scope, the first so many bytes of each flow: then it is read from the flows' milestones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lasthop.errors import InputError, RunError
from lasthop.stats import jain_index
from lasthop.study.plan import Fold, Metric
from lasthop.study.store import Outcome

Flow = Mapping[str, Any]


def measure(metric: Metric, outcome: Outcome, scope_bytes: int | None) -> float:
    """Return one number of a finished run. Raises RunError where the run has none, as of a flow that did not finish."""
    if metric.check is not None:
        return float(outcome["checked"][metric.check])
    if metric.link is not None:
        return _link_counter(metric.link, outcome)
    numbers = [flow_number(flow, metric.flow or "", scope_bytes, metric.less_s) for flow in outcome["flows"]]
    return _FOLDS[metric.fold](numbers)


def flow_number(flow: Flow, key: str, scope_bytes: int | None, less_s: float = 0.0) -> float:
    """Return one number of a flow, over the whole of it or over its first `scope_bytes`.

    A throughput is reckoned over the elapsed time without `less_s`.
    """
    part = flow if scope_bytes is None else _milestone(flow, scope_bytes)
    if key == "throughput_Bps":
        return float(part["bytes"]) / (flow_number(flow, "elapsed_s", scope_bytes) - less_s)
    if key not in part:
        raise InputError(f"a flow has no {key!r} over {scope_bytes or 'all'} bytes", key="metrics")
    if part[key] is None:
        raise RunError(f"flow {flow['flow']} did not get so far that it has a {key}")
    return float(part[key])


def _milestone(flow: Flow, scope_bytes: int) -> Mapping[str, Any]:
    for milestone in flow["milestones"]:
        if milestone["bytes"] == scope_bytes:
            found: Mapping[str, Any] = milestone
            return found
    raise InputError(f"flow {flow['flow']} has no milestone of {scope_bytes} bytes", key="scopes")


def _link_counter(place: str, outcome: Outcome) -> float:
    name, direction, counter = place.rsplit(".", 2)
    for link in outcome["links"]:
        if (link["link"], link["direction"]) == (name, direction) and counter in link:
            return float(link[counter])
    raise InputError(f"no link counter {place!r}", key="metrics", help="write link.direction.counter")


def _jain_x100(numbers: Sequence[float]) -> float:
    return 100 * jain_index(numbers)


_FOLDS: dict[Fold, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "min": min,
    "max": max,
    "mean": lambda numbers: sum(numbers) / len(numbers),
    "jain": _jain_x100,
}
