"""The library as people use it in a script or a notebook."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lasthop
from lasthop import progress_bar
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
    """The shipped build has all optimisations, unlike the tests in Rust."""
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


def test_what_a_prompt_shows_of_a_result_is_short(tmp_path: Path) -> None:
    run = lasthop.run(TEXT)
    grid = lasthop.sweep(TEXT, {"hosts.server.profile": ["reno", "cubic"]})
    folder = lasthop.run_to_folder(TEXT, tmp_path / "mine")
    shown = [run, folder, grid, lasthop.parse_scenario(TEXT), lasthop.load_study("sarolahti2000", ["14"])]
    assert [one for one in shown if len(repr(one)) > 300] == []
    assert "mine" in repr(run)
    assert "2 runs" in repr(grid)


def test_a_grid_in_a_notebook_is_a_table_of_its_cases() -> None:
    grid = lasthop.sweep(TEXT, {"hosts.server.profile": ["reno", "cubic"]})
    assert grid._repr_html_().count("<tr>") == 1 + 2
    assert ">cubic<" in grid._repr_html_()


def test_overrides_may_be_a_mapping_of_any_values() -> None:
    overrides = {"flows.download.bytes": "50 kB", "record.tables": ["tcp"], "hosts.server.profile": "reno"}
    run = lasthop.run(TEXT, overrides=overrides)
    assert run.flows.column("bytes").to_pylist() == [50_000]
    assert "tcp" in run.table_names
    assert "segments" not in run.table_names
    assert {host["profile"] for host in run.specification["hosts"]} == {"reno", "cubic"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"overrides": "hosts.server.profile=reno"}, "neither a mapping nor a list"),
        ({"overrides": {"hosts.server.profile": "nope"}}, r"overrides\['hosts.server.profile'\]"),
        ({"seed": -1}, "-1 is no seed"),
        ({"seed": 2**64}, "from 0 to"),
    ],
)
def test_a_wrong_argument_is_an_error_in_words_of_python(given: dict[str, Any], words: str) -> None:
    with pytest.raises(lasthop.InputError, match=words) as wrong:
        lasthop.run(TEXT, **given)
    assert "--set" not in str(wrong.value)


def test_overrides_of_a_resolved_scenario_are_refused_and_not_left_out() -> None:
    with pytest.raises(lasthop.InputError, match="takes no overrides"):
        lasthop.run(lasthop.parse_scenario(TEXT), seed=7)


def test_a_text_as_the_values_of_an_axis_is_one_value() -> None:
    grid = lasthop.sweep(TEXT, {"hosts.server.profile": "reno", "links.lasthop.mtu": "1400 bytes"})
    assert [case.values for case in grid.cases] == [("reno", "1400 bytes")]


def test_a_wrong_value_of_an_axis_is_named_with_its_axis() -> None:
    with pytest.raises(lasthop.InputError, match=r"axis flows\.download\.bytes=20000: .* has no unit"):
        lasthop.sweep(TEXT, {"flows.download.bytes": [20_000]})


def test_paths_may_be_texts(tmp_path: Path) -> None:
    run = lasthop.run(TEXT)
    lasthop.write_run(run, str(tmp_path / "run"))
    assert lasthop.open_run(str(tmp_path / "run")).flows.equals(run.flows)
    assert lasthop.explain(str(tmp_path / "run")) == lasthop.explain(run)
    assert lasthop.export(str(tmp_path / "run"), "csv", str(tmp_path / "csv"))
    lasthop.sweep(TEXT, {"hosts.server.profile": "reno"}).write(str(tmp_path / "grid"))
    assert (tmp_path / "grid" / "sweep.json").is_file()


def test_a_study_is_run_by_its_path_and_its_result_is_a_table(small_study: Path, tmp_path: Path) -> None:
    result = lasthop.run_study(str(small_study), str(tmp_path / "result"))
    assert len(repr(result)) < 100
    assert "<table>" in result._repr_html_()
    assert lasthop.open_study(str(tmp_path / "result")).table("rows").num_rows == len(result.rows)


def test_a_bar_in_a_notebook_is_shown_once_and_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display")
    shown: list[str] = []

    class Handle:
        def update(self, bar: Any) -> None:
            shown.append(bar._repr_html_())

    monkeypatch.setattr(progress_bar, "_is_notebook", lambda: True)
    monkeypatch.setattr(display, "display", lambda _bar, **_: Handle())
    lasthop.sweep(TEXT, {"flows.download.bytes": ["10 kB", "20 kB"]}, progress=True)
    assert "runs: 2 of 2" in shown[-1]


BENT: list[tuple[str, Any]] = [
    ("summary", 1),
    ("files", []),
    ("summary.flows", {}),
    ("summary.links", [3]),
    ("summary.flows.0.retransmissions", "many"),
    ("summary.flows.0.throughput_Bps", []),
    ("summary.stopped_s", None),
    ("specification", "x"),
]


@pytest.mark.parametrize(("key", "value"), BENT, ids=[key for key, _ in BENT])
def test_a_bent_index_is_damaged_and_says_where(tmp_path: Path, key: str, value: object) -> None:
    lasthop.write_run(lasthop.run(TEXT), tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    index = json.loads(path.read_text())
    inner: Any = index
    *steps, last = key.split(".")
    for step in steps:
        inner = inner[int(step) if isinstance(inner, list) else step]
    inner[last] = value
    path.write_text(json.dumps(index))
    for read in (lasthop.open_run, lasthop.explain, lambda folder: lasthop.compare([folder, folder])):
        with pytest.raises(lasthop.InputError, match=f"is damaged: {last if not steps else steps[0]}"):
            read(tmp_path / "run")


def test_an_index_that_is_a_list_or_lacks_a_key_is_damaged(tmp_path: Path) -> None:
    lasthop.write_run(lasthop.run(TEXT), tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    index = json.loads(path.read_text())
    for text in ("[1, 2]", json.dumps({key: value for key, value in index.items() if key != "summary"})):
        path.write_text(text)
        with pytest.raises(lasthop.InputError, match="is damaged"):
            lasthop.open_run(tmp_path / "run")
