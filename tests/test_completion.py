"""Shell completion: the files that the wheel installs; the paths of keys of `--set`, one step further."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import click
import pytest

from lasthop.cli.keys import complete_keys
from lasthop.cli.run import command

INSTALLED: Final = {
    "bash": "bash-completion/completions/lasthop",
    "zsh": "zsh/site-functions/_lasthop",
    "fish": "fish/vendor_completions.d/lasthop.fish",
}
"""The files of shells in the folder `share` of an installation."""


def offered(incomplete: str, file: str = "quickstart") -> list[str]:
    context = click.Context(command)
    context.params = {"file": file}
    option = next(each for each in command.params if each.name == "overrides")
    return [item.value for item in complete_keys(context, option, incomplete)]


@pytest.mark.parametrize(
    ("begun", "whole"),
    [
        ("lin", "links"),
        ("links.", "links.lasthop"),
        ("links.lasthop.down.q", "links.lasthop.down.queue"),
        ("links.lasthop.down.queue.discipline.fq", "links.lasthop.down.queue.discipline.fq-codel"),
        ("links.lasthop.down.queue.discipline.red.mi", "links.lasthop.down.queue.discipline.red.min"),
        ("hosts.", "hosts.server"),
        ("hosts.server.tcp.con", "hosts.server.tcp.congestion"),
        ("flows.download.by", "flows.download.bytes"),
        ("record.ta", "record.tables"),
    ],
)
def test_a_path_is_continued_by_one_step(begun: str, whole: str) -> None:
    assert whole in offered(begun)


def test_values_are_not_completed_and_unknown_files_offer_the_keys_of_all() -> None:
    assert offered("links.lasthop.down.rate=1") == []
    assert offered("links.", "no-such-file") == []
    assert "live" in offered("l", "no-such-file")


def source_of(shell: str) -> str:
    """Return the script that the command prints for a shell."""
    return subprocess.run(
        [sys.executable, "-m", "lasthop"],
        env={**os.environ, "_LASTHOP_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize(("shell", "file"), INSTALLED.items())
def test_the_wheel_installs_the_completion_that_the_command_prints(shell: str, file: str) -> None:
    assert (Path(sys.prefix) / "share" / file).read_text() == source_of(shell)


def test_bash_completes_by_the_installed_file() -> None:
    script = f"""
        source {sys.prefix}/share/{INSTALLED["bash"]}
        COMP_WORDS=(lasthop exp) COMP_CWORD=1
        _lasthop_completion {sys.prefix}/bin/lasthop
        echo "${{COMPREPLY[@]}}"
    """
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["explain", "export"]
