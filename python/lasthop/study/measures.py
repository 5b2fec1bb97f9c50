"""A number from one run, by a metric of the study: pure functions of the run's summary.

A metric with a scope is about the first bytes of each flow, and is read from the flows' milestones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from lasthop.errors import InputError, RunError
from lasthop.stats import jain_index, max_min_index, product_index
from lasthop.study.plan import Fold, Metric
from lasthop.study.store import Outcome

Flow = Mapping[str, Any]


def measure(metric: Metric, outcome: Outcome, scope_bytes: int | None) -> float:
    """Return one number of a finished run. Raises RunError if the run has none, as for a flow that did not finish."""
    return _number(metric, outcome, scope_bytes) / metric.divided_by


def _number(metric: Metric, outcome: Outcome, scope_bytes: int | None) -> float:
    if metric.check is not None:
        return _checked(metric.check, outcome)
    if metric.link is not None:
        return _link_counter(metric.link, metric.window, outcome)
    flows = [within(flow, metric.window) for flow in chosen_flows(outcome["flows"], metric.flows)]
    numbers = [flow_number(flow, metric.flow or "", scope_bytes, metric.less_s) for flow in flows]
    return _FOLDS[metric.fold](numbers)


def _checked(check: str, outcome: Outcome) -> float:
    found = outcome["checked"][check]
    if found is None:
        raise RunError(f"the run has no {check}")
    return float(found)


def chosen_flows(flows: Sequence[Flow], pattern: str | None) -> list[Flow]:
    """Return the flows that match a pattern, in which `*` matches any text. Raises InputError if there are none."""
    chosen = [flow for flow in flows if pattern is None or fnmatchcase(flow["flow"], pattern)]
    if not chosen:
        names = ", ".join(flow["flow"] for flow in flows)
        raise InputError(f"no flow is called {pattern!r}", key="metrics", help=f"the flows are {names}")
    return chosen


def flow_number(flow: Flow, key: str, scope_bytes: int | None, less_s: float = 0.0) -> float:
    """Return one number of a flow, over the whole flow or over its first `scope_bytes`.

    A throughput is computed over the elapsed time minus `less_s`. Raises RunError if the flow does not have the number.
    """
    part = flow if scope_bytes is None else _milestone(flow, scope_bytes)
    if key == "throughput_Bps" and "elapsed_s" in part:
        taken_s = flow_number(flow, "elapsed_s", scope_bytes) - less_s
        if taken_s <= 0:
            raise RunError(f"flow {flow['flow']} took no longer than the {less_s} s that are subtracted from its time")
        return float(part["bytes"]) / taken_s
    if key not in part:
        raise InputError(f"a flow has no {key!r} over {scope_bytes or 'all'} bytes", key="metrics")
    if part[key] is None:
        raise RunError(f"flow {flow['flow']} ended before it had a {key}")
    return float(part[key])


def within(flow: Flow, window: str | None) -> Flow:
    """Return a flow's measures in a window, with the flow's name; without a window those of the whole flow."""
    if window is None:
        return flow
    return {"flow": flow["flow"], **_window_of(flow["windows"], window)}


def _window_of(windows: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    for window in windows:
        if window["window"] == name:
            return window
    raise RunError(f"the run ended before the window {name!r} opened")


def _milestone(flow: Flow, scope_bytes: int) -> Mapping[str, Any]:
    for milestone in flow["milestones"]:
        if milestone["bytes"] == scope_bytes:
            found: Mapping[str, Any] = milestone
            return found
    raise InputError(f"flow {flow['flow']} has no milestone of {scope_bytes} bytes", key="scopes")


def _link_counter(place: str, window: str | None, outcome: Outcome) -> float:
    name, direction, counter = place.rsplit(".", 2)
    for link in outcome["links"]:
        part = link if window is None else _window_of(link["windows"], window)
        if (link["link"], link["direction"]) == (name, direction) and counter in part:
            if part[counter] is None:
                raise RunError(f"no packet came to {place}")
            return float(part[counter])
    raise InputError(f"no link counter {place!r}", key="metrics", help="write link.direction.counter")


def _x100(index: Callable[[Sequence[float]], float]) -> Callable[[Sequence[float]], float]:
    """Return an index of fairness in percent."""
    return lambda numbers: 100 * index(numbers)


_FOLDS: dict[Fold, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "min": min,
    "max": max,
    "mean": lambda numbers: sum(numbers) / len(numbers),
    "jain": _x100(jain_index),
    "max-min": _x100(max_min_index),
    "product": _x100(product_index),
}
