"""Captures of QUIC with the secrets of their ends."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from command import Lasthop

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
    assert "packets not opened: no secret in a key log (--keylog FILE" in ended.out
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
