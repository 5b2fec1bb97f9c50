"""Captures of QUIC with the secrets of their ends."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import Lasthop
from lasthop.analysis import analyze_to_folder
from lasthop.explanation import explain
from lasthop.quic_connection import needless_packets
from lasthop.results import RunResult
from lasthop.selection import select

CAPTURES = Path(__file__).parents[1] / "crates" / "analysis" / "tests" / "quic"
NAMES = ("aes-128-migration", "chacha20-key-update", "aes-256-version-2")
TSHARK = pytest.mark.skipif(shutil.which("tshark") is None, reason="NOT TESTED: tshark, the judge, is not installed")


def test_secrets_show_losses_and_round_trips(lasthop: Lasthop) -> None:
    capture, keys = CAPTURES / "aes-128-migration.pcap", CAPTURES / "aes-128-migration.keys"
    ended = lasthop("analyze", str(capture), "--keylog", str(keys))
    assert "QUIC, with secrets" in ended.out
    assert "closed by the client: application code 0x7 (done)" in ended.out
    report = lasthop("analyze", str(capture), "--keylog", str(keys), "--json").json[str(capture)]
    server = report["quic"][0]["contents"]["senders"][1]
    assert server["lost"] > 0
    assert server["retransmitted_bytes"] > 0
    assert 0.04 <= server["rtt"]["min_s"] < 0.05


def test_without_secrets_the_remedy_is_named(lasthop: Lasthop) -> None:
    ended = lasthop("analyze", str(CAPTURES / "aes-128-migration.pcap"))
    assert "packets not opened: no secret in a key log (analyze the capture with --keylog FILE" in ended.out
    assert "server.example" in ended.out


def test_a_result_has_a_row_for_each_packet(lasthop: Lasthop, tmp_path: Path) -> None:
    capture, keys = CAPTURES / "aes-128-migration.pcap", CAPTURES / "aes-128-migration.keys"
    lasthop("analyze", str(capture), "--keylog", str(keys), "--out", "r")
    table = pq.read_table(tmp_path / "r" / "quic.parquet")
    lost = [row for row in table.to_pylist() if row["lost_ns"] is not None]
    assert lost
    assert all(row["lost_ns"] > row["time_ns"] and not row["from_client"] for row in lost)


@pytest.mark.parametrize(
    ("text", "words"), [("hello\n", "keys:1"), ("# nothing\n", "has no secret"), (None, "there is no such key log")]
)
def test_what_is_no_key_log_is_refused(lasthop: Lasthop, tmp_path: Path, text: str | None, words: str) -> None:
    if text is not None:
        (tmp_path / "keys").write_text(text)
    ended = lasthop("analyze", str(CAPTURES / "aes-128-migration.pcap"), "--keylog", "keys")
    assert ended.status == 2
    assert words in ended.err


@TSHARK
@pytest.mark.parametrize("name", NAMES)
def test_tshark_finds_the_same_packets(name: str) -> None:
    keys = f"tls.keylog_file:{CAPTURES / name}.keys"
    fields = ["frame.number", "quic.packet_number", "quic.frame_type", "quic.ack.largest_acknowledged"]
    fields += ["quic.ack.first_ack_range", "quic.ack.gap", "quic.ack.ack_range"]
    chosen = [part for field in fields for part in ("-e", field)]
    command = ["tshark", "-r", f"{CAPTURES / name}.pcap", "-o", keys, "-T", "fields", *chosen]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # The tests of Rust compare the recorded text with what lasthop reads.
    assert found == (CAPTURES / f"{name}.tshark").read_text()


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """Return the result of a capture with its keys: losses, and a client with a new address."""
    capture = CAPTURES / "aes-128-migration.pcap"
    folder = tmp_path_factory.mktemp("opened") / "r"
    return analyze_to_folder(select([capture], key_log=CAPTURES / "aes-128-migration.keys"), folder)


def test_the_segments_are_the_data_of_the_streams(opened: RunResult) -> None:
    server = opened.specification["report"]["quic"][0]["contents"]["senders"][1]
    rows = [row for row in opened.table("segments").to_pylist() if row["direction"] == "sent" and row["len"]]
    again = [row for row in rows if row["retransmission"]]
    assert sum(row["len"] for row in rows) == server["stream_bytes"]
    assert sum(row["len"] for row in again) == server["retransmitted_bytes"] > 0
    first = sorted((row["seq"], row["len"]) for row in rows if not row["retransmission"])
    assert first[0][0] == 1
    assert all(seq + length == following for (seq, length), (following, _) in pairwise(first))
    assert {row["cause"] for row in again} <= {"packet_threshold", "time_threshold", "probe", "unknown"}


def test_needless_packets_are_counted_as_the_table_has_them(opened: RunResult) -> None:
    (flow,) = opened.summary["flows"]
    rows = [row for row in opened.table("segments").to_pylist() if row["direction"] == "sent" and row["retransmission"]]
    needless = {row["packet"] for row in rows if row["needless"]}
    assert flow["unnecessary_retransmissions"] == len(needless) <= flow["retransmissions"]


def test_a_packet_of_some_rows_counts_once() -> None:
    columns = {
        "needless": [True, True, False, None, True, True],
        "direction": ["sent", "sent", "sent", "sent", "received", "sent"],
        "flow": ["one", "one", "one", "one", "one", "two"],
        "packet": [1, 1, 2, 3, 4, 5],
    }
    assert needless_packets(pa.table(columns)) == {"one": 1, "two": 1}


@pytest.mark.parametrize("format", ["xpl", "qlog", "flent"])
def test_each_format_has_the_connection(lasthop: Lasthop, opened: RunResult, tmp_path: Path, format: str) -> None:
    exported = lasthop("export", opened.path, "--format", format, "--out", format)
    assert exported.status == 0, exported.err
    (file,) = (tmp_path / format).iterdir()
    data = file.read_bytes()
    text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode()
    assert "QUIC 10.0.0.2:5000-10.0.0.1:443" in text
    rows = [row for row in opened.table("segments").to_pylist() if row["direction"] == "sent" and row["len"]]
    again = sum(row["retransmission"] for row in rows)
    assert len(rows) > again > 0
    if format == "xpl":
        assert text.count("\nR\n") == again


def test_qlog_has_quic_s_own_packets(lasthop: Lasthop, opened: RunResult, tmp_path: Path) -> None:
    assert lasthop("export", opened.path, "--format", "qlog", "--out", "qlog").status == 0
    (file,) = (tmp_path / "qlog").iterdir()
    (trace,) = json.loads(file.read_text())["traces"]
    assert trace["common_fields"]["protocol_type"] == ["QUIC"]
    server = opened.specification["report"]["quic"][0]["contents"]["senders"][1]
    by_name: dict[str, list[dict[str, Any]]] = {}
    for event in trace["events"]:
        by_name.setdefault(event["name"], []).append(event["data"])
    sent, lost = by_name["transport:packet_sent"], by_name["recovery:packet_lost"]
    assert len(sent) == sum(server["packets"].values())
    assert len(lost) == server["lost"] > 0
    frames = [frame for packet in sent for frame in packet["frames"]]
    assert sum(frame["length"] for frame in frames if frame["frame_type"] == "stream") == server["stream_bytes"]
    places = [(packet["header"]["packet_type"], packet["header"]["packet_number"]) for packet in sent]
    assert len(set(places)) == len(places)
    assert all((each["header"]["packet_type"], each["header"]["packet_number"]) in places for each in lost)


def test_events_of_tcp_are_none_of_quic(lasthop: Lasthop, opened: RunResult) -> None:
    refused = lasthop("export", opened.path, "--format", "qlog-tcp", "--out", "qlog-tcp")
    assert refused.status == 2
    assert "nothing to write as qlog-tcp" in refused.err


def test_the_story_tells_handshake_losses_address_and_end(opened: RunResult) -> None:
    (explained,) = explain(opened)
    kinds = [event.kind for event in explained.events]
    assert {"opening", "loss", "migration", "closed"} <= set(kinds)
    assert kinds.index("opening") < kinds.index("loss") < kinds.index("closed")
    texts = [event.text for event in explained.events]
    assert any("declared lost by the packet threshold" in text for text in texts)
    assert any("closed by the client: application code 0x7 (done)" in text for text in texts)
    assert any("with server.example" in fact for fact in explained.facts)
    assert sum(share.seconds for share in explained.time_shares) == pytest.approx(
        explained.end - explained.start, rel=0.05
    )


def test_pictures_export_and_page_have_the_connection(lasthop: Lasthop, opened: RunResult, tmp_path: Path) -> None:
    for kind in ("time-sequence", "rtt", "flight", "throughput", "progress"):
        ended = lasthop("plot", opened.path, kind, "--out", f"{kind}.svg")
        assert ended.status == 0, ended.err
        assert (tmp_path / f"{kind}.svg").stat().st_size > 1000
    assert lasthop("report", opened.path, "--out", "page.html").status == 0
    assert "server.example" in (tmp_path / "page.html").read_text(encoding="utf-8")
    exported = lasthop("export", opened.path, "--format", "csv", "--out", "tables")
    assert exported.status == 0, exported.err
    assert (tmp_path / "tables" / "quic.csv").is_file()
    assert (tmp_path / "tables" / "segments.csv").is_file()


def test_a_capture_without_keys_is_reported_and_not_drawn(lasthop: Lasthop) -> None:
    assert lasthop("analyze", str(CAPTURES / "aes-128-migration.pcap"), "--out", "r").status == 0
    shown = lasthop("explain", "r")
    assert shown.status == 0
    assert "no secret in a key log" in shown.out
    assert "--keylog FILE" in shown.out
    for command in (("plot", "r", "rtt"), ("report", "r"), ("export", "r", "--format", "xpl")):
        refused = lasthop(*command)
        assert refused.status == 2
        assert "are encrypted" in refused.err
        assert "--keylog FILE" in refused.err
