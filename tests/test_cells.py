"""Shared channels from the command line: what is wrong in a scenario is said with file, line, key and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Lasthop

SCENARIO = """name = "cell"
stop = "1 s"
routers = ["node-b"]
[hosts]
server = { profile = "newreno" }
caller = { profile = "newreno", count = 3 }
[[links]]
name = "core"
between = ["server", "node-b"]
down = {}
up = {}
[[links]]
name = "radio"
between = ["node-b", "caller-*"]
up = {}
cell = { scheduler = "max-rate" }
user = { queue_limit = "100 kB" }
[[flows]]
name = "call"
from = "server"
to = "caller-*"
workload = { voip = { budget = "80 ms" } }
"""

CELL = 'cell = { scheduler = "max-rate" }'
USER = 'user = { queue_limit = "100 kB" }'
BLOCKS = (
    'cell = { adaptation = { blocks = [{ bits = 200, codes = 1, needs = "-3 dB" }, '
    '{ bits = 100, codes = 1, needs = "0 dB" }] } }'
)


@pytest.mark.parametrize(
    ("right", "wrong", "line", "key", "what", "remedy"),
    [
        (
            USER,
            'user = { place = ["90 km", "0 m"] }',
            17,
            "user.place",
            "outside the plan",
            "write a place in the plan",
        ),
        (CELL, 'cell = { scheduler = "mr-min" }', 16, "scheduler", "beta", "add beta"),
        (
            CELL,
            "cell = { scheduler = { mr-min = { beta = 0.0 } } }",
            16,
            "beta",
            "not above 0",
            "write a number above 0",
        ),
        (CELL, 'cell = { scheduler = "max-rat" }', 16, "scheduler", "max-rat", "write one of round-robin, max-rate"),
        (USER, 'user = { budget = "1 ms" }', 17, "user.budget", "shorter than a TTI", "write 2 ms or more"),
        (CELL, BLOCKS, 16, "blocks", "not larger", "by growing bits"),
        (CELL, "down = {}", 17, "user", "no shared channel", "add a cell or a channel"),
    ],
)
def test_a_wrong_cell_is_said_with_file_line_key_and_remedy(
    lasthop: Lasthop, tmp_path: Path, right: str, wrong: str, line: int, key: str, what: str, remedy: str
) -> None:
    (tmp_path / "cell.toml").write_text(SCENARIO.replace(right, wrong, 1))
    ended = lasthop("run", "cell.toml", "--json")
    assert (ended.status, ended.out) == (2, "")
    assert f"cell.toml:{line}: " in ended.err
    for part in (key, what, remedy):
        assert part in ended.err


def test_a_budget_shorter_than_a_tti_is_refused_where_a_workload_sets_it(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "cell.toml").write_text(SCENARIO.replace('"80 ms"', '"1 ms"'))
    ended = lasthop("run", "cell.toml", "--json")
    assert (ended.status, ended.out) == (2, "")
    assert "cell.toml" in ended.err
    assert "shorter than a TTI" in ended.err


def test_each_user_of_a_cell_stands_in_the_summary(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "cell.toml").write_text(SCENARIO)
    (cell,) = lasthop("run", "cell.toml", "--json").json["cells"]
    assert [user["host"] for user in cell["users"]] == ["caller-1", "caller-2", "caller-3"]
    assert len({user["sector"] for user in cell["users"]}) == 3
