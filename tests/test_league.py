"""`lasthop league` and `lasthop check`: algorithms that compete, and a gate against a baseline."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from command import Lasthop
from greedy import greedy
from lasthop.errors import InputError
from lasthop.judge import duels, parse_entry, paths, play
from lasthop.judge.gate import looks, verdict_of
from lasthop.judge.league import Measure, number_of_runs
from lasthop.judge.page import write_league
from lasthop.judge.pictures import draw_scatter

SHORT = ["--path", "gprs"]

AGGRESSIVE = greedy(30)

FAULTY = AGGRESSIVE.replace("ack):\n        pass", "ack):\n        1 / 0").replace("Greedy", "Faulty")


def test_every_pair_meets_on_every_path_and_each_beside_itself() -> None:
    entries = [parse_entry("reno"), parse_entry("cubic")]
    league = play(entries, paths(["gprs", "umts"]), seeds=[1])
    assert league.runs == number_of_runs(2, 2, 1) == 6
    met = {(duel.one.name, duel.other.name, duel.path.name) for duel in league.outcomes}
    assert met == {
        (*pair, path) for pair in [("reno", "reno"), ("reno", "cubic"), ("cubic", "cubic")] for path in ("gprs", "umts")
    }


def test_delays_are_those_of_the_path_in_seconds() -> None:
    league = play([parse_entry("cubic")], paths(["dsl-deep"]), seeds=[1])
    (outcome,) = next(iter(league.outcomes.values()))
    for side in outcome.sides:
        # 20 ms of propagation, and at most 400 kB of queue at 10 Mbit/s.
        assert 0.02 < side.delay_p50_s < side.delay_p95_s < 0.02 + 0.33
    assert sum(side.goodput_bps for side in outcome.sides) == pytest.approx(9.5e6, rel=0.1)


def test_what_writes_pictures_is_looked_for_before_the_runs(
    lasthop: Lasthop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text('import sys\nsys.modules["matplotlib.backends.backend_svg"] = None\n')
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    missing = lasthop("league", "reno", *SHORT, "--out", "league")
    assert missing.status != 0
    assert "matplotlib" in missing.err
    assert not (tmp_path / "league").exists()


def test_one_entry_more_costs_its_own_duels_alone_and_equal_leagues_have_equal_files(
    lasthop: Lasthop, tmp_path: Path
) -> None:
    first = lasthop("league", "reno", "cubic", *SHORT, "--seeds", 2, "--out", "league")
    assert "runs: 6 new" in first.err
    again = lasthop("league", "reno", "cubic", *SHORT, "--seeds", 2, "--out", "league")
    assert "runs: 0 new" in again.err
    more = lasthop("league", "reno", "cubic", "newreno", *SHORT, "--seeds", 2, "--out", "league")
    assert "runs: 6 new" in more.err, "newreno alongside reno, cubic and itself, twice"
    lasthop("league", "reno", "cubic", "newreno", *SHORT, "--seeds", 2, "--out", "other")
    for name in ("league.json", "league.html", "league-scatter.svg", "league-harm.svg"):
        assert (tmp_path / "league" / name).read_bytes() == (tmp_path / "other" / name).read_bytes(), name
    ET.parse(tmp_path / "league/league-scatter.svg")
    document = json.loads((tmp_path / "league/league.json").read_text())
    assert [each["entry"] for each in document["standings"]] == ["reno", "cubic", "newreno"]
    for standing in document["standings"]:
        for measure in ("goodput", "delay_p50_s", "delay_p95_s", "loss", "fairness", "harm"):
            found = standing[measure]
            assert found["low"] <= found["median"] <= found["high"], measure


def test_a_scatter_of_many_has_standings_alone_and_a_page_folds_duels(tmp_path: Path) -> None:
    names = ["reno", "cubic", "newreno", "sack-6675", "tahoe"]
    league = play([parse_entry(name) for name in names], paths(["gprs"]), seeds=[1])
    write_league(league, tmp_path)
    few = play([parse_entry(name) for name in names[:2]], paths(["gprs"]), seeds=[1])
    draw_scatter(few, tmp_path / "few.svg")
    drawn = [(tmp_path / name).read_text().count("PathCollection") for name in ("few.svg", "league-scatter.svg")]
    assert drawn == [2, 0], "the duels of each of two, and none of five"
    page = (tmp_path / "league.html").read_text()
    assert "width=device-width" in page, "or a telephone shows it as wide as a desk"
    assert page.count("<details>") == len(names)


def test_a_greedy_class_harms_and_a_faulty_one_leaves_the_others_running(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AGGRESSIVE + FAULTY)
    ended = lasthop(
        "league", "reno", "mine.py:Greedy", "bad=mine.py:Faulty", "--path", "dsl-shallow", "--seeds", 1, "--json"
    )
    assert ended.status == 1
    assert "bad" in ended.err
    assert "ZeroDivisionError" in ended.err
    standings = {each["entry"]: each for each in ended.json["standings"]}
    assert set(standings) == {"reno", "Greedy"}
    assert standings["Greedy"]["harm"]["median"] > 0.3 > standings["reno"]["harm"]["median"]
    assert len(ended.json["failed"]) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "is no profile"),
        (["mine.py:Mine"], "there is no such file"),
        (["cubic", "cubic"], "two entries have this name"),
        (["cubic", "--path", "nowhere"], "there is no path"),
    ],
)
def test_wrong_input_has_the_exit_status_2(lasthop: Lasthop, arguments: list[str], message: str) -> None:
    ended = lasthop("league", *arguments)
    assert ended.status == 2
    assert message in ended.err


def test_a_profile_file_that_brings_a_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AGGRESSIVE)
    file = tmp_path / "stranger.toml"
    file.write_text('summary = ""\nsources = []\nextends = "cubic"\ncongestion = { python = "mine.py:Greedy" }\n')
    league = play([parse_entry(str(file))], paths(["gprs"]), seeds=[1])
    assert "brings a program" in league.failed[0].why


def test_every_path_of_the_list_can_be_run() -> None:
    cubic = parse_entry("cubic")
    names = [path.name for path in paths()]
    assert len(names) == len(set(names)) == 20
    for path in paths():
        assert duels.scenario(duels.Duel(cubic, cubic, path)).hash


def test_a_gate_passes_for_the_same_code_and_fails_for_another(lasthop: Lasthop, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(AGGRESSIVE)
    baseline = tmp_path / "baseline.json"
    baseline.write_text(lasthop("league", "mine.py:Greedy", *SHORT, "--seeds", 2, "--json").out)
    assert lasthop("check", "baseline.json").status == 2, "the baseline names a program"
    same = lasthop("check", "baseline.json", "--within", "2%", "--allow-code")
    assert (same.status, same.err) == (0, "")
    mine.write_text(greedy(2))
    changed = lasthop("check", "baseline.json", "--within", "2%", "--allow-code", "--json")
    assert changed.status == 1
    assert {each["verdict"] for each in changed.json["changes"]} >= {"outside"}


def test_a_baseline_of_many_seeds_is_decided_by_the_first_look(lasthop: Lasthop, tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text(lasthop("league", "reno", *SHORT, "--seeds", 20, "--json").out)
    same = lasthop("check", "baseline.json", "--json")
    assert (same.status, {each["change"]["n"] for each in same.json["changes"]}) == (0, {10})
    document = json.loads(baseline.read_text())
    for number, outcome in enumerate(document["runs"][0]["outcomes"]):
        # Half of the runs far below, half as they are: nothing decides that.
        outcome["sides"][0]["goodput_bps"] *= 1 + number % 2
    baseline.write_text(json.dumps(document))
    mixed = lasthop("check", "baseline.json", "--json")
    assert mixed.status == 1
    verdicts = {each["measure"]: (each["verdict"], each["change"]["n"]) for each in mixed.json["changes"]}
    assert verdicts["goodput_bps_one"] == ("undecided", 20)


@pytest.mark.parametrize(
    ("seeds", "ends"), [(1, [1]), (9, [9]), (10, [10]), (19, [19]), (20, [10, 20]), (50, [10, 20, 50])]
)
def test_looks_double_up_to_the_last_seed(seeds: int, ends: list[int]) -> None:
    assert looks(seeds) == ends


def test_a_verdict_needs_the_whole_interval() -> None:
    assert verdict_of(Measure(0.0, -0.01, 0.01, 9), 0.02) == "within"
    assert verdict_of(Measure(0.0, -0.03, 0.01, 9), 0.02) == "undecided"
    assert verdict_of(Measure(0.1, 0.03, 0.2, 9), 0.02) == "outside"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "lasthop league 1", "paths_version": 0}'])
def test_what_is_no_baseline_is_refused(text: str, tmp_path: Path) -> None:
    from lasthop.judge.gate import read_baseline

    file = tmp_path / "baseline.json"
    file.write_text(text)
    with pytest.raises(InputError, match=r"baseline|JSON|version"):
        read_baseline(file)
