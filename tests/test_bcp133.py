"""`lasthop study bcp133`: every section of RFC 9743 has an answer or a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Lasthop
from greedy import greedy
from lasthop.errors import InputError
from lasthop.judge import parse_entry
from lasthop.judge.bcp133 import answer
from lasthop.judge.bcp133.answers import REFERENCES, _verdict, number_of_runs
from lasthop.judge.bcp133.items import items
from lasthop.judge.bcp133.measures import MEASURES, of_flow
from lasthop.judge.league import Measure

SECTIONS = (
    "3 5.1.1 5.1.2 5.1.3 5.1.4 5.1.5 5.2.1 5.2.2 5.2.3 5.3 6.1 6.2 6.3 6.4 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 7.9 "
    "7.10 7.11 8"
)


def test_every_section_has_cases_or_a_reason() -> None:
    listed = items()
    assert [item.section for item in listed] == SECTIONS.split()
    for item in listed:
        assert bool(item.cases) != bool(item.unmeasured), item.section
        assert bool(item.cases) == bool(item.asks), item.section
    names = [case.name for item in listed for case in item.cases]
    assert len(names) == len(set(names))


def test_every_case_can_be_run_and_measures_flows_that_it_has() -> None:
    for item in items():
        for case in item.cases:
            assert case.scenario(REFERENCES[0]).hash
            flows = {flow["name"] for flow in case.flows}
            assert {asked.flow for asked in case.measures} <= flows, case.name
            assert any(flow.get("profile") == "candidate" for flow in case.flows), case.name


def test_a_reference_is_not_worse_than_itself() -> None:
    answers = answer(parse_entry("mine=cubic"), seeds=[1, 2])
    assert answers.runs == number_of_runs(2)
    for each in answers.answers:
        for finding in each.findings:
            against = {comparison.reference: comparison for comparison in finding.comparisons}
            assert against["CUBIC"].verdict == "not worse", finding
            assert against["CUBIC"].difference.median == 0.0, finding


def test_a_greedy_class_harms_and_its_page_says_so(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(greedy(100))
    ended = lasthop("study", "bcp133", "--profile", "mine.py:Greedy", "--replications", 2, "--out", "found", "--json")
    assert ended.status == 0, ended.err
    assert ended.json == json.loads((tmp_path / "found/bcp133.json").read_text())
    by_section = {item["section"]: item for item in ended.json["items"]}
    verdicts = [
        {comparison["verdict"] for comparison in finding["comparisons"]}
        for finding in by_section["5.2.1"]["findings"]
        if finding["case"] == "shallow queue" and finding["asked"]["measure"] == "goodput"
    ]
    assert verdicts == [{"worse"}]
    page = (tmp_path / "found/bcp133.html").read_text()
    assert "worse than Reno; worse than CUBIC" in page
    for item in by_section.values():
        assert f"§{item['section']} " in page
    assert "<svg" in (tmp_path / "found/bcp133.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["study", "bcp133"], "needs a candidate"),
        (["study", "bcp133", "--profile", "nothing"], "is no profile"),
        (["study", "bcp133", "--profile", "cubic", "--figures"], "has no such option"),
        (["study", "gprs-none", "--profile", "cubic"], "has no candidate"),
    ],
)
def test_wrong_input_has_the_exit_status_2(lasthop: Lasthop, arguments: list[str], message: str) -> None:
    ended = lasthop(*arguments)
    assert ended.status == 2
    assert message in ended.err


def test_a_candidate_with_the_name_of_a_reference_is_refused() -> None:
    with pytest.raises(InputError, match="a reference has this name"):
        answer(parse_entry("CUBIC=bbr3"), seeds=[1])


def test_a_verdict_needs_the_whole_interval() -> None:
    assert _verdict(Measure(2.0, 1.0, 3.0, 6), more_is_better=False) == "worse"
    assert _verdict(Measure(2.0, 1.0, 3.0, 6), more_is_better=True) == "better"
    assert _verdict(Measure(2.0, -1.0, 3.0, 6), more_is_better=True) == "not worse"


def test_equal_flows_are_measured_together() -> None:
    flow = {"throughput_Bps": 125e3, "segments_sent": 100, "retransmissions": 10}
    summary = {
        "flows": [{**flow, "flow": "own-1"}, {**flow, "flow": "own-2", "retransmissions": 0}, {**flow, "flow": "x"}]
    }
    assert of_flow(summary, "own", "goodput") == 2.0
    assert of_flow(summary, "own", "resent") == 5.0
    assert of_flow(summary, "own", "fairness") == 1.0
    assert set(MEASURES) == {"goodput", "delay", "resent", "needless", "segments", "fairness", "transfer", "frames"}
