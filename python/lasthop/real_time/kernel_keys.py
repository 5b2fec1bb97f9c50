"""Keys of a TCP whose host is a kernel: settings of its network namespace, and keys that a kernel does not have."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Final

from lasthop import _native, catalogue
from lasthop.errors import InputError
from lasthop.scenario import Scenario

_OVERRIDE: Final = "--set "
"""Beginning of the place of an error in an override."""


@dataclass(frozen=True, slots=True)
class KernelSetting:
    """A setting of a host's kernel in a run in real time, made of a key of the host's TCP."""

    host: str
    key: str
    """The key of its TCP, as `sack`."""
    name: str
    """The setting, as `net.ipv4.tcp_sack`."""
    value: str

    def __str__(self) -> str:
        return f"{self.host}: {self.name} = {self.value} (hosts.{self.host}.tcp.{self.key})"


@dataclass(frozen=True, slots=True)
class KernelKeys:
    """The keys of TCP that a scenario writes for hosts that are kernels."""

    settings: tuple[KernelSetting, ...]
    """Those with a setting of the kernel."""
    without_effect: tuple[InputError, ...]
    """An error, with its place, for each other key."""

    def of_host(self, name: str) -> list[KernelSetting]:
        """Return the settings of one host."""
        return [setting for setting in self.settings if setting.host == name]


def kernel_keys(scenario: Scenario) -> KernelKeys:
    """Return what a run in real time makes of the keys of TCP that a scenario writes for hosts that are kernels.

    Keys of their profiles are left out: a profile describes a kernel as it comes. A scenario without a source has none.
    """
    if not scenario.source:
        return KernelKeys((), ())
    library = str(catalogue.LIBRARY)
    settings, errors = _native.kernel_keys(scenario.source, scenario.text, library, scenario.overrides)
    return KernelKeys(tuple(KernelSetting(*setting) for setting in settings), tuple(errors))


def with_kernel_settings(scenario: Scenario) -> Scenario:
    """Return a scenario with the settings of its hosts' kernels.

    Raises InputError if an override sets a key that a kernel does not have. Such a key of the file has an effect in
    virtual time, so that it is no error.
    """
    keys = kernel_keys(scenario)
    for error in keys.without_effect:
        if str(error.file or "").startswith(_OVERRIDE):
            raise error
    if not keys.settings:
        return scenario
    specification = deepcopy(scenario.specification)
    for host in specification["hosts"]:
        if own := {setting.name: setting.value for setting in keys.of_host(host["name"])}:
            host["sysctl"] = own
    return replace(scenario, json=json.dumps(specification))
