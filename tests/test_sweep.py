"""`lasthop run --sweep` and `lasthop.sweep`: a grid of runs as one result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import lasthop
from command import Lasthop
from lasthop import _native, sweep
from lasthop.errors import RunError
from lasthop.experiments.journal import JOURNAL_FILE
from lasthop.experiments.sweeps import Case, axis_of, parse_axis
from lasthop.experiments.totals import Rivals, rivals_of
from lasthop.plots.sweep import draw_sweep, key_in_words
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


def test_deterministic_runs_are_reported_as_such(lasthop: Lasthop) -> None:
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
    shown = lasthop("run", "quickstart", *grid)
    assert shown.status == 0
    assert "7 packets" in shown.out
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


def test_a_scenario_in_text_is_swept_and_a_bar_reports_how_far(capsys: pytest.CaptureFixture[str]) -> None:
    grid = lasthop.sweep(BASE, {"flows.download.bytes": ["10 kB", "20 kB"]}, replications=2, progress=True)
    assert [row["bytes"] for row in grid.table().to_pylist()] == [10_000, 10_000, 20_000, 20_000]
    assert "4/4" in capsys.readouterr().err


def test_frames_of_pandas_and_polars_have_the_numbers_as_numbers() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    table = lasthop.sweep(BASE, {"flows.download.bytes": ["10 kB"]}).table()
    assert pandas.api.types.is_numeric_dtype(table.to_pandas()["bytes"])
    assert polars.from_arrow(table)["throughput_Bps"].dtype.is_float()


LINK_BPS = 4e6

TWO_AND_A_CALL = """
name = "late"
hosts = { server = { profile = "cubic" }, phone = { profile = "cubic" } }
flows = [
    { name = "early", from = "server", to = "phone", until = "6 s" },
    { name = "late", from = "server", to = "phone", start = "3 s", until = "6 s" },
    { name = "call", from = "server", to = "phone", until = "6 s", workload = { voip = {} } },
]
[[links]]
name = "lasthop"
between = ["server", "phone"]
down = { rate = "4 Mbit/s", propagation = "20 ms", queue = { limit = "40 packets" } }
up = { rate = "4 Mbit/s", propagation = "20 ms" }
"""


def test_a_sweep_says_what_its_totals_are_of(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "late.toml").write_text(TWO_AND_A_CALL)
    ended = lasthop("run", "late.toml", "--sweep", "hosts.server.profile=cubic,reno")
    assert "Mbit/s: what all 3 flows received, over the whole run" in ended.out
    assert "Jain's index: of the 2 bulk flows that share lasthop.down" in ended.out


def test_the_total_of_flows_is_what_they_received_by_the_length_of_the_run() -> None:
    for case in lasthop.sweep(TWO_AND_A_CALL, {"hosts.server.profile": ["cubic", "reno"]}).cases:
        (summary,) = case.summaries
        total = case.measures["throughput_Bps"].mean
        assert total == pytest.approx(sum(flow["received"] for flow in summary["flows"]) / summary["stopped_s"])
        assert total * 8 <= LINK_BPS
        assert total < sum(flow["throughput_Bps"] for flow in summary["flows"])


def test_a_call_does_not_compete_with_downloads() -> None:
    (case,) = lasthop.sweep(TWO_AND_A_CALL, {"hosts.server.profile": ["cubic"]}).cases
    assert case.rivals == Rivals(("early", "late"), "lasthop.down")
    rates = [flow["throughput_Bps"] for flow in case.summaries[0]["flows"][:2]]
    assert case.measures["fairness"].mean == pytest.approx(sum(rates) ** 2 / (2 * sum(rate**2 for rate in rates)))


def test_users_of_a_cell_compete_for_it_and_flows_over_different_links_do_not() -> None:
    cell = lasthop.load_scenario("moving-users").specification
    assert rivals_of(cell).place == cell["cells"][0]["name"]
    apart = {
        "routers": [],
        "links": [{"name": name, "between": ["a", name]} for name in ("b", "c")],
        "flows": [{"name": name, "from": "a", "to": name} for name in ("b", "c")],
    }
    assert rivals_of(apart) == Rivals()


def test_after_a_warm_up_a_total_is_of_the_window() -> None:
    (case,) = lasthop.sweep(
        TWO_AND_A_CALL, {"hosts.server.profile": ["cubic"]}, overrides=["measure.warm_up='4 s'"]
    ).cases
    windows = [flow["windows"][0] for flow in case.summaries[0]["flows"]]
    length = windows[0]["to_s"] - windows[0]["from_s"]
    assert case.measures["throughput_Bps"].mean == pytest.approx(sum(each["received"] for each in windows) / length)


def test_a_picture_of_a_sweep_names_keys_in_words() -> None:
    assert key_in_words("links.lasthop.down.queue.limit") == "queue limit of lasthop.down"
    assert key_in_words("hosts.server.profile") == "profile of server"
    found = lasthop.sweep(
        "quickstart",
        {
            "hosts.server.profile": ["reno", "cubic"],
            "links.lasthop.down.queue.limit": ["7 packets", "20 packets"],
            "links.lasthop.down.queue.discipline": ["tail-drop", "codel"],
        },
    )
    figure = draw_sweep(found)
    titles = [axes.get_title(loc="left") for axes in figure.axes[:2]]
    assert titles == [f"queue discipline of lasthop.down: {name}" for name in ("tail-drop", "codel")]
    assert figure.axes[-1].get_xlabel() == "Profile of server"
    for axes in figure.axes:
        top = axes.get_ylim()[1]
        assert all(np.max(np.asarray(line.get_ydata())) <= top for line in axes.lines)


def test_a_key_that_changes_no_number_is_named(lasthop: Lasthop) -> None:
    other = "hosts.mobile.tcp.congestion"
    axes = ["--sweep", f"{LIMIT}=7 packets,20 packets", "--sweep", f"{other}=reno,cubic"]
    assert f"{other} changes nothing" in lasthop("run", "quickstart", *axes).out
    assert lasthop("run", "quickstart", *axes, "--json").json["without_effect"] == [other]


def test_a_key_that_is_set_and_varied_is_refused(lasthop: Lasthop) -> None:
    ended = lasthop("run", "quickstart", "--set", f"{LIMIT}=7 packets", "--sweep", f"{LIMIT}=7 packets,20 packets")
    assert ended.status == 2
    assert f"{LIMIT} is varied by --sweep as well" in ended.err


LIMITS = {LIMIT: ["7 packets", "20 packets", "50 packets"]}


class StoppedHereError(Exception):
    """Raised in the middle of a sweep."""


def stop(_: Case) -> None:
    raise StoppedHereError


def test_a_stopped_sweep_continues_with_the_runs_that_are_missing(tmp_path: Path) -> None:
    folder = tmp_path / "grid"
    with pytest.raises(StoppedHereError):
        sweep("quickstart", LIMITS, jobs=1, folder=folder, ended=stop)
    journal = folder / JOURNAL_FILE
    known = [json.loads(line) for line in journal.read_text().splitlines()]
    assert len(known) == 2
    known[1]["summary"]["flows"][0]["retransmissions"] = 1234
    # A kill can leave a line that is not whole.
    journal.write_text("".join(json.dumps(line) + "\n" for line in known) + '{"case": "ab')
    done = []
    found = sweep("quickstart", LIMITS, jobs=1, folder=folder, ended=lambda case: done.append(case.values))
    assert found.cases[0].measures["retransmissions"].mean == 1234
    whole = sweep("quickstart", LIMITS)
    assert [case.summaries for case in found.cases[1:]] == [case.summaries for case in whole.cases[1:]]
    assert done == [("7 packets",), ("20 packets",), ("50 packets",)]
    found.write(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["sweep.json", "sweep.parquet", "sweep.svg"]


def test_a_failed_run_stops_no_other_and_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = _native.run_batch

    def second_fails(cases: Any, runs: Any, jobs: int, finished: Any) -> None:
        batch(cases, runs, jobs, lambda ended: finished([(n, OSError("full") if n == 1 else run) for n, run in ended]))

    folder = tmp_path / "grid"
    with monkeypatch.context() as patched:
        patched.setattr(_native, "run_batch", second_fails)
        with pytest.raises(RunError, match="limit=20 packets, seed 1: full"):
            sweep("quickstart", LIMITS, folder=folder)
    repeated: list[tuple[int, int]] = []

    def noting(cases: Any, runs: Any, jobs: int, finished: Any) -> None:
        repeated.extend(runs)
        batch(cases, runs, jobs, finished)

    monkeypatch.setattr(_native, "run_batch", noting)
    assert len(sweep("quickstart", LIMITS, folder=folder).cases) == 3
    assert repeated == [(1, 1)]


def test_a_sweep_whose_first_run_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def all_fail(_cases: Any, _runs: Any, _jobs: int, finished: Any) -> None:
        finished([(number, OSError("full")) for number in range(3)])

    monkeypatch.setattr(_native, "run_batch", all_fail)
    with pytest.raises(RunError, match="2 more runs failed"):
        sweep("quickstart", LIMITS, folder=tmp_path / "grid")
    assert list(tmp_path.iterdir()) == []
