"""Other people's programs read our captures, and count what we count."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from command import Lasthop

TSHARK = pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
TCPTRACE = pytest.mark.skipif(shutil.which("tcptrace") is None, reason="needs tcptrace")


# Wireshark sorts what is sent again by guesses from timing; at the sender's own capture all four are retransmissions.
AGAIN = " || ".join(
    f"tcp.analysis.{guess}"
    for guess in ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
)


@pytest.fixture
def written(lasthop: Lasthop, tmp_path: Path) -> tuple[dict[str, Any], Path]:
    ended = lasthop("run", "quickstart", "--out", "r", "--json")
    return ended.json["flows"][0], tmp_path / "r"


def tshark(capture: Path, *arguments: str) -> list[str]:
    command = ["tshark", "-r", str(capture), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


@TSHARK
def test_tshark_counts_our_retransmissions(written: tuple[dict[str, Any], Path]) -> None:
    flow, folder = written
    assert len(tshark(folder / "capture-server.pcapng", "-Y", AGAIN)) == flow["retransmissions"]


@TSHARK
def test_tshark_finds_every_checksum_right(written: tuple[dict[str, Any], Path]) -> None:
    _, folder = written
    check = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    wrong = "tcp.checksum.status == 0 or ip.checksum.status == 0"
    assert tshark(folder / "capture-lasthop.pcapng", *check, "-Y", wrong) == []


@TSHARK
def test_tshark_shows_the_links_verdicts(written: tuple[dict[str, Any], Path], lasthop: Lasthop) -> None:
    _, folder = written
    comments = tshark(folder / "capture-lasthop.pcapng", "-T", "fields", "-e", "frame.comment")
    dropped = [comment for comment in comments if "drop" in comment]
    assert len(dropped) == lasthop("run", "quickstart", "--json").json["links"][0]["queue_drops"]


@TCPTRACE
def test_tcptrace_counts_our_retransmissions(written: tuple[dict[str, Any], Path]) -> None:
    flow, folder = written
    command = ["tcptrace", "-l", str(folder / "capture-server.pcapng")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    counts = re.findall(r"rexmt data pkts:\s+(\d+)", text)
    assert int(counts[0]) == flow["retransmissions"]
