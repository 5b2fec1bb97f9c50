"""Three network namespaces as three machines on one wire, two of them with an sshd of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LASTHOP = Path(sys.executable).parent / "lasthop"
SSHD = Path("/usr/sbin/sshd")
PORT = 2222

NAMES = ("here", "b", "c")
"""The machine of the command, and the machines that ssh reaches."""


def obstacles() -> list[str]:
    """Say what three machines need and is not here."""
    missing = [program for program in ("ssh", "ssh-keygen", "ip") if shutil.which(program) is None]
    if not SSHD.exists():
        missing.append("sshd (apt-get install openssh-server)")
    if os.geteuid() != 0:
        missing.append("root, for sshd and for namespaces with names")
    return missing


@dataclass
class Machines:
    """The machines, their sshds and what is written for them."""

    folder: Path
    mark: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def namespace(self, name: str) -> str:
        """Return what ip(8) calls a machine's namespace."""
        return f"{self.mark}{name}"

    def at(self, name: str, options: str = "") -> str:
        """Return the machine as a scenario names it."""
        return f"ssh://{name}?lasthop={LASTHOP}{options}"

    def start(self, *words: str, **more: object) -> subprocess.Popen[str]:
        """Start a command on the first machine."""
        environment = {**os.environ, "LASTHOP_SSH": f"ssh -F {self.folder / 'config'}"}
        pipe = subprocess.PIPE
        return subprocess.Popen(
            ["ip", "netns", "exec", self.namespace("here"), *words],
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            text=True,
            env={**environment, **{key: str(value) for key, value in more.items()}},
        )

    def lasthop(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run lasthop on the first machine to its end."""
        started = self.start(str(LASTHOP), *words)
        out, err = started.communicate(timeout=120)
        return subprocess.CompletedProcess(words, started.returncode, out, err)


@contextmanager
def three_machines(folder: Path) -> Iterator[Machines]:
    """Make the machines, and take them down whatever happens."""
    machines = Machines(folder, f"lh{os.getpid()}")
    try:
        _wire(machines)
        _keys(folder)
        for name in NAMES[1:]:
            _sshd(machines, name)
        yield machines
    finally:
        for process in machines.processes:
            process.terminate()
            process.wait()
        for name in (*NAMES, "switch"):
            _ip("netns", "del", machines.namespace(name), check=False)


def address(name: str, family: int = 4) -> str:
    """Return a machine's address."""
    return f"{'192.0.2.' if family == 4 else '2001:db8::'}{NAMES.index(name) + 1}"


def _ip(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], check=check, capture_output=not check)


def _wire(machines: Machines) -> None:
    """A switch, and a cable to each machine."""
    switch = machines.namespace("switch")
    _ip("netns", "add", switch)
    _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
    _ip("-n", switch, "link", "set", "dev", "bridge", "up")
    for name in NAMES:
        machine = machines.namespace(name)
        _ip("netns", "add", machine)
        _ip("-n", machine, "link", "add", "eth0", "type", "veth", "peer", "name", name, "netns", switch)
        _ip("-n", switch, "link", "set", "dev", name, "master", "bridge", "up")
        _ip("-n", machine, "addr", "add", f"{address(name)}/24", "dev", "eth0")
        _ip("-n", machine, "addr", "add", f"{address(name, 6)}/64", "dev", "eth0", "nodad")
        for device in ("lo", "eth0"):
            _ip("-n", machine, "link", "set", "dev", device, "up")


def _keys(folder: Path) -> None:
    """A key for the machines, one for the user, and the user's configuration of ssh."""
    for name in ("host", "user"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    hosts = "".join(f"Host {name}\n  HostName {address(name)}\n  Port {PORT}\n" for name in NAMES[1:])
    (folder / "config").write_text(
        f"{hosts}Host *\n  User root\n  IdentityFile {folder / 'user'}\n  IdentitiesOnly yes\n"
        "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n  ConnectTimeout 10\n"
    )


def _sshd(machines: Machines, name: str) -> None:
    folder = machines.folder
    Path("/run/sshd").mkdir(exist_ok=True)
    configuration = folder / f"sshd-{name}"
    configuration.write_text(
        f"ListenAddress {address(name)}:{PORT}\nHostKey {folder / 'host'}\nAuthorizedKeysFile {folder / 'user.pub'}\n"
        "PermitRootLogin yes\nStrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\n"
    )
    words: Sequence[str] = [*("ip", "netns", "exec", machines.namespace(name)), str(SSHD), "-D", "-e", "-f"]
    log = folder / f"sshd-{name}.log"
    with log.open("wb") as written:
        sshd = subprocess.Popen([*words, str(configuration)], stdin=subprocess.DEVNULL, stdout=written, stderr=written)
    machines.processes.append(sshd)
    while "Server listening" not in log.read_text():
        assert sshd.poll() is None, log.read_text()
        time.sleep(0.02)


def toml(value: Any) -> str:
    """Return a value as TOML on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {toml(one)}' for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)
