"""The command that does the same as the page, for the page to show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from shlex import join

Axis = tuple[str, Sequence[str]]


def run(
    name: str, out: str, overrides: Iterable[str] = (), seed: int | None = None, *, live_name: str | None = None
) -> str:
    """Return the command of one run; `name` is a scenario's file or name, `live_name` that of a run in real time."""
    kind = ["run", name] if live_name is None else ["live", name, "--name", live_name]
    return join(["lasthop", *kind, *_settings(overrides, seed), "--out", out])


def sweep(
    name: str, out: str, axes: Iterable[Axis], replications: int, overrides: Iterable[str] = (), seed: int | None = None
) -> str:
    """Return the command of a sweep."""
    grid = [word for key, values in axes for word in ("--sweep", f"{key}={','.join(values)}")]
    more = ["--replications", str(replications)] if replications > 1 else []
    return join(["lasthop", "run", name, *_settings(overrides, seed), *grid, *more, "--out", out])


def analyze(captures: Sequence[str], out: str) -> str:
    """Return the command that analyzes a capture, or joins those of both ends, into a folder."""
    return join(["lasthop", "analyze", *captures, "--out", out])


def _settings(overrides: Iterable[str], seed: int | None) -> list[str]:
    set_ = [word for override in overrides for word in ("--set", override)]
    return [*set_, *(["--seed", str(seed)] if seed is not None else [])]
