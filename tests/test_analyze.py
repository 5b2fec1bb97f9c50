"""`lasthop analyze`: captures, held against the truth of the runs that made them and against tshark."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import lasthop
from command import Lasthop
from lasthop.analysis import analyze_to_folder
from lasthop.results import RunResult

RECORD = ['record.tables=["segments"]', 'record.captures=["server"]']
SCENARIOS = ["spikes", "lossy-path", "reordering", "loss-bursts", "gilbert-elliott", "outages"]


def captured(name: str, folder: Path, *overrides: str) -> RunResult:
    """Run a scenario with a capture at the sender."""
    return lasthop.run_to_folder(lasthop.load_scenario(name, overrides=[*RECORD, *overrides]), folder / name)


def resent(result: RunResult) -> dict[tuple[int, int], dict[str, object]]:
    """Return the rows of the bulk sender's retransmissions, by time and number."""
    rows = result.table("segments").to_pylist()
    chosen = [row for row in rows if row["retransmission"] and row["direction"] == "sent" and row["len"] > 0]
    first = min(row["time_ns"] for row in rows)
    return {(row["time_ns"] - first, row["seq"]): row for row in chosen}


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_sender_s_capture_alone_shows_the_cause_and_the_need_of_retransmissions(name: str, tmp_path: Path) -> None:
    run = captured(name, tmp_path)
    truth = resent(run)
    judged = resent(analyze_to_folder(run.captures["server"], tmp_path / "analyzed"))
    assert judged.keys() == truth.keys()
    right = sum(judged[key]["needless"] == truth[key]["needless"] for key in truth)
    causes = sum(judged[key]["cause"] == truth[key]["cause"] for key in truth)
    assert right >= 0.9 * len(truth)
    assert causes >= 0.9 * len(truth)


def test_a_capture_is_counted_as_its_run_is(tmp_path: Path) -> None:
    run = captured("spikes", tmp_path)
    connection = lasthop.analyze(run.captures["server"]).connections[0]
    sender = connection["senders"][connection["bulk_sender"]]
    flow = run.summary["flows"][0]
    for counted, reported in (
        ("segments_sent", "data_segments"),
        ("retransmissions", "retransmissions"),
        ("unnecessary_retransmissions", "needless"),
        ("timeouts", "timeouts"),
        ("fast_retransmits", "fast_retransmits"),
        ("bytes", "acknowledged_bytes"),
    ):
        assert sender[reported] == flow[counted], counted


@pytest.mark.skipif(shutil.which("tshark") is None, reason="NOT TESTED: tshark, the judge, is not installed")
def test_tshark_counts_the_same_packets_and_bytes(tmp_path: Path) -> None:
    run = captured("lossy-path", tmp_path)
    capture = run.captures["server"]
    connection = lasthop.analyze(capture).connections[0]
    packets = sum(sender["packets"] for sender in connection["senders"])
    payload = sum(sender["data_bytes"] for sender in connection["senders"])
    command = ["tshark", "-r", str(capture), "-T", "fields", "-e", "tcp.len"]
    lengths = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert (packets, payload) == (len(lengths), sum(map(int, lengths)))


def test_a_capture_becomes_a_result_that_is_explained_and_drawn(lasthop: Lasthop, tmp_path: Path) -> None:
    captured("delay-spike", tmp_path)
    analyzed = lasthop("analyze", "delay-spike/capture-server.pcapng", "--out", "mine")
    assert analyzed.status == 0
    assert "1 TCP connections" in analyzed.out
    assert "needless" in lasthop("explain", "mine").out
    assert lasthop("plot", "mine", "time-sequence").status == 0


def test_a_torn_capture_is_read_up_to_the_tear(lasthop: Lasthop, tmp_path: Path) -> None:
    capture = captured("delay-spike", tmp_path).captures["server"]
    (tmp_path / "torn.pcapng").write_bytes(capture.read_bytes()[:-7])
    shown = lasthop("analyze", "torn.pcapng")
    assert shown.status == 0
    assert "torn" in shown.err


@pytest.mark.parametrize(
    ("content", "says"), [(b"", "not a pcap"), (b"PK\x03\x04 something else", "not a pcap"), (None, "no such file")]
)
def test_what_is_no_capture_is_refused(content: bytes | None, says: str, lasthop: Lasthop, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "some.pcap").write_bytes(content)
    refused = lasthop("analyze", "some.pcap")
    assert refused.status == 2
    assert says in refused.err


def damaged(tmp_path: Path, at: int, word: int) -> Path:
    """Return a kernel's capture with another 32-bit word at a place."""
    original = (Path(__file__).parents[1] / "crates/trace/tests/kernels/outage-sack.pcap").read_bytes()
    path = tmp_path / "damaged.pcap"
    path.write_bytes(original[:at] + word.to_bytes(4, "little") + original[at + 4 :])
    return path


LINK_TYPE, SECONDS = 20, 24
"""Offsets of the link type in the file's header, and of the seconds in its first record."""


def test_an_unknown_link_type_is_counted_and_named(lasthop: Lasthop, tmp_path: Path) -> None:
    shown = lasthop("analyze", damaged(tmp_path, LINK_TYPE, 147))
    assert shown.status == 0
    assert "943 frames skipped: link type 147 (private use), which is not read" in shown.err


def test_a_clock_that_runs_back_loses_no_packet(tmp_path: Path) -> None:
    (kept,) = lasthop.analyze(damaged(tmp_path, SECONDS, 2_000_000_000)).connections
    (whole,) = lasthop.analyze(damaged(tmp_path, LINK_TYPE, 101)).connections
    assert [one["packets"] for one in kept["senders"]] == [one["packets"] for one in whole["senders"]]


def test_a_length_that_is_wrong_ends_the_reading_and_is_said(lasthop: Lasthop, tmp_path: Path) -> None:
    shown = lasthop("analyze", damaged(tmp_path, SECONDS + 8, 0x7FFFFFFF))
    assert shown.status in (0, 2)
    assert "fault" in shown.err or "damaged" in shown.err or "torn" in shown.err, shown.err
