"""`lasthop stress`: planted faults are found, the worst path is simplified, written and can be run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from command import Lasthop
from lasthop.judge import parse_entry
from lasthop.judge.stress import hunt
from lasthop.judge.stress.genome import Genome, Step, dimensions, genome_of
from lasthop.judge.stress.goals import Goal, Sides, score
from lasthop.judge.stress.rule import rule_of
from lasthop.judge.stress.search import Method
from lasthop.judge.stress.simplify import simplifications
from lasthop.judge.stress.trials import Trial, scenario

SOUND = """\
class {name}:
    def __init__(self, mss, window):
        self.mss, self.window, self.ssthresh = mss, window, float("inf")
    def acknowledged(self, ack):
        self.window += min(ack.acked, self.mss) if self.window < self.ssthresh else self.mss * self.mss / self.window
    def lost(self, event):
        self.window = self.ssthresh = self.reduced(min(event.flight, event.window))
    def timeout(self, event):
        if not event.repeated:
            self.ssthresh = self.reduced(event.flight)
        self.window = self.mss
    def reduced(self, used):
        return max(int(used / 2), 2 * self.mss)
"""

FAULTS: dict[str, tuple[Goal, str]] = {
    # The least threshold was meant as two segments: a small window is raised.
    "reduction": ("harm", SOUND.replace("2 * self.mss)", "40 * self.mss)")),
    # After a silence of 300 ms, the window is what it was, again and again.
    "timer": (
        "needless",
        SOUND.replace('float("inf")', 'float("inf"); self.deadline, self.most = None, window').replace(
            "def acknowledged(self, ack):",
            "def timer(self, now):\n        self.window = self.most\n        self.deadline = now + 0.3\n"
            "    def acknowledged(self, ack):\n        self.deadline = ack.now + 0.3\n"
            "        self.most = max(self.most, self.window)",
        ),
    ),
    # A rate from the smallest window: after a timeout it never rises again.
    "pacer": (
        "goodput",
        SOUND.replace("class {name}:\n", "class {name}:\n    pacing_rate = None\n").replace(
            "        self.window = self.mss\n", "        self.window = self.mss\n        self.pacing_rate = self.mss\n"
        ),
    ),
}

FLAT = Genome((Step(2e6, 0.02, 0.0), Step(2e6, 0.02, 0.0)), 15000, 0.0)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_against_the_sound_class(fault: str, tmp_path: Path) -> None:
    goal, text = FAULTS[fault]
    (tmp_path / "mine.py").write_text(SOUND.format(name="Sound") + text.format(name="Faulty"))
    faulty, sound = (parse_entry(f"{tmp_path}/mine.py:{name}") for name in ("Faulty", "Sound"))
    found = hunt(faulty, against=sound, goal=goal, runs=240, seed=1)
    assert found.score.low > 0.05, found.score
    assert hunt(sound, against=sound, goal=goal, runs=20, seed=1).worst.score == 0.0


def test_the_worst_path_is_a_scenario_file_with_a_diagram_and_a_story(lasthop: Lasthop, tmp_path: Path) -> None:
    ended = lasthop("stress", "--profile", "reno", "--goal", "goodput", "--runs", 30, "--out", "found", "--json")
    assert ended.status == 0, ended.err
    found = ended.json
    assert found == json.loads((tmp_path / "found/stress.json").read_text())
    assert found["trials"] >= 30
    assert found["simplest"]["score"] >= 0.9 * found["worst"]["score"] > 0
    assert len(found["simplest"]["path"]["steps"]) <= 3
    again = lasthop("run", "found/worst.toml", "--json")
    assert again.status == 0, again.err
    flow = next(flow for flow in again.json["flows"] if flow["flow"] == "entry")
    genome = found["simplest"]["path"]
    best = sum(step["rate_bps"] * (1 - step["cross"]) for step in genome["steps"]) / len(genome["steps"])
    share = 8 * flow["throughput_Bps"] / (best * (1 - genome["loss"]) * 1448 / 1500)
    assert found["simplest"]["low"] - 1e-9 <= 1 - share <= found["simplest"]["high"] + 1e-9
    assert " s  " in (tmp_path / "found/worst.txt").read_text()
    assert (tmp_path / "found/worst.svg").stat().st_size > 1000


def test_a_class_is_named_in_the_scenario_file_relative_to_it(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SOUND.format(name="Mine"))
    lasthop("stress", "--profile", "mine.py:Mine", "--runs", 4, "--search", "random", "--out", "found")
    assert '"../mine.py:Mine"' in (tmp_path / "found/worst.toml").read_text()
    assert lasthop("run", "found/worst.toml", "--allow-code").status == 0


@pytest.mark.parametrize("method", ["both", "random", "cma"])
def test_a_search_is_the_same_each_time(method: Method) -> None:
    one, other = (hunt(parse_entry("reno"), runs=12, steps=2, seed=3, method=method) for _ in range(2))
    assert one.to_json() == other.to_json()
    assert set(one.by_method) <= {"random", "cma"}


def test_genes_are_the_ends_of_their_ranges() -> None:
    low, high = genome_of([0.0] * dimensions(2)), genome_of([1.0] * dimensions(2))
    assert low == Genome((Step(0.5e6, 0.005, 0.0),) * 2, 3000, 0.0)
    assert high == Genome((Step(20e6, 0.15, 0.9),) * 2, 450_000, 0.05)


def test_a_change_of_rate_and_delay_is_part_of_the_link() -> None:
    changing = replace(FLAT, steps=(FLAT.steps[0], Step(1e6, 0.1, 0.5)))
    link = changing.link()
    assert link["down"]["handovers"]["cells"] == [{"rate": "1000 kbit/s", "propagation": "100 ms"}]
    assert "handovers" not in FLAT.link()["down"]
    assert [flow["start"] for flow in changing.cross_traffic()] == ["3 s"]
    assert scenario(changing, Sides(parse_entry("reno"), parse_entry("cubic"))).hash


def test_simpler_genomes_are_simpler_by_one_thing() -> None:
    genome = replace(FLAT, steps=(FLAT.steps[0], Step(1e6, 0.02, 0.5)), loss=0.01)
    simpler = list(simplifications(genome))
    assert replace(genome, steps=genome.steps[:1]) in simpler
    assert replace(genome, loss=0.0) in simpler
    assert replace(genome, steps=(genome.steps[0], Step(1e6, 0.02, 0.0))) in simpler
    assert replace(genome, steps=(genome.steps[0], Step(2e6, 0.02, 0.5))) in simpler


def test_scores_are_gaps_to_the_reference() -> None:
    flow = {"throughput_Bps": 100e3, "delay_p95_s": 0.1, "unnecessary_retransmissions": 5, "segments_sent": 100}
    slower = {**flow, "throughput_Bps": 50e3, "delay_p95_s": 0.2, "unnecessary_retransmissions": 15}
    assert score("goodput", FLAT, [[flow]]) == pytest.approx(1 - 0.8 / (2 * 1448 / 1500))
    assert score("goodput", FLAT, [[slower], [flow]]) == 0.5
    assert score("goodput", FLAT, [[flow], [slower]]) == 0.0
    assert score("delay", FLAT, [[slower], [flow]]) == 0.5
    assert score("needless", FLAT, [[slower], [flow]]) == pytest.approx(0.1)
    assert score("fairness", FLAT, [[flow, slower]]) == pytest.approx(0.1)
    assert score("harm", FLAT, [[flow, slower], [flow, flow]]) == 0.5


def test_a_rule_is_the_threshold_that_separates() -> None:
    trials = [
        Trial(replace(FLAT, queue_bytes=1500 * packets), (1.0 if packets < 12 else 0.0,)) for packets in range(2, 40)
    ]
    rule = rule_of(trials, 0.5)
    assert [str(condition) for condition in rule.conditions] == ["queue, packets < 11.5"]
    assert (rule.bad, rule.held, rule.all_bad) == (10, 10, 10)


def test_a_rule_has_one_condition_for_each_side_of_a_feature_and_none_without_bad_trials() -> None:
    bad = {*range(10, 20), *range(30, 34)}
    trials = [Trial(replace(FLAT, queue_bytes=1500 * packets), (float(packets in bad),)) for packets in range(2, 60)]
    conditions = rule_of(trials, 0.5).conditions
    assert len({(each.feature, each.below) for each in conditions}) == len(conditions) > 0
    nothing = rule_of([Trial(trial.genome, (0.0,)) for trial in trials], 1.0)
    assert "no rule" in str(nothing)
    assert nothing.conditions == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--profile", "nothing"], "is no profile"),
        (["--profile", "reno", "--goal", "beauty"], "beauty"),
        (["--profile", "reno", "--steps", 6], "6"),
        (["--profile", "reno", "--against", "mine.py:Mine"], "there is no such file"),
    ],
)
def test_wrong_input_has_the_exit_status_2(lasthop: Lasthop, arguments: list[str], message: str) -> None:
    ended = lasthop("stress", *arguments)
    assert ended.status == 2
    assert message in ended.err


def test_a_mistake_of_a_class_ends_the_search_with_its_line(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SOUND.format(name="Mine").replace("used / 2", "used / 0"))
    ended = lasthop("stress", "--profile", "mine.py:Mine", "--runs", 20)
    assert ended.status == 2
    assert "mine.py:13: " in ended.err
