"""A reader who types a page's commands, in order, in an empty folder."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from documents.reader import supply
from documents.scratch_network import ScratchNetwork
from documents.shown import Command, File, Shown

ROOT: Final = Path(__file__).parent.parent.parent

NEEDS_NETWORK: Final = re.compile(r"\blasthop (?:live|shell|fetch|serve-file|router|set)\b|^tcpdump\b")
UNTIL_STOPPED: Final = re.compile(r"^lasthop (?:router\b|serve(?= |$)|serve-file\b(?!.* -- ))|^tcpdump\b")
"""Commands that run until Ctrl-C."""

ROUTER: Final = "lasthop router lab.toml --between left right --name lab"
"""The router that `lasthop set` changes, where the page has started none."""

_IN_CHECKOUT: Final = re.compile(r"\.venv/|\b(?:scripts|studies|docs|crates)/")
_CHECKOUT: Final = ("README.md", "docs", "scripts", "studies", "scenarios", "profiles", "presets")

_NOT_HERE: Final = {
    r"ssh://|my-lab\.toml": "needs other machines (tests/test_machines.py has them)",
    r"^pip install|^uv ": "installs a package",
    r"^tcpdump -i eth0 ": "captures an interface without traffic; the reader has captures",
    r"tcp://head:": "needs a scheduler of Dask (tests/test_cluster.py has one)",
    r"study (?:stacks|cheskis2006|all)\b": "takes minutes; tests of studies have short forms",
    r"live web-quic\b": "takes five minutes of real time; live tests have short forms",
    r"chromium": "opens a window",
    r"^studies/stacks/programs/build|results/stacks-programs": "builds stacks of others, over the Internet",
    r"^cargo ": "builds Rust",
}
"""Commands that this test does not run, with the reasons."""

_FOREIGN: Final = ("tcpdump", "iperf3", "xplot", "curl", "ping", "make")
"""Programs of others that commands start."""

WRITTEN: Final = re.compile(r"--(?:out|output) ([\w./-]+)")
"""Pattern of the option of a command that names the files it writes."""

READY_S: Final = 30.0
"""Longest wait for the first words of a command that runs until it is stopped."""


@dataclass
class Reader:
    """A folder, perhaps a network, and what was not run with the reasons."""

    folder: Path
    network: ScratchNetwork | None
    left_out: list[str] = field(default_factory=list)
    _without: set[str] = field(default_factory=set)
    _running: subprocess.Popen[str] | None = None

    def types(self, page: Iterable[Shown]) -> None:
        """Type every command; write every file that the page prints."""
        try:
            for shown in page:
                if isinstance(shown, File):
                    (self.folder / shown.name).write_text(shown.text)
                else:
                    self._type(shown)
        finally:
            self._stop()

    def _type(self, command: Command) -> None:
        if reason := self._reason_against(command.line):
            self.left_out.append(f"{command.line}: {reason}")
            self._without.update(WRITTEN.findall(command.line))
            return
        if _IN_CHECKOUT.search(command.line):
            self._check_out()
        supply(command.line, self.folder, self._supplied)
        if command.line.startswith("lasthop set ") and self._running is None:
            self._type(Command(ROUTER))
        line = re.sub(r"^make ", f"make -n -C {ROOT} ", command.line)
        if UNTIL_STOPPED.search(line):
            self._start(line)
            return
        ended = self._run(line)
        assert ended.returncode == command.status, f"{line}\nstatus {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
        for name in WRITTEN.findall(line):
            assert (self.folder / name).exists(), f"{line}\nwrote no {name}"

    def _reason_against(self, line: str) -> str | None:
        """Say why a command cannot be run, or return None."""
        for pattern, reason in _NOT_HERE.items():
            if re.search(pattern, line):
                return reason
        if "--cluster" in line and find_spec("distributed") is None:
            return "needs Dask (distributed)"
        if "--show" in line and shutil.which("script") is None:
            return "script is not installed"
        for program in _FOREIGN:
            if re.search(rf"(?:^|[\s'&|]){program} ", line) and shutil.which(program) is None:
                return f"{program} is not installed"
        if NEEDS_NETWORK.search(line) and self.network is None:
            return "needs root, network namespaces and /dev/net/tun"
        if any(re.search(rf"{re.escape(name)}(?:[\s/]|$)", line) for name in self._without):
            return "needs the result of a command that was not run"
        return None

    def _check_out(self) -> None:
        for name in _CHECKOUT:
            source, target = ROOT / name, self.folder / name
            if not target.exists():
                copy = shutil.copytree if source.is_dir() else shutil.copy
                copy(source, target)
        venv = self.folder / ".venv"
        if not venv.exists():
            (venv / "bin").mkdir(parents=True)
            for name in ("lasthop", "activate"):
                (venv / "bin" / name).symlink_to(Path(sys.executable).parent / name)

    def _supplied(self, line: str) -> None:
        ended = self._run(line)
        assert ended.returncode == 0, f"{line}\n{ended.stderr}"

    def _run(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._words(line),
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )

    def _words(self, line: str) -> list[str]:
        if "--show" in line:  # it shows in a terminal
            return ["script", "--quiet", "--return", "--command", line, "/dev/null"]
        entering = self.network.entering(self.folder) if self.network and NEEDS_NETWORK.search(line) else []
        return [*entering, "bash", "-o", "pipefail", "-c", line]

    @property
    def _environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        plain = {key: value for key, value in os.environ.items() if not key.startswith("LASTHOP_")}
        more = self.network.environment if self.network else {}
        return {**plain, "PATH": path, "NO_COLOR": "1", "SHELL": "/bin/sh", "MPLBACKEND": "agg", **more}

    def _start(self, line: str) -> None:
        """Start a command that runs until it is stopped, in place of the last one, and wait for its first words."""
        self._stop()
        said = self.folder / ".said"
        with said.open("w") as out:
            self._running = subprocess.Popen(
                [*self._words(f"exec {line}")],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                text=True,
            )
        end = time.monotonic() + READY_S
        while not said.read_text() and self._running.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        assert self._running.poll() is None, f"{line}\n{said.read_text()}"
        assert said.read_text(), f"{line}: no word for {READY_S} s"

    def _stop(self) -> None:
        """Press Ctrl-C on what runs."""
        if self._running is None:
            return
        running, self._running = self._running, None
        running.send_signal(signal.SIGINT)
        status = running.wait(READY_S)
        assert status == 0, f"{running.args!r}\nstatus {status}\n{(self.folder / '.said').read_text()}"
