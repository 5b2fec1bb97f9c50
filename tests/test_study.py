"""`lasthop study` on a small study: rows and claims, resumed, failing, in parallel."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from command import Lasthop
from lasthop.cli import study_tables
from lasthop.cli.study_tables import print_study_table
from lasthop.results.folder import STORE_FILE
from lasthop.study import Precision, load_study, open_study, run_study


def rows_by(found: Any) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {(row["table"], row["queue"], row["delay"], row["metric"]): row for row in found["rows"]}


def test_a_study_prints_rows_and_claims(lasthop: Lasthop, small_study: Path) -> None:
    ended = lasthop("study", small_study, "--out", "r", "--json")
    assert ended.status == 0, ended.err
    found = ended.json
    assert {"study", "wall_s", "cpu_s", "runs", "rows", "claims"} <= found.keys()
    # Table 1: two queues, without and with a delay of three steps; table 2: four seeds.
    assert found["runs"] == 2 * (1 + 3) + 4
    rows = rows_by(found)
    plain = rows[1, 7, "none", "elapsed_s"]
    assert (plain["published"], plain["published_q25"], plain["n"]) == (5.5, 5.4, 1)
    assert plain["ratio"] == pytest.approx(plain["measured"] / 5.5)
    assert "low" not in plain
    spanned = rows[1, 7, "10@2s", "elapsed_s"]
    assert spanned["published"] is None
    assert spanned["low"] <= spanned["measured"] <= spanned["high"]
    assert rows[2, 7, "random", "elapsed_s"]["n"] == 4
    small = rows[1, 3, "none", "drops"], rows[1, 3, "none", "drops_slowstart"]
    assert small[0]["measured"] >= small[1]["measured"] > 0


def test_claims_are_judged_by_expressions_and_by_checks(lasthop: Lasthop, small_study: Path) -> None:
    claims = {claim["id"]: claim for claim in lasthop("study", small_study, "--out", "r", "--json").json["claims"]}
    assert claims["1"]["holds"] is True
    assert "without" in claims["1"]["evidence"]
    assert claims["2"] == {
        "id": "2",
        "says": "The queue was full.",
        "place": "nowhere",
        "setup": False,
        "holds": True,
        "evidence": "longest queue {3: 3}",
    }


def test_a_claim_that_divides_by_what_came_to_zero_is_not_judged_and_loses_nothing(
    lasthop: Lasthop, small_study: Path, tmp_path: Path
) -> None:
    study = small_study / "study.toml"
    study.write_text(study.read_text().replace('"with > without + 1"', '"with / (without - without) > 1"'))
    ended = lasthop("study", small_study, "--out", "r")
    assert ended.status == 0, ended.err
    assert re.search(
        r"1  not judged  A delay takes time.*\n +with / \(without - without\) > 1: .*zero; with", ended.out
    )
    assert [claim["holds"] for claim in open_study(tmp_path / "r").claims] == [None, True]


def test_a_claim_whose_rows_were_not_run_is_not_judged(lasthop: Lasthop, small_study: Path) -> None:
    found = lasthop("study", small_study, "--only", "2", "--out", "r", "--json").json
    assert [claim["holds"] for claim in found["claims"]] == [None, None]
    assert {row["table"] for row in found["rows"]} == {2}


def test_the_number_of_threads_changes_nothing(small_study: Path, tmp_path: Path) -> None:
    results = [run_study(load_study(small_study), tmp_path / f"r{jobs}", jobs=jobs) for jobs in (1, 3)]
    assert results[0].rows == results[1].rows
    tables = [pq.read_table(result.folder / "study.parquet") for result in results]
    assert tables[0].equals(tables[1])


def test_all_cases_meet_the_same_seeds(small_study: Path) -> None:
    study = load_study(small_study).replicated(3)
    assert {case.seeds for case in study.cases.values()} == {(1, 2, 3)}


def test_what_is_known_is_not_run_again(small_study: Path, tmp_path: Path) -> None:
    study = load_study(small_study)
    first = run_study(study, tmp_path / "r")
    again = run_study(study, tmp_path / "r")
    assert (first.reused, again.reused) == (0, first.runs)
    assert again.rows == first.rows
    more = run_study(study.replicated(6), tmp_path / "r")
    assert more.reused == first.runs
    assert more.runs > first.runs


def test_a_store_that_was_cut_short_goes_on_where_it_was(small_study: Path, tmp_path: Path) -> None:
    study = load_study(small_study)
    whole = run_study(study, tmp_path / "r")
    store = tmp_path / "r" / STORE_FILE
    content = store.read_bytes()
    store.write_bytes(content[: len(content) // 2])
    resumed = run_study(study, tmp_path / "r")
    assert 0 < resumed.reused < whole.runs
    assert resumed.rows == whole.rows


def test_a_line_that_was_damaged_costs_its_own_run_alone(lasthop: Lasthop, small_study: Path, tmp_path: Path) -> None:
    whole = lasthop("study", small_study, "--out", "r", "--json").json
    store = tmp_path / "r" / STORE_FILE
    lines = store.read_bytes().splitlines(keepends=True)
    store.write_bytes(b"".join([lines[0], b"garbage\n", *lines[2:]]))
    again = lasthop("study", small_study, "--out", "r", "--json")
    assert again.json["reused"] == whole["runs"] - 1
    assert again.json["rows"] == whole["rows"]
    assert f"{STORE_FILE}: line 2 is damaged and ignored" in again.err


def start(study: Path, folder: Path, replications: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "lasthop", "study", str(study), "--replications", str(replications)]
    running = subprocess.Popen([*command, "--out", str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    store = folder / STORE_FILE
    while not (store.exists() and store.read_bytes().count(b"\n") >= 20):
        assert running.poll() is None, "the study ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return running


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_study_goes_on_where_it_was(
    lasthop: Lasthop, small_study: Path, tmp_path: Path, way: signal.Signals
) -> None:
    running = start(small_study, tmp_path / "r", 20000)
    running.send_signal(way)
    status = running.wait(timeout=60)
    assert status == (-9 if way == signal.SIGKILL else 130)
    kept = (tmp_path / "r" / STORE_FILE).read_bytes().count(b"\n")
    ended = lasthop("study", small_study, "--replications", "5", "--out", "r", "--json")
    assert ended.status == 0, ended.err
    assert 0 < ended.json["reused"] <= kept


def test_a_case_that_fails_is_named_and_the_others_are_kept(
    lasthop: Lasthop, small_study: Path, tmp_path: Path
) -> None:
    checks = small_study / "checks.py"
    checks.write_text(checks.read_text() + FAILING)
    study = small_study / "study.toml"
    study.write_text(study.read_text().replace('check = "drops_slowstart"', 'check = "fails_for_three"'))
    ended = lasthop("study", small_study, "--out", "r", "--json")
    assert ended.status == 1
    assert "Traceback" not in ended.err
    assert "the queue of 3 is cursed" in ended.err
    rows = rows_by(ended.json)
    assert rows[1, 3, "none", "elapsed_s"]["measured"] is None
    assert rows[1, 7, "none", "elapsed_s"]["measured"] > 0
    assert json.loads((tmp_path / "r" / "study.json").read_text())["failures"].keys() == ended.json["failures"].keys()


def test_a_study_may_draw_what_only_it_knows(lasthop: Lasthop, small_study: Path, tmp_path: Path) -> None:
    checks = small_study / "checks.py"
    checks.write_text(checks.read_text() + OWN_FIGURE)
    options = ("study", small_study, "--only", "1", "--out", "r")
    assert lasthop(*options).status == 0
    assert not (tmp_path / "r" / "own.svg").exists()
    assert lasthop(*options, "--figures").status == 0
    assert (tmp_path / "r" / "own.svg").exists()


def test_a_check_that_breaks_loses_no_row(lasthop: Lasthop, small_study: Path) -> None:
    checks = small_study / "checks.py"
    checks.write_text(checks.read_text().replace("longest == {3: 3}", "longest[7] == 3"))
    ended = lasthop("study", small_study, "--out", "r", "--json")
    assert ended.status == 0
    assert "the check queue_was_full failed: KeyError: 7" in ended.json["claims"][1]["evidence"]
    assert rows_by(ended.json)[1, 3, "none", "elapsed_s"]["measured"] > 0


OWN_FIGURE = """

def figures(folder):
    file = folder / "own.svg"
    file.write_text("<svg/>")
    return [file]
"""

FAILING = """

def fails_for_three(run):
    from lasthop.errors import RunError
    if run.specification["links"][0]["down"]["queue"]["limit"] == "3 packets":
        raise RunError("the queue of 3 is cursed")
    return 0
"""


def test_one_parquet_holds_the_whole_set(small_study: Path, tmp_path: Path) -> None:
    result = run_study(load_study(small_study), tmp_path / "r")
    table = pq.read_table(tmp_path / "r" / "study.parquet")
    assert table.num_rows == result.runs
    assert {"case", "queue", "delay", "span", "seed", "flow", "elapsed_s", "retransmissions"} <= set(table.column_names)


def test_a_variable_that_is_called_as_something_measured_keeps_its_values(small_study: Path, tmp_path: Path) -> None:
    for name in ("study.toml", "published.csv"):
        text = (small_study / name).read_text()
        (small_study / name).write_text(re.sub(r"(variables\.|\"table\", \"|[{,] |table,)queue", r"\1timeouts", text))
    run_study(load_study(small_study), tmp_path / "r")
    table = pq.read_table(tmp_path / "r" / "study.parquet")
    assert set(table["case_timeouts"].to_pylist()) == {3, 7}
    assert all(isinstance(count, int) for count in table["timeouts"].to_pylist())


def test_a_finished_study_is_opened_again(small_study: Path, tmp_path: Path) -> None:
    result = run_study(load_study(small_study), tmp_path / "r")
    opened = open_study(tmp_path / "r")
    assert opened.rows == result.rows
    assert opened.claims == result.claims


def test_a_run_does_not_replace_a_study(lasthop: Lasthop, base: Path, small_study: Path, tmp_path: Path) -> None:
    run_study(load_study(small_study), tmp_path / "r")
    ended = lasthop("run", base, "--out", "r")
    assert ended.status == 2
    assert "holds a study, so it is left alone" in ended.err
    assert open_study(tmp_path / "r").rows


def test_a_picture_of_a_study_that_did_not_finish_says_how_to_go_on(
    lasthop: Lasthop, small_study: Path, tmp_path: Path
) -> None:
    run_study(load_study(small_study), tmp_path / "r")
    (tmp_path / "r" / "study.json").unlink()
    assert "continues with the runs that are missing" in lasthop("plot", "r", "published").err


def test_published_beside_measured_is_drawn(lasthop: Lasthop, small_study: Path, tmp_path: Path) -> None:
    lasthop("study", small_study, "--out", "r")
    rows = open_study(tmp_path / "r").table("rows").to_pylist()
    assert [row["low"] is not None for row in rows if row["delay"] == "10@2s"] == [True] * 6
    assert (tmp_path / "r" / "published-1.svg").read_text().startswith("<?xml")
    assert lasthop("plot", "r", "published", "--table", "2", "--format", "png").status == 0
    assert (tmp_path / "r" / "published.png").stat().st_size > 1000


def test_a_second_study_in_the_same_folder_waits_its_turn(lasthop: Lasthop, small_study: Path, tmp_path: Path) -> None:
    running = start(small_study, tmp_path / "r", 20000)
    try:
        ended = lasthop("study", small_study, "--out", "r")
        assert ended.status == 2
        assert "another study is writing here" in ended.err
    finally:
        os.kill(running.pid, signal.SIGKILL)
        running.wait()


def test_a_study_is_replicated_until_its_intervals_are_narrow_or_the_runs_used_up(
    small_study: Path, tmp_path: Path
) -> None:
    plan = load_study(small_study)
    wide = run_study(plan, tmp_path / "wide", precision=Precision(within=1e-9, at_most=8))
    random = [row for row in wide.rows if row["delay"] == "random" and row["measured"] is not None]
    assert {row["n"] for row in random} == {8}, "random delays are never stated that closely"
    certain = [row for row in wide.rows if row["delay"] == "none" and row["measured"] is not None]
    assert {row["n"] for row in certain} == {6}, "without chance the fewest runs will do"
    known = run_study(plan, tmp_path / "wide", precision=Precision(within=1e-9, at_most=8))
    assert (known.rows, known.runs) == (wide.rows, wide.runs)


def test_a_study_that_did_not_become_narrow_enough_says_so(lasthop: Lasthop, small_study: Path) -> None:
    options = ("study", small_study, "--only", "2", "--at-most", "6", "--out", "r")
    missed = lasthop(*options, "--within", "0.000001")
    assert "1 of 1 rows have an interval wider than --within 1e-06 after --at-most" in missed.out
    named = [{"table": 2, "queue": 7, "delay": "random", "metric": "elapsed_s"}]
    assert lasthop(*options, "--within", "0.000001", "--json").json["precision"] == {
        "within": 0.000001,
        "at_most": 6,
        "wide": named,
    }
    assert "Every row has an interval within --within 1" in lasthop(*options, "--within", "1").out
    assert lasthop(*options, "--json").json["precision"] is None


def test_every_metric_has_its_spread_and_its_ratio_where_there_are_any(lasthop: Lasthop, small_study: Path) -> None:
    published = small_study / "published.csv"
    published.write_text(published.read_text() + "2,7,random,median,drops,4,0\n")
    study = small_study / "study.toml"
    study.write_text(study.read_text().replace('metrics = ["elapsed_s"]', 'metrics = ["drops", "elapsed_s"]'))
    out = lasthop("study", small_study, "--only", "2", "--out", "r").out
    head = next(line.split() for line in out.splitlines() if line.startswith("drops"))
    assert head == ["drops", "published", "ratio", "spread", "elapsed_s", "published", "ratio", "spread"]
    assert "Medians; the spread is low to high for rows" in out
    assert "the ratio is measured to published" in out


def test_a_metric_may_be_called_as_one_of_the_columns(
    small_study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = run_study(load_study(small_study).only(["2"]), tmp_path / "r").rows
    print_study_table(
        2, [{**row, "metric": "ratio", "measured": 9.87, "published": None, "ratio": None} for row in rows]
    )
    assert "9.87" in capsys.readouterr().out


def test_a_table_wider_than_the_terminal_stands_in_several(
    small_study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = run_study(load_study(small_study), tmp_path / "r").rows
    monkeypatch.setattr(study_tables, "width", lambda: 60)
    print_study_table(1, [row for row in rows if row["table"] == 1])
    lines = capsys.readouterr().out.splitlines()
    heads = [line.split() for line in lines if line.startswith("queue")]
    assert [head[2] for head in heads] == ["elapsed_s", "drops", "drops_slowstart"]
    assert heads[1][-1] == "spread"
    assert max(map(len, lines)) <= 60


def test_a_part_is_run_with_its_study_and_chosen_by_its_tables(
    lasthop: Lasthop, small_study: Path, tmp_path: Path
) -> None:
    """A part has a folder of its own in the study's, with a scenario, columns and checks of its own."""
    part = tmp_path / "small" / "more"
    part.mkdir()
    for file in small_study.iterdir():
        if file.is_file():
            text = file.read_text().replace('id = "1"', 'id = "3"').replace('id = "2"', 'id = "4"')
            (part / file.name).write_text(text.replace('{ table = "1"', '{ table = "3"').replace("\n1,", "\n3,"))
    study = small_study / "study.toml"
    text = study.read_text()
    parts = 'parts = [{ study = "more/study.toml", tables = ["3", "4"] }]\n[published]'
    study.write_text(text.replace("[published]", parts, 1))
    chosen = lasthop("study", small_study, "--only", "3", "--out", "r", "--json").json
    assert {str(row["table"]) for row in chosen["rows"]} == {"3"}
    assert {claim["id"]: claim["holds"] for claim in chosen["claims"]} == {"3": True, "4": True}
    whole = lasthop("study", small_study, "--out", "r", "--json").json
    assert list(dict.fromkeys(str(row["table"]) for row in whole["rows"])) == ["1", "2", "3", "4"]
    assert [claim["id"] for claim in whole["claims"]] == ["1", "2", "3", "4"]
    assert whole["reused"] >= chosen["runs"]
    unknown = lasthop("study", small_study, "--only", "5")
    assert unknown.status == 2
    assert "its tables are 1, 2, 3, 4" in unknown.err
    study.write_text(text.replace("[published]", parts.replace("more/", "moer/"), 1))
    missing = lasthop("study", small_study, "--only", "3")
    line = 1 + next(place for place, text in enumerate(study.read_text().splitlines()) if "moer" in text)
    assert missing.status == 2
    assert f"study.toml:{line}: parts.0.study: there is no file" in missing.err


def test_a_table_on_request_runs_where_it_is_named(lasthop: Lasthop, small_study: Path) -> None:
    study = small_study / "study.toml"
    study.write_text(study.read_text().replace('title = "Random delays"', 'title = "Random delays"\non_request = true'))
    usual = lasthop("study", small_study, "--out", "r")
    assert "not run because they take long: 2; --only runs them" in " ".join(usual.err.split())
    found = lasthop("study", small_study, "--out", "r", "--json").json
    assert {row["table"] for row in found["rows"]} == {1}
    assert [claim["holds"] for claim in found["claims"]] == [True, True]
    named = lasthop("study", small_study, "--only", "2", "--out", "r", "--json").json
    assert {row["table"] for row in named["rows"]} == {2}


def test_only_the_scenarios_of_wanted_tables_are_worked_out(small_study: Path) -> None:
    study = load_study(small_study, ["2"])
    assert {case.id for case in study.cases.values() if case.variants} == {
        case.id for case in study.only(["2"]).selected_cases
    }
    assert len(study.rows) == len(load_study(small_study).rows)


def test_a_claim_on_a_case_in_no_table_is_left_where_all_other_tables_are_named(
    lasthop: Lasthop, small_study: Path
) -> None:
    study = small_study / "study.toml"
    text = study.read_text().replace('title = "Random delays"', 'title = "Random delays"\non_request = true')
    study.write_text(text.replace('cases = [{ queue = 3, delay = "none" }]', 'cases = [{ queue = 5, delay = "none" }]'))
    named = lasthop("study", small_study, "--only", "1", "--out", "r", "--json").json
    assert [claim["holds"] is None for claim in named["claims"]] == [False, True]
    whole = lasthop("study", small_study, "--out", "r", "--json").json
    assert [claim["holds"] is None for claim in whole["claims"]] == [False, False]
