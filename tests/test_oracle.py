"""Studies that ask another program: what they do without it, and a short form of the one that asks ns-2."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from command import Lasthop
from lasthop import _native
from lasthop.errors import OracleError
from lasthop.study import load_study, run_study
from lasthop.study.checks import load_checks

PROGRAM = "sh"
ORACLE = f'oracle = {{ ask = "answers", program = "{PROGRAM}", install = "apt-get install it" }}'

CHECKS = '''
"""A program that knows one number, and a claim about the rows."""

from lasthop.study import Case, Evidence, Verdict


def answers(case: Case) -> dict[str, float]:
    """Answer about one metric of two."""
    return {"elapsed_s": 2.0 + case.values["queue"]}


def queue_was_full(evidence: Evidence) -> Verdict:
    """Look at rows."""
    compared = [row["published"] for row in evidence.rows if row["published"] is not None]
    return Verdict(True, f"{len(evidence.rows)} rows, {sorted(set(compared))}")
'''


@pytest.fixture
def asking(small_study: Path) -> Path:
    """A study that asks an oracle instead of a file, with a claim about the rows of its first table."""
    text = (small_study / "study.toml").read_text()
    text = text.replace('file = "published.csv"', ORACLE)
    text = text.replace('cases = [{ queue = 3, delay = "none" }]\ntables = ["queue"]', 'about = ["1"]')
    (small_study / "study.toml").write_text(text)
    (small_study / "checks.py").write_text(CHECKS)
    return small_study


def test_what_the_oracle_answers_stands_beside_what_was_measured(asking: Path, tmp_path: Path) -> None:
    result = run_study(load_study(asking), tmp_path / "r")
    published = {(row["table"], row["queue"], row["metric"]): row["published"] for row in result.rows}
    assert published[1, 7, "elapsed_s"] == 9.0
    assert published[1, 3, "elapsed_s"] == 5.0
    assert published[1, 7, "drops"] is None
    assert result.claims[1]["evidence"] == "12 rows, [5.0, 9.0]"


def test_a_claim_about_tables_is_judged_by_the_rows_of_those_that_were_run(asking: Path, tmp_path: Path) -> None:
    claims = run_study(load_study(asking).only(["2"]), tmp_path / "r").claims
    assert claims[1]["holds"] is None


def test_without_the_program_nothing_is_run_and_the_message_says_what_installs_it(
    asking: Path, lasthop: Lasthop, tmp_path: Path
) -> None:
    study = asking / "study.toml"
    study.write_text(study.read_text().replace(f'program = "{PROGRAM}"', 'program = "no-such-program"'))
    ended = lasthop("study", asking, "--out", "r")
    assert ended.status == 1
    assert "no-such-program" in ended.err
    assert "apt-get install it" in ended.err
    assert not (tmp_path / "r" / "study.json").exists()
    with pytest.raises(OracleError):
        run_study(load_study(asking), tmp_path / "r")


@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not on this machine (Debian: apt-get install ns2)")
@pytest.mark.parametrize("tcp", ["tahoe", "reno", "newreno", "sack1", "fack"])
def test_a_transfer_with_isolated_losses_takes_as_long_as_in_ns_2(tcp: str) -> None:
    study = load_study("ns-2")
    (case,) = (
        case
        for case in study.cases.values()
        if case.values == {"tcp": tcp, "path": "100ms", "errors": "1@50+100", "timer": "10ms-200ms"}
    )
    answer = load_checks(study.folder)["ns_2"](case)
    (measured,) = json.loads(_native.run(case.variant().under(1), None, None).summary_json)["flows"]
    assert measured["elapsed_s"] == pytest.approx(answer["elapsed_s"], rel=0.05)
    assert measured["retransmissions"] == answer["retransmissions"]
