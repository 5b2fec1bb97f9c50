"""Every command of README, tutorial, recipes and help texts works outside a checkout, from the installed wheel.

A page's commands run in order, in a folder of its own: a scratch checkout where a command names a file of one, an empty
folder otherwise. Programs in real time run in a scratch network. What cannot run here is in the summary of pytest.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from documents.scratch_network import obstacle, scratch_network
from documents.shown import Command, Shown, in_help, page
from documents.typing_in import NEEDS_NETWORK, ROOT, Reader
from lasthop import _native
from lasthop.cli import cli

RECIPES = sorted(f"docs/recipes/{path.name}" for path in ROOT.glob("docs/recipes/*.md"))
PAGES = ["README.md", "docs/tutorial.md", *RECIPES]
HELPS = ["", *cli.list_commands(click.Context(cli))]
SLOW = ("--help of study", "docs/recipes/divided-acks.md", "docs/recipes/other-stacks.md")
"""Pages whose commands take minutes."""


def shown_by(name: str) -> list[Shown]:
    """Return what a page, or the help of a command, shows."""
    if not name.startswith("--help"):
        return page(ROOT / name)
    words = name.removeprefix("--help of ").removeprefix("--help").split()
    return in_help(CliRunner().invoke(cli, [*words, "--help"], prog_name="lasthop", terminal_width=200).output)


def every_page() -> list[object]:
    """Return all pages and help texts, marked by what their commands need."""
    names = [*PAGES, *(f"--help of {command}" if command else "--help" for command in HELPS)]
    return [pytest.param(name, marks=list(marks_of(name))) for name in names]


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    lines = [shown.line for shown in shown_by(name) if isinstance(shown, Command)]
    live = [pytest.mark.live] if any(NEEDS_NETWORK.search(line) for line in lines) else []
    return [*live, *([pytest.mark.slow] if name in SLOW else [])]


def missing_for_real_time() -> str | None:
    """Say why no program can run in real time here."""
    failed = [check["check"] for check in json.loads(_native.doctor()) if not check["ok"]]
    return obstacle() or next((check for check in ("tun", "namespaces") if check in failed), None)


@pytest.mark.parametrize("name", every_page())
def test_every_command_works_as_it_stands(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    shown = shown_by(name)
    folder = tmp_path / "reader"
    folder.mkdir()
    is_live = any(NEEDS_NETWORK.search(one.line) for one in shown if isinstance(one, Command))
    if is_live and missing_for_real_time() is None:
        (tmp_path / "network").mkdir()
        with scratch_network(tmp_path / "network") as network:
            reader = Reader(folder, network)
            reader.types(shown)
    else:
        reader = Reader(folder, None)
        reader.types(shown)
    for line in reader.left_out:
        record_property("not run", line)
