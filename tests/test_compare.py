"""`lasthop compare`: differences between results."""

from __future__ import annotations

from pathlib import Path

import pytest

import lasthop
from command import Lasthop
from lasthop.experiments.comparison import Comparison, Difference, Value, compare

RECORD = 'record.tables=["segments", "tcp", "queue"]'


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one scenario with other profiles, one of another scenario."""
    folder = tmp_path_factory.mktemp("runs")
    for profile in ("reno", "cubic"):
        scenario = lasthop.load_scenario("quickstart", overrides=[f"hosts.server.profile={profile}", RECORD])
        lasthop.run_to_folder(scenario, folder / profile)
    short = lasthop.load_scenario("three-cubic", overrides=['flows.download.until="2 s"', "record.tables=[]"])
    lasthop.run_to_folder(short, folder / "three")
    return folder


def row(found: Comparison, of: str, measure: str) -> Difference:
    """Return one row of a comparison."""
    return next(row for row in found.differences if (row.of, row.measure) == (of, measure))


def test_measures_stand_side_by_side_with_their_change(runs: Path) -> None:
    found = compare([runs / "reno", runs / "cubic"])
    assert (found.kind, found.names) == ("run", ("reno", "cubic"))
    elapsed = row(found, "download", "elapsed_s")
    reno, cubic = (lasthop.open_run(runs / name).summary["flows"][0]["elapsed_s"] for name in ("reno", "cubic"))
    assert elapsed.values == (Value(reno), Value(cubic))
    assert elapsed.changes == (cubic / reno - 1,)
    assert elapsed.differs


def test_a_result_does_not_differ_from_itself(runs: Path) -> None:
    assert not any(row.differs for row in compare([runs / "reno", runs / "reno"]).differences)


def test_with_intervals_a_difference_counts_only_where_they_lie_apart() -> None:
    near = Difference("a", "b", (Value(1.0, 0.8, 1.2), Value(1.3, 1.1, 1.5)))
    far = Difference("a", "b", (Value(1.0, 0.8, 1.2), Value(1.5, 1.3, 1.7)))
    assert (near.differs, far.differs) == (False, True)


def test_results_without_anything_in_common_say_what_each_has(runs: Path, lasthop: Lasthop) -> None:
    refused = lasthop("compare", runs / "reno", runs / "three")
    assert refused.status == 2
    assert "download, lasthop.down" in refused.err
    assert "download-1" in refused.err


def test_results_of_different_kinds_are_not_compared(runs: Path, tmp_path: Path, lasthop: Lasthop) -> None:
    assert lasthop("run", "quickstart", "--sweep", "hosts.server.profile=reno,cubic", "--out", "grid").status == 0
    refused = lasthop("compare", runs / "reno", tmp_path / "grid")
    assert refused.status == 2
    assert "is a sweep" in refused.err
    assert lasthop("compare", "grid", "grid").status == 0


def test_the_picture_draws_runs_over_one_another(runs: Path, tmp_path: Path, lasthop: Lasthop) -> None:
    drawn = lasthop("compare", runs / "reno", runs / "cubic", "--out", "both.svg")
    assert drawn.status == 0
    assert (tmp_path / "both.svg").stat().st_size > 10_000
    nameless = lasthop("compare", runs / "reno", runs / "cubic", "--out", "both")
    assert nameless.status == 2
    assert "--out" in nameless.err
    assert ".svg" in nameless.err
    refused = lasthop("compare", runs / "three", runs / "three", "--out", "none.svg")
    assert refused.status == 2
    assert "segments" in refused.err


def test_one_result_alone_is_refused(runs: Path, lasthop: Lasthop) -> None:
    assert lasthop("compare", runs / "reno").status == 2
