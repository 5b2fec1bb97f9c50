"""The library as people use it in a script or a notebook."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lasthop
from lasthop.scenario import load_scenario

TEXT = """
name = "mine"
flows = [{ name = "download", from = "server", to = "mobile", bytes = "100 kB" }]
hosts = { server = { profile = "cubic" }, mobile = { profile = "cubic" } }
[[links]]
name = "lasthop"
between = ["server", "mobile"]
down = { rate = "2 Mbit/s", propagation = "50 ms" }
up = { rate = "2 Mbit/s", propagation = "50 ms" }
[record]
tables = ["segments", "tcp"]
"""

MAPPING = {
    "name": "mine",
    "flows": [{"name": "download", "from": "server", "to": "mobile", "bytes": "100 kB"}],
    "hosts": {"server": {"profile": "cubic"}, "mobile": {"profile": "cubic"}},
    "links": [
        {
            "name": "lasthop",
            "between": ["server", "mobile"],
            "down": {"rate": "2 Mbit/s", "propagation": "50 ms"},
            "up": {"rate": "2 Mbit/s", "propagation": "50 ms"},
        }
    ],
    "record": {"tables": ["segments", "tcp"]},
}


def test_a_scenario_is_run_by_its_name() -> None:
    assert lasthop.run("quickstart").summary == lasthop.run(load_scenario("quickstart")).summary


def test_text_and_mapping_give_the_scenario_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TEXT)
    hashes = {
        load_scenario(tmp_path / "mine.toml").hash,
        lasthop.parse_scenario(TEXT).hash,
        lasthop.parse_scenario(MAPPING).hash,
    }
    assert len(hashes) == 1
    assert lasthop.run(MAPPING).summary == lasthop.run(TEXT).summary


def test_ecn_costs_nothing_where_nothing_is_marked() -> None:
    """What is shipped is compiled with all optimisations, unlike the tests in Rust."""
    plain, marking = (
        lasthop.run(TEXT.replace('profile = "cubic"', f'profile = "{profile}"')).summary["flows"][0]["elapsed_s"]
        for profile in ("sack-6675", "sack-ecn")
    )
    assert marking == pytest.approx(plain, rel=0.01)


def test_overrides_and_seed_reach_what_is_run() -> None:
    run = lasthop.run(TEXT, overrides=['flows.download.bytes="50 kB"'], seed=7)
    assert (run.summary["flows"][0]["bytes"], run.summary["seed"]) == (50_000, 7)


def test_an_error_in_a_text_says_its_line_and_one_in_a_mapping_its_key() -> None:
    with pytest.raises(lasthop.InputError, match="rate") as wrong:
        lasthop.parse_scenario(TEXT.replace("2 Mbit/s", "fast", 1))
    assert wrong.value.line == 8
    with pytest.raises(lasthop.InputError, match=r"hosts\.server\.profile"):
        lasthop.run({**MAPPING, "hosts": {"server": {"profile": "nope"}, "mobile": {}}})


def test_a_run_in_memory_gives_tables_pictures_and_a_view_for_notebooks() -> None:
    run = lasthop.run(TEXT)
    assert isinstance(run.table("segments"), pa.Table)
    assert run.plot("time-sequence", end_s=1.0).axes
    assert "<table>" in run._repr_html_()
    assert "download" in run._repr_html_()
    with pytest.raises(lasthop.InputError, match="recorded no table 'queue'"):
        run.table("queue")


def test_a_run_in_memory_is_explained_as_its_folder_is(tmp_path: Path) -> None:
    in_memory = lasthop.explain(lasthop.run(TEXT))
    folder = lasthop.run_to_folder(lasthop.parse_scenario(TEXT), tmp_path / "mine")
    assert in_memory == lasthop.explain(lasthop.open_run(str(folder.path)))
