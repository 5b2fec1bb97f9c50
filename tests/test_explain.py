"""`lasthop explain`: the story, the causes and the time of runs whose truth is known."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import lasthop
from command import Lasthop
from lasthop.explanation import Explanation, explain
from lasthop.results import RunResult

RECORD = 'record.tables=["segments", "tcp", "packets"]'

SHORT = {"three-cubic": ['flows.download.until="4 s"']}


def recorded(name: str, folder: Path, *overrides: str) -> RunResult:
    """Run a scenario of the library with the tables that an explanation uses."""
    return lasthop.run_to_folder(lasthop.load_scenario(name, overrides=[RECORD, *overrides]), folder / name)


def only(explained: list[Explanation]) -> Explanation:
    """Return the one explanation of a run with one connection."""
    assert len(explained) == 1
    return explained[0]


def test_a_spurious_timeout_is_reported_with_what_held_the_original(tmp_path: Path) -> None:
    explained = only(explain(recorded("delay-spike", tmp_path)))
    spurious = next(event for event in explained.events if event.kind == "spurious_timeout")
    assert (
        "the original was not lost, lasthop.down held it for 6.00 s (a scripted delay), it arrived at" in spurious.text
    )
    assert "37 more segments sent again, 37 of them needlessly" in spurious.text
    needless_recovery = next(event for event in explained.events if event.kind == "fast_retransmit")
    assert needless_recovery.start > spurious.start
    assert "needless" in needless_recovery.text


def test_slow_start_that_overshoots_is_named(tmp_path: Path) -> None:
    explained = only(explain(recorded("quickstart", tmp_path)))
    overshoot = [event for event in explained.events if event.kind == "slow_start_overshoot"]
    assert len(overshoot) == 1
    assert "dropped by the queue at lasthop.down" in overshoot[0].text


@pytest.mark.parametrize("name", ["delay-spike", "lossy-path", "spikes", "reordering"])
def test_causes_count_what_the_summary_counts(name: str, tmp_path: Path) -> None:
    run = recorded(name, tmp_path)
    explained = only(explain(run))
    flow = run.summary["flows"][0]
    assert sum(cause.copies for cause in explained.causes) == flow["retransmissions"]
    needless = sum(cause.copies for cause in explained.causes if cause.needed is False)
    assert needless == flow["unnecessary_retransmissions"]
    by_why: dict[str, int] = {}
    for cause in explained.causes:
        if cause.needed is False:
            by_why[cause.why] = by_why.get(cause.why, 0) + cause.copies
    assert by_why == flow["causes"]


@pytest.mark.parametrize("name", ["delay-spike", "lossy-path", "spikes", "three-cubic"])
def test_the_shares_of_time_add_up_to_the_elapsed_time(name: str, tmp_path: Path) -> None:
    for explained in explain(recorded(name, tmp_path, *SHORT.get(name, ()))):
        elapsed = explained.end - explained.start
        assert sum(share.seconds for share in explained.time_shares) == pytest.approx(elapsed, rel=0.01)
        assert explained.time_shares[0].kind == "ideal"


def test_an_idle_link_behind_random_losses_is_laid_to_the_small_window(tmp_path: Path) -> None:
    explained = only(explain(recorded("lossy-path", tmp_path)))
    shares = {share.kind: share.seconds for share in explained.time_shares}
    assert shares["window"] > shares["ideal"] > shares["recovery"]


def test_one_flow_of_several_is_reported_alone(tmp_path: Path) -> None:
    run = recorded("three-cubic", tmp_path, *SHORT["three-cubic"])
    assert [explained.flow for explained in explain(run, "download-2")] == ["download-2"]
    assert len(explain(run)) == 3


def test_the_command_prints_the_story_the_causes_and_the_time(lasthop: Lasthop) -> None:
    assert lasthop("run", "delay-spike", "--out", "spike", "--set", RECORD).status == 0
    explained = lasthop("explain", "spike")
    assert explained.status == 0
    for part in ("connected after", "spurious:", "Retransmissions, by cause", "Where the time went"):
        assert part in explained.out
    as_json = json.loads(lasthop("explain", "spike", "--json").out)
    assert as_json["spike"][0]["events"][0]["kind"] == "opening"


def test_a_run_without_segments_says_how_to_record_them(lasthop: Lasthop) -> None:
    assert lasthop("run", "quickstart", "--out", "bare", "--set", "record.tables=[]").status == 0
    explained = lasthop("explain", "bare")
    assert explained.status == 2
    assert "segments" in explained.err
    assert "record.tables" in explained.err


def test_a_flow_that_is_not_there_is_refused_with_the_names(lasthop: Lasthop) -> None:
    lasthop("run", "delay-spike", "--out", "spike", "--set", RECORD)
    explained = lasthop("explain", "spike", "--flow", "upload")
    assert explained.status == 2
    assert "download" in explained.err


def test_a_flow_alone_waits_for_no_other_flow(tmp_path: Path) -> None:
    explained = only(explain(recorded("quickstart", tmp_path)))
    assert "others" not in {share.kind for share in explained.time_shares}


def test_a_flow_without_decisions_and_retransmissions_has_a_story() -> None:
    overrides = ["record.tables=['segments']", "flows.download.bytes='20 kB'", "flows.download.milestones=[]"]
    (explained,) = explain(lasthop.run("quickstart", overrides=overrides))
    assert explained.events


def test_packets_of_every_connection_are_counted_from_its_own_first(lasthop: Lasthop, tmp_path: Path) -> None:
    lasthop("run", "three-cubic", "--set", 'record.tables=["segments","packets","tcp"]', "--out", tmp_path / "three")
    explained = lasthop("explain", tmp_path / "three").out
    numbers = [int(found) for found in re.findall(r"packet (\d+)\)", explained)]
    assert numbers
    assert max(numbers) < 1_000_000


def test_a_black_hole_is_reported_with_the_sizes_of_segments(tmp_path: Path) -> None:
    explained = only(explain(recorded("mtu-black-hole", tmp_path)))
    hole, search = (event for event in explained.events if event.kind == "segment_size")
    assert hole.text == "segments of 1 448 bytes vanish: a black hole; segments of 1 024 bytes"
    assert "1 228 bytes arrive" in search.text
