"""Machines on which hosts or links of a real-time run are (`at = "ssh://host"`), reached by the user's own ssh.

On each one runs `lasthop live-part`, started here over ssh; its standard streams are the control connection. The
emulator, here or there, and the parts exchange frames through this process (`control`), which passes them on and
understands none: it compares versions, and when one connection is lost it ends them all.
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
"""The variable that has another command than `ssh`, with its options."""


@dataclass(frozen=True)
class Machine:
    """What `at` says. The engine has checked it."""

    text: str

    @property
    def ssh(self) -> list[str]:
        """The command that begins a line for the machine's shell."""
        place = urlsplit(self.text)
        user = ["-l", place.username] if place.username else []
        port = ["-p", str(place.port)] if place.port else []
        words = shlex.split(os.environ.get(SSH, "ssh"))
        return [*words, "-T", "-o", "BatchMode=yes", *user, *port, place.hostname or ""]

    @property
    def program(self) -> str:
        """The program there."""
        return self._options.get("lasthop", "lasthop")

    @property
    def _options(self) -> dict[str, str]:
        # Not parse_qsl: a plus is a plus here.
        options = (option.partition("=") for option in urlsplit(self.text).query.split("&") if option)
        return {name: value for name, _, value in options}

    def datagrams(self) -> tuple[str, int | None]:
        """Return where its datagrams go: the address, and the first port if one is chosen."""
        place = urlsplit(f"//{self._options.get('udp', '')}")
        return place.hostname or self._host_name(), place.port

    def _host_name(self) -> str:
        """The name behind what the user calls the machine in ssh's configuration."""
        asked = subprocess.run([*self.ssh[:-1], "-G", self.ssh[-1]], capture_output=True, text=True, check=False)
        names = [line.split()[1] for line in asked.stdout.splitlines() if line.startswith("hostname ")]
        return names[0] if names else self.ssh[-1]


@dataclass(frozen=True)
class Placement:
    """Where the emulator and the hosts of a scenario are."""

    emulator: Machine | None
    """None is here."""
    hosts: Mapping[Machine, Sequence[str]]
    """The hosts that are on another machine than the emulator."""
    is_here: bool
    """Whether some kernel of the run is this machine's."""

    @property
    def machines(self) -> Iterator[Machine]:
        """All machines, the emulator's last."""
        yield from self.hosts
        if self.emulator is not None:
            yield self.emulator

    def key_of(self, machine: Machine) -> str:
        """Return the key of the scenario that names a machine."""
        hosts = self.hosts.get(machine)
        return f"hosts.{hosts[0]}.at" if hosts else "links.at"

    def to_native(self) -> list[tuple[str, str, int | None, list[str]]]:
        """Return the machines as the engine takes them."""
        return [(machine.text, *machine.datagrams(), list(hosts)) for machine, hosts in self.hosts.items()]


def placement_of(scenario: Scenario) -> Placement:
    """Return where a scenario's parts are."""
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
