"""`lasthop run --sweep` and `lasthop.sweep`: a grid of runs as one result."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import lasthop
from command import Lasthop
from lasthop.experiments.sweeps import axis_of, parse_axis
from small_study import BASE

LIMIT = "links.lasthop.down.queue.limit"


def test_every_combination_is_run_under_every_seed() -> None:
    axes = {LIMIT: ["7 packets", "20 packets"], "hosts.server.profile": ["reno", "cubic"]}
    found = lasthop.sweep("quickstart", axes, replications=2)
    assert [case.values for case in found.cases] == [
        ("7 packets", "reno"),
        ("7 packets", "cubic"),
        ("20 packets", "reno"),
        ("20 packets", "cubic"),
    ]
    assert {case.seeds for case in found.cases} == {(1, 2)}


def test_a_case_gives_what_the_same_run_alone_gives() -> None:
    found = lasthop.sweep("quickstart", {LIMIT: ["7 packets"]})
    alone = lasthop.run(lasthop.load_scenario("quickstart", overrides=[f"{LIMIT}=7 packets"])).summary
    assert found.cases[0].summaries[0] == alone


def test_deterministic_runs_are_called_so_and_have_no_interval() -> None:
    found = lasthop.sweep("quickstart", {LIMIT: ["7 packets"]}, replications=3)
    assert found.cases[0].deterministic
    assert found.cases[0].measures["elapsed_s"].mean_ci95 is None


def test_deterministic_runs_are_told_as_such(lasthop: Lasthop) -> None:
    assert "deterministic" in lasthop("run", "quickstart", "--replications", "3").out
    assert "deterministic" in lasthop("run", "quickstart", "--replications", "3", "--sweep", f"{LIMIT}=7 packets").out
    loses = "links.lasthop.down.errors={ probability = 0.05, effect = 'drop' }"
    random = lasthop("run", "quickstart", "--replications", "3", "--set", loses)
    assert "deterministic" not in random.out
    assert "±" in random.out


def test_numbers_on_an_axis_are_numbers_in_the_table() -> None:
    axes: dict[str, list[object]] = {"links.lasthop.down.dropper.probability": [0, 0.05], LIMIT: ["7 packets"]}
    table = lasthop.sweep("quickstart", axes).table()
    assert str(table.schema.field("links.lasthop.down.dropper.probability").type) == "double"
    assert table["links.lasthop.down.dropper.probability"].to_pylist() == [0.0, 0.05]
    assert table[LIMIT].to_pylist() == ["7 packets", "7 packets"]


def test_a_comma_inside_brackets_or_quotes_is_part_of_a_value() -> None:
    assert parse_axis('a.b={ x = 1, y = 2 },[1, 2],"3,4",5').values == ("{ x = 1, y = 2 }", "[1, 2]", '"3,4"', "5")
    assert axis_of("a", [1, True, "text"]).values == ("1", "true", "text")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--sweep", "hosts"], "is no axis"),
        (["--sweep", f"{LIMIT}=7 packets,7 packets"], "names a value twice"),
        (["--sweep", f"{LIMIT}=7 packets", "--sweep", f"{LIMIT}=8 packets"], "is swept twice"),
        (["--sweep", "hosts.server.profile=reno,nope"], 'there is no profile "nope"'),
        (["--sweep", f"{LIMIT}=7 packets", "--replications", "1000000"], "100000 is the most"),
    ],
)
def test_what_cannot_be_swept_is_refused_before_anything_runs(
    lasthop: Lasthop, arguments: list[str], says: str
) -> None:
    refused = lasthop("run", "quickstart", *arguments, "--out", "grid")
    assert refused.status == 2
    assert says in refused.err


def test_the_grid_is_kept_as_json_parquet_and_a_picture(lasthop: Lasthop, tmp_path: Path) -> None:
    grid = ["--sweep", f"{LIMIT}=7 packets,20 packets", "--replications", "2", "--out", "grid"]
    told = lasthop("run", "quickstart", *grid)
    assert told.status == 0
    assert "7 packets" in told.out
    rows = pq.read_table(tmp_path / "grid" / "sweep.parquet").to_pylist()
    assert [(row[LIMIT], row["seed"]) for row in rows] == [
        ("7 packets", 1),
        ("7 packets", 2),
        ("20 packets", 1),
        ("20 packets", 2),
    ]
    index = json.loads((tmp_path / "grid" / "sweep.json").read_text())
    assert index["format"] == "lasthop sweep 1"
    assert len(index["cases"]) == 2
    assert (tmp_path / "grid" / "sweep.svg").read_text().startswith("<?xml")
    assert lasthop("run", "quickstart", *grid).status == 0, "an earlier sweep is replaced"


def test_a_folder_with_something_else_is_left_alone(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    refused = lasthop("run", "quickstart", "--sweep", f"{LIMIT}=7 packets", "--out", "mine")
    assert refused.status == 2
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_a_scenario_in_text_is_swept_and_a_bar_tells_how_far(capsys: pytest.CaptureFixture[str]) -> None:
    grid = lasthop.sweep(BASE, {"flows.download.bytes": ["10 kB", "20 kB"]}, replications=2, progress=True)
    assert [row["bytes"] for row in grid.table().to_pylist()] == [10_000, 10_000, 20_000, 20_000]
    assert "4/4" in capsys.readouterr().err


def test_frames_of_pandas_and_polars_have_the_numbers_as_numbers() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    table = lasthop.sweep(BASE, {"flows.download.bytes": ["10 kB"]}).table()
    assert pandas.api.types.is_numeric_dtype(table.to_pandas()["bytes"])
    assert polars.from_arrow(table)["throughput_Bps"].dtype.is_float()
