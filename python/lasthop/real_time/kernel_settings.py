"""The congestion control and the settings of `[live]`, checked against this kernel."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from lasthop.errors import InputError
from lasthop.scenario import Scenario

SETTINGS: Final = Path("/proc/sys")
KERNEL: Final = "kernel"
"""The stack of a host that names none."""

CONGESTION_CONTROLS: Final = SETTINGS / "net/ipv4/tcp_available_congestion_control"


def check_settings(scenario: Scenario) -> None:
    """Raise InputError if the scenario names a congestion control or a setting that this kernel does not have."""
    named = scenario.specification.get("live", {})
    if SETTINGS.is_dir() and named.get("congestion"):
        _check_congestion(scenario, named["congestion"])
    for name in named.get("sysctl", ()):
        if SETTINGS.is_dir() and not _path(name).exists():
            raise _refusal(scenario, f"live.sysctl.{name}", name, "this kernel has no such setting", _near(name))


def check_overrides(scenario: Scenario) -> None:
    """Raise InputError if an override sets what only a kernel's stack reads, and no host has one."""
    if any(host.get("stack") in (None, KERNEL) for host in scenario.specification["hosts"]):
        return
    for override in scenario.overrides:
        key = override.partition("=")[0].strip()
        if key.startswith(("live.congestion", "live.sysctl")):
            what = "no host has the kernel's stack, which alone reads this key"
            help = "leave it out, or give a host no `stack`"
            raise InputError(what, file=f"--set {override}", key=key, help=help)


def _check_congestion(scenario: Scenario, name: str) -> None:
    there = CONGESTION_CONTROLS.read_text().split() if CONGESTION_CONTROLS.is_file() else [name]
    if name not in there:
        what = f"this kernel has no congestion control {name!r}; it has {', '.join(there)}"
        raise _refusal(scenario, "live.congestion", name, what, f"name one of these, or as root: modprobe tcp_{name}")


def _near(name: str) -> str:
    """Return a remedy with settings of similar names in the same folder."""
    folder = _path(name).parent
    prefix = name.rpartition(".")[0]
    there = [f"{prefix}.{path.name}" for path in folder.iterdir()] if folder.is_dir() else []
    near = get_close_matches(name, there)
    return f"did you mean {' or '.join(near)}?" if near else "`sysctl -aN` lists its settings"


def _path(name: str) -> Path:
    return SETTINGS / name.replace(".", "/")


def _refusal(scenario: Scenario, key: str, name: str, what: str, remedy: str) -> InputError:
    return InputError(what, key=key, help=remedy, **_place(scenario, name))


def _place(scenario: Scenario, name: str) -> dict[str, Any]:
    """Return the place of the name: the last override with it, else the file and its last line with it."""
    for override in reversed(scenario.overrides):
        if name in override:
            return {"file": f"--set {override}"}
    file = Path(scenario.source)
    lines = file.read_text().splitlines() if file.is_file() else []
    found = [number for number, line in enumerate(lines, 1) if name in line.partition("#")[0]]
    return {"file": scenario.source or None, "line": found[-1] if found else None}
