"""Commands on results take the folder of a sweep or of a study, and run the case that is meant with its tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Lasthop
from lasthop.experiments.cases import cases_in, chosen, run_case
from lasthop.results import open_run

RATES = "links.lasthop.down.rate=1 Mbit/s,2 Mbit/s"


@pytest.fixture
def swept(lasthop: Lasthop, tmp_path: Path) -> Path:
    folder = tmp_path / "sweep"
    assert lasthop("run", "quickstart", "--sweep", RATES, "--out", str(folder)).status == 0
    return folder


@pytest.mark.parametrize("command", [["explain"], ["plot", "cwnd"], ["report"], ["export", "--format", "csv"]])
def test_a_command_shows_a_case_of_a_sweep(lasthop: Lasthop, swept: Path, command: list[str]) -> None:
    name, *rest = command
    shown = lasthop(name, str(swept), *rest, "--case", "2 Mbit/s")
    assert shown.status == 0, shown.err
    case = open_run(swept / "cases" / "2-Mbit-s-seed-1")
    assert case.specification["links"][0]["down"]["rate"] == "2 Mbit/s"


def test_the_run_of_a_case_is_that_of_the_sweep(swept: Path) -> None:
    rates = [open_run(run_case(swept, case)).flows["throughput_Bps"][0].as_py() for case in cases_in(swept)]
    assert rates[1] > 1.5 * rates[0]


def test_without_a_case_the_first_is_shown_and_said_and_the_others_are_listed(lasthop: Lasthop, swept: Path) -> None:
    shown = lasthop("explain", str(swept))
    assert "shown is 1 Mbit/s; --case chooses another: the cases are 1 Mbit/s; 2 Mbit/s" in shown.err


def test_an_unknown_case_is_refused_with_the_names_of_the_cases(lasthop: Lasthop, swept: Path) -> None:
    shown = lasthop("plot", str(swept), "cwnd", "--case", "3 Mbit/s")
    assert shown.status == 2
    assert "there is no case '3 Mbit/s'" in shown.err
    assert "1 Mbit/s; 2 Mbit/s" in shown.err


def test_the_name_of_a_case_comes_before_its_number(lasthop: Lasthop, tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    assert lasthop("run", "quickstart", "--sweep", "seed=2,1", "--out", str(folder)).status == 0
    assert chosen(folder, "2").under(None)["seed"] == 2
    assert chosen(folder, "1").under(None)["seed"] == 1


def test_a_run_has_no_cases(lasthop: Lasthop, tmp_path: Path) -> None:
    lasthop("run", "quickstart", "--out", str(tmp_path / "run"))
    shown = lasthop("explain", str(tmp_path / "run"), "--case", "1")
    assert shown.status == 2
    assert "the result has no cases" in shown.err


def test_the_folder_of_several_results_stands_for_them(lasthop: Lasthop, tmp_path: Path) -> None:
    for profile in ("reno", "cubic"):
        out = str(tmp_path / "both" / profile)
        lasthop("run", "quickstart", "--set", f"hosts.server.profile={profile}", "--out", out)
    both = str(tmp_path / "both")
    assert "both has 2 results, shown is cubic" in lasthop("explain", both).err
    assert lasthop("plot", both, "cwnd", "--case", "reno").status == 0
    assert (tmp_path / "both" / "reno" / "cwnd.svg").is_file()
    assert "reno" in lasthop("compare", both).out
    unknown = lasthop("explain", both, "--case", "bbr")
    assert unknown.status == 2
    assert "there are cubic, reno" in unknown.err


def test_the_cases_of_one_sweep_are_compared(lasthop: Lasthop, swept: Path) -> None:
    shown = lasthop("compare", str(swept))
    assert shown.status == 0
    assert "1-Mbit-s-seed-1" in shown.out
    assert "2-Mbit-s-seed-1" in shown.out


def test_another_sweep_in_the_folder_leaves_no_run_and_no_page_of_the_earlier_one(
    lasthop: Lasthop, swept: Path
) -> None:
    lasthop("report", str(swept))
    lasthop("plot", str(swept), "cwnd")
    assert (swept / "report.html").is_file()
    again = lasthop("run", "quickstart", "--sweep", "links.lasthop.down.rate=3 Mbit/s,4 Mbit/s", "--out", str(swept))
    assert again.status == 0, again.err
    assert not (swept / "report.html").exists()
    assert not list((swept / "cases").glob("*"))


def test_a_command_shows_a_case_of_a_study(lasthop: Lasthop, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    lasthop("study", "sarolahti2000", "--only", "14", "--out", str(folder))
    shown = lasthop("explain", str(folder), "--case", "baseline,1,3,none")
    assert shown.status == 0, shown.err
    assert "the original was dropped by the queue at lasthop.down" in shown.out
    rows = lasthop("plot", str(folder), "published", "--table", "14")
    assert rows.status == 0, rows.err
