"""The profiles that correspond to this machine's kernel, with which a real-time run is compared in virtual time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from lasthop.errors import InputError
from lasthop.real_time.kernel_keys import kernel_keys
from lasthop.scenario import Scenario, parse_scenario

KERNELS: Final = {"cubic": "linux-6", "reno": "linux-6-reno", "bbr": "linux-6-bbr"}
"""The profile of a Linux kernel with each congestion control."""
OTHER_NAMES: Final = {"htcp": "h-tcp", "westwood": "westwood-plus", "highspeed": "high-speed"}
"""Our names of congestion controls that Linux calls otherwise."""
RULES: Final = {"idle-restart", "window-usage", "byte-counting"}
"""The rules over a congestion control that Linux applies to all."""
RELATIVES: Final = {
    **{profile: control for control, profile in KERNELS.items()},
    "linux-5": "cubic",
    "linux-5-bbr": "bbr",
    "android": "cubic",
}
"""The profiles that describe a Linux kernel, with its congestion control."""


@dataclass(frozen=True, slots=True)
class Beside:
    """A scenario for virtual time in which each kernel's host has the profile that the kernel is."""

    scenario: Scenario
    controls: tuple[str, ...]
    """The congestion controls that the kernel ran."""
    profiles: tuple[str, ...]
    """The profiles, and the stacks of hosts that are no kernels."""
    remarks: tuple[str, ...]
    """Differences from the scenario, in sentences."""


def beside(scenario: Scenario, kernel_flows: Iterable[Mapping[str, Any]]) -> Beside:
    """Return the profiles with which a run in real time is compared.

    `kernel_flows` are the flows in the summary of its kernel.
    """
    specification = deepcopy(scenario.specification)
    ran = {str(flow["flow"]): str(flow["congestion"]) for flow in kernel_flows}
    keys = kernel_keys(scenario)
    remarks, profiles = [], []
    for host in specification["hosts"]:
        control = next((ran[flow["name"]] for flow in _sent_by(host, specification) if flow["name"] in ran), None)
        if _is_kernel(host):
            set_too = {setting.key: host["tcp"][setting.key] for setting in keys.of_host(host["name"])}
            remarks += _become_kernel(host, control)
            host["tcp"] = {**host["tcp"], **set_too}
        profiles.append(str(host["profile"] or host["stack"]))
    remarks += _settings(specification)
    return Beside(
        replace(scenario, json=json.dumps(specification)),
        tuple(dict.fromkeys(ran.values())),
        tuple(dict.fromkeys(profiles)),
        tuple(remarks),
    )


def _sent_by(host: Mapping[str, Any], specification: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    # A flow with a profile of its own says nothing of its host's.
    return (flow for flow in specification["flows"] if flow["from"] == host["name"] and not flow.get("profile"))


def _is_kernel(host: Mapping[str, Any]) -> bool:
    return host.get("stack") in {None, "kernel"}


def _become_kernel(host: dict[str, Any], control: str | None) -> list[str]:
    """Give a host the profile that the kernel is with a congestion control; None where it sends no flow."""
    said, own = str(host["profile"]), RELATIVES.get(str(host["profile"]))
    host.pop("stack", None)
    if own is not None and control in {own, None}:
        return []
    name, tcp = _profile_of(control or "cubic")
    host["profile"], host["tcp"] = name, tcp
    if control is None:
        return []
    why = f"{said} is no Linux kernel's profile" if own is None else f"{said} has {own}"
    return [f"{host['name']}: {why}; the kernel ran {control}, so it is compared with {name}."]


@cache
def _profile_of(control: str) -> tuple[str, dict[str, Any]]:
    """Return the kernel's profile with a congestion control: its name, and its resolved keys."""
    if control in KERNELS:
        return KERNELS[control], _resolved({"profile": KERNELS[control]})
    usual = _resolved({"profile": "linux-6"})
    for ours in (f"{control}-linux", OTHER_NAMES.get(control, control)):
        with suppress(InputError):
            tcp = {"congestion": _below_rules(usual["congestion"], ours)}
            return f"linux-6 with {ours}", _resolved({"profile": "linux-6", "tcp": tcp})
    return "linux-6", usual


def _below_rules(choice: Mapping[str, Any], algorithm: str) -> Any:
    """Return a choice of congestion control with another algorithm below the rules that Linux applies to all."""
    ((name, parameters),) = choice.items()
    if name not in RULES:
        return algorithm
    return {name: {**parameters, "over": _below_rules(parameters["over"], algorithm)}}


def _resolved(host: dict[str, Any]) -> dict[str, Any]:
    """Return the TCP of a host with all its keys."""
    links = [{"name": "l", "between": ["a", "b"], "down": {}, "up": {}}]
    flows = [{"name": "f", "from": "a", "to": "b", "bytes": "1 byte"}]
    hosts = {"a": host, "b": {"profile": "linux-6"}}
    found = parse_scenario({"name": "kernel", "hosts": hosts, "links": links, "flows": flows})
    return next(dict(one["tcp"]) for one in found.specification["hosts"] if one["name"] == "a")


def _settings(specification: Mapping[str, Any]) -> list[str]:
    settings = sorted(specification.get("live", {}).get("sysctl", {}))
    if not settings:
        return []
    return [f"The settings {', '.join(settings)} were the kernel's alone: profiles describe a kernel as it comes."]
