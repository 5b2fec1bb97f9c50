"""Every command of the tutorial, as a new user types it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from command import Lasthop

DOCS = Path(__file__).parent.parent / "docs"


def commands(page: Path) -> list[list[str]]:
    """The commands of the shell on a page, word by word; a line that ends in a backslash goes on."""
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


@pytest.mark.live
def test_every_command_of_the_tutorial_works(lasthop: Lasthop, tmp_path: Path) -> None:
    typed = commands(DOCS / "tutorial.md")
    assert len(typed) >= 12
    has_live = lasthop("doctor").status == 0
    for program, *arguments in typed:
        assert program == "lasthop"
        needs_kernels = arguments[0] in ("live", "doctor") or "results/live" in arguments
        if needs_kernels and not has_live:
            continue
        if "--replications" in arguments:
            arguments[arguments.index("--replications") + 1] = "2"
        ended = lasthop(*arguments)
        assert ended.status == 0, f"{shlex.join(arguments)}: {ended.err}"
    for made in ("my-lte.toml", "both.svg", "results/grid/sweep.parquet", "results/first/report.html"):
        assert (tmp_path / made).is_file(), made
