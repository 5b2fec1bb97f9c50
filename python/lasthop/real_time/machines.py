"""Machines on which hosts or links of a real-time run are (`at = "ssh://host"`), reached by the user's own ssh.

`lasthop live-part` runs on each machine, started from here over ssh; its standard streams are the control connection.
The emulator and the parts exchange frames through this process (`control`), which passes them on without reading
them: it compares versions, and ends all parts when one connection is lost.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from lasthop.scenario import Scenario

SSH: Final = "LASTHOP_SSH"
"""Environment variable with the command to use instead of `ssh`, and its options."""


@dataclass(frozen=True)
class Machine:
    """A machine as a scenario's `at` names it: "ssh://[user@]host[:port][?lasthop=…&udp=…]", checked by the engine."""

    text: str

    @property
    def ssh(self) -> list[str]:
        """The words of the ssh command, to be followed by a command line for the machine's shell."""
        place = urlsplit(self.text)
        user = ["-l", place.username] if place.username else []
        port = ["-p", str(place.port)] if place.port else []
        words = shlex.split(os.environ.get(SSH, "ssh"))
        return [*words, "-T", "-o", "BatchMode=yes", *user, *port, place.hostname or ""]

    @property
    def program(self) -> str:
        """The path of lasthop on that machine."""
        return self._options.get("lasthop", "lasthop")

    @property
    def _options(self) -> dict[str, str]:
        # Not parse_qsl, which reads a plus as a space.
        options = (option.partition("=") for option in urlsplit(self.text).query.split("&") if option)
        return {name: value for name, _, value in options}

    def datagrams(self) -> tuple[str, int | None]:
        """Return the address for datagrams to the machine, and the first port, None if any will do."""
        place = urlsplit(f"//{self._options.get('udp', '')}")
        return place.hostname or self._host_name(), place.port

    def _host_name(self) -> str:
        """Return the host name that ssh's configuration gives for the machine."""
        asked = subprocess.run([*self.ssh[:-1], "-G", self.ssh[-1]], capture_output=True, text=True, check=False)
        names = [line.split()[1] for line in asked.stdout.splitlines() if line.startswith("hostname ")]
        return names[0] if names else self.ssh[-1]


@dataclass(frozen=True)
class Placement:
    """The machines of a scenario's emulator and hosts."""

    emulator: Machine | None
    """The emulator's machine; None is this machine."""
    hosts: Mapping[Machine, Sequence[str]]
    """The hosts on other machines than the emulator's, by machine."""
    is_here: bool
    """Whether some host of the run has the kernel of this machine."""

    @property
    def machines(self) -> Iterator[Machine]:
        """The other machines, the emulator's last."""
        yield from self.hosts
        if self.emulator is not None:
            yield self.emulator

    def key_of(self, machine: Machine) -> str:
        """Return the key of the scenario that names a machine."""
        hosts = self.hosts.get(machine)
        return f"hosts.{hosts[0]}.at" if hosts else "links.at"

    def to_native(self) -> list[tuple[str, str, int | None, list[str]]]:
        """Return the hosts' machines as `_native.live` takes them."""
        return [(machine.text, *machine.datagrams(), list(hosts)) for machine, hosts in self.hosts.items()]


def placement_of(scenario: Scenario) -> Placement:
    """Return the machines of a scenario's parts."""
    specification = scenario.specification
    emulator = next((link["at"] for link in specification["links"] if link.get("at")), None)
    hosts: dict[Machine, list[str]] = {}
    for host in specification["hosts"]:
        if host.get("at") not in {None, emulator}:
            hosts.setdefault(Machine(host["at"]), []).append(host["name"])
    elsewhere = {name for names in hosts.values() for name in names}
    kernels = [host["name"] for host in specification["hosts"] if host.get("stack") in {None, "kernel"}]
    is_here = emulator is None and any(name not in elsewhere for name in kernels)
    return Placement(Machine(emulator) if emulator else None, hosts, is_here)
