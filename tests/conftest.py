"""Fixtures of several tests: the command in a process of its own, and files in an empty folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command import Finished, Lasthop
from small_study import BASE, CHECKS, PUBLISHED, STUDY

# Started in the background, we would inherit that SIGINT is ignored, and so would the commands that tests stop by it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def lasthop(tmp_path: Path) -> Lasthop:
    """Run `lasthop` in a process of its own, in an empty folder."""

    def run(*arguments: object) -> Finished:
        command = [sys.executable, "-m", "lasthop", *map(str, arguments)]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=_plain())
        return Finished(ended.returncode, ended.stdout, ended.stderr)

    return run


def _plain() -> dict[str, str]:
    return {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A scenario file that runs in a moment."""
    path = tmp_path / "base.toml"
    path.write_text(BASE)
    return path


@pytest.fixture
def small_study(tmp_path: Path) -> Path:
    """A study's folder that runs in a moment."""
    folder = tmp_path / "small"
    folder.mkdir()
    for name, text in {
        "base.toml": BASE,
        "study.toml": STUDY,
        "published.csv": PUBLISHED,
        "checks.py": CHECKS,
    }.items():
        (folder / name).write_text(text)
    return folder


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests left out on this machine, with the reasons (`record_property("not run", …)`)."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    calls = [report for report in reports if getattr(report, "when", "") == "call"]
    lines = [str(value) for report in calls for name, value in report.user_properties if name == "not run"]
    if lines:
        terminalreporter.section("NOT RUN on this machine")
        for line in dict.fromkeys(lines):
            terminalreporter.write_line(line)
