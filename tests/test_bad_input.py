"""Wrong input: where, what, and what would be right; status 2; no traceback; nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command import Finished, Lasthop
from small_study import BASE


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def assert_said(ended: Finished, *parts: str) -> None:
    assert ended.status == 2
    assert ended.out == ""
    assert "Traceback" not in ended.err
    for part in parts:
        assert part in ended.err


@pytest.mark.parametrize(
    ("right", "wrong", "key", "advice"),
    [
        ('rate = "100 kbit/s"', 'rat = "100 kbit/s"', "rat", 'did you mean "rate"'),
        ('rate = "100 kbit/s"', "rate = 100", "rate", "bit/s"),
        ('rate = "100 kbit/s"', 'rate = "100 km"', "rate", "bit/s"),
        ('rate = "100 kbit/s"', 'rate = "-1 bit/s"', "rate", ""),
        ('propagation = "50 ms"', "propagation = 50", "propagation", "ms"),
        ('limit = "7 packets"', 'limit = "0 packets"', "queue", "packet"),
        ('"mobile"]', '"mobil"]', "between", "mobile"),
        ('to = "mobile"', 'to = "phone"', "to", "mobile"),
        ('profile = "newreno"', 'profile = "newrno"', "profile", "newreno"),
        ('bytes = "60 kB"', 'bytes = "60 KB"', "bytes", "KiB"),
        ('name = "base"', "name = ", "", ""),
    ],
)
def test_a_wrong_scenario_is_said_with_file_line_and_key(
    lasthop: Lasthop, base: Path, right: str, wrong: str, key: str, advice: str
) -> None:
    text = BASE.replace(right, wrong, 1)
    base.write_text(text)
    line = line_of(text, wrong.strip())
    assert_said(lasthop("run", "base.toml", "--json"), f"base.toml:{line}: ", key, advice)


@pytest.mark.parametrize(
    ("override", "key", "advice"),
    [
        ("stop=0 s", "stop", "60 s"),
        ("links.lasthop.between=['server']", "links.lasthop.between", "two nodes"),
        ("links.lasthop.down.errors={probability=2,effect='drop'}", "links.lasthop.down.errors.probability", "0 to 1"),
        ("flows.download.until=0 s", "flows.download.until", "bytes"),
        ("hosts.mobile.tcp.ack.*.every=0 segments", "hosts.mobile.tcp.ack.delayed.every", "1 segment"),
    ],
)
def test_what_makes_no_sense_is_said_by_name(lasthop: Lasthop, override: str, key: str, advice: str) -> None:
    assert_said(lasthop("run", "quickstart", "--set", override), f"--set {override}: {key}: ", advice)


@pytest.mark.parametrize("command", [("study", "cheskis2006", "--within"), ("trace", "quickstart", "down", "--for")])
def test_what_is_no_number_is_refused(lasthop: Lasthop, command: tuple[str, ...]) -> None:
    assert_said(lasthop(*command, "nan"), "nan is not a number")


def test_a_missing_file_is_said(lasthop: Lasthop) -> None:
    assert_said(lasthop("run", "nowhere/at-all.toml"), "nowhere/at-all.toml")


def test_a_misspelt_name_is_answered_with_the_near_one(lasthop: Lasthop) -> None:
    assert_said(lasthop("run", "quikstart"), "quikstart", "quickstart")
    assert_said(lasthop("study", "sarolahti"), "sarolahti")


@pytest.mark.parametrize(
    "text", ["rate", "=3", "links.lasthop.down.rat='1 Mbit/s'", "links.nowhere.down.rate='1 Mbit/s'"]
)
def test_a_wrong_override_is_said(lasthop: Lasthop, text: str) -> None:
    assert_said(lasthop("run", "quickstart", "--set", text), "--set")


def test_a_wrong_option_is_said(lasthop: Lasthop) -> None:
    assert_said(lasthop("run", "quickstart", "--seed", "-1"), "--seed")
    assert_said(lasthop("run", "quickstart", "--sed", "1"), "--seed")
    assert_said(lasthop("run"), "FILE")


def test_a_folder_of_something_else_is_refused_before_the_run(
    lasthop: Lasthop, small_study: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    assert_said(lasthop("run", "quickstart", "--out", "mine"), "mine", "left alone", "--out")
    assert_said(lasthop("study", small_study, "--out", "mine"), "mine", "left alone", "--out")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_an_incomplete_folder_is_said(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "tcp.parquet").write_bytes(b"half")
    assert_said(lasthop("run", "quickstart", "--out", "r"), "incomplete", "--out")
    assert_said(lasthop("plot", "r", "cwnd"), "incomplete", "run again with --out into a new folder")


def test_a_picture_of_nothing_is_said(lasthop: Lasthop, base: Path) -> None:
    assert_said(lasthop("plot", "nothing", "cwnd"), "no such result")
    assert lasthop("run", base, "--out", "r").status == 0
    assert_said(lasthop("plot", "r", "cwnd"), "tcp", "record.tables")
    assert_said(lasthop("plot", "r", "cwnds"), "cwnds", "time-sequence")


def test_an_unknown_table_names_the_known_ones(lasthop: Lasthop, small_study: Path) -> None:
    assert_said(lasthop("study", small_study, "--only", "3"), "'3'", "its tables are 1, 2")


@pytest.mark.parametrize(
    ("right", "wrong", "key"),
    [
        ('"table", "queue"', '"table", "queues"', "columns"),
        ('metrics = ["elapsed_s"]', 'metrics = ["elapsd_s"]', "elapsed_s"),
        ("queue = [3, 7]", "queue = [0, 7]", "queue"),
        ('holds = "with > without + 1"', 'holds = "with > withot + 1"', "without"),
        ("title =", "titel =", "title"),
        ('check = "queue_was_full"', 'check = "queue_was_ful"', "queue_was_ful"),
        ('file = "published.csv"', 'file = "publish.csv"', "publish.csv"),
        ('holds = "with > without + 1"', 'holds = "with >> without"', "claims.0.holds"),
        ('holds = "with > without + 1"', 'holds = "with / 0 > without"', "'with / 0' divides by zero"),
        ('check = "drops_slowstart"', 'check = "drops_slow"', "metrics.drops_slowstart.check: no check is called"),
        ('link = "lasthop.down.queue_drops"', 'link = "lasthop.down.drops"', "metrics.drops.link"),
    ],
)
def test_a_wrong_study_is_said_before_anything_is_run(
    lasthop: Lasthop, small_study: Path, tmp_path: Path, right: str, wrong: str, key: str
) -> None:
    path = small_study / "study.toml"
    assert right in path.read_text()
    path.write_text(path.read_text().replace(right, wrong, 1))
    assert_said(lasthop("study", small_study, "--out", "r"), "study.toml:" if "csv" not in key else key, key)
    assert not (tmp_path / "r").exists(), "nothing was run"


def test_a_published_value_that_is_no_number_is_said(lasthop: Lasthop, small_study: Path) -> None:
    path = small_study / "published.csv"
    text = path.read_text()
    path.write_text(text.replace("5.5", "five"))
    assert_said(lasthop("study", small_study, "--out", "r"), "published.csv:3: value", "'five'")
    path.write_text(text.replace("5.5", "5,5"))
    assert_said(lasthop("study", small_study, "--out", "r"), "published.csv:3: has more or fewer fields")


def test_a_study_whose_folder_cannot_be_made_says_what_would_be_right(lasthop: Lasthop) -> None:
    assert_said(lasthop("study", "sarolahti2000", "--out", "/proc/r"), "/proc/r: cannot write here", "--out")


@pytest.mark.parametrize("command", [["run"], ["study"], ["trace"]])
@pytest.mark.parametrize("path", ["/dev/zero", "./pipe"])
def test_a_file_that_never_ends_or_never_begins_is_refused_at_once(
    lasthop: Lasthop, tmp_path: Path, command: list[str], path: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    more = ["lasthop.down"] if command == ["trace"] else []
    assert_said(lasthop(*command, path, *more), path, "not a file")


def test_a_trace_of_a_link_that_never_ends_is_refused_at_once(lasthop: Lasthop) -> None:
    override = 'links.lasthop.down.capacity={ trace = { path = "/dev/zero" } }'
    assert_said(lasthop("run", "quickstart", "--set", override), "/dev/zero", "not a file")


def test_sigterm_ends_a_run_as_ctrl_c_does(tmp_path: Path) -> None:
    long = ["run", "quickstart", "--set", "flows.download.bytes=100 GB", "--out", "r"]
    running = subprocess.Popen(
        [sys.executable, "-m", "lasthop", *long], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    while not any(tmp_path.iterdir()):
        time.sleep(0.05)
    running.terminate()
    _, said = running.communicate(timeout=60)
    assert running.returncode == 143
    assert "stopped" in said
    assert list(tmp_path.iterdir()) == []
