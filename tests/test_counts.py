"""Counts of captures against those of tcptrace and tshark: our own of every kind, and of real kernels.

Where definitions differ, docs/results.md says how; only what both count alike is compared.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

import lasthop as package

KERNELS: Final = sorted((Path(__file__).parents[1] / "crates/trace/tests/kernels").glob("*.pcap"))
SCENARIOS: Final = (
    *("quickstart", "spikes", "lossy-path", "reordering", "outages", "three-cubic", "delay-spike", "duplicates"),
    *("gilbert-elliott", "loss-bursts", "link-arq", "link-reset", "packet-lifetime", "preemption", "queue-codel"),
    *("queue-fq-codel", "queue-front-drop", "queue-pie", "queue-red", "rate-schedule", "square-wave", "token-bucket"),
    *("netem", "late-segments", "handover", "radio-frames"),
)
RECEIVERS: Final = ("quickstart", "lossy-path", "reordering", "outages", "spikes")

ANYWHERE: Final = {
    "packets": "total packets",
    "pure_acks": "pure acks sent",
    "data_segments": "actual data pkts",
    "data_bytes": "actual data bytes",
    "sacks_sent": "sack pkts sent",
    "zero_windows": "zero win adv",
    "mss": "mss requested",
    "largest_segment": "max segm size",
    "largest_window": "max win adv",
}
AT_THE_SENDER: Final = {"unique_bytes": "unique bytes sent", "retransmissions": "rexmt data pkts"}

AGAIN: Final = (
    "tcp.analysis.retransmission || tcp.analysis.fast_retransmission"
    " || tcp.analysis.spurious_retransmission || tcp.analysis.out_of_order"
)


def captured(name: str, point: str, folder: Path) -> Path:
    run = package.run(name, overrides=[f'record.captures=["{point}"]'])
    path = folder / f"{name}-{point}.pcapng"
    path.write_bytes(run.captures[point])
    return path


def tcptrace(path: Path) -> Iterator[dict[str, tuple[str, str]]]:
    """Yield what tcptrace counts of each connection, for the side that opened it and the other."""
    printed = subprocess.run(["tcptrace", "-l", "-n", str(path)], capture_output=True, text=True, check=True).stdout
    for text in re.split(r"^TCP connection \d+:", printed, flags=re.MULTILINE)[1:]:
        lines = re.findall(r"^\s+([a-zA-Z/ ]+?):\s+(\S+)(?: \w+)?\s+\1:\s+(\S+)", text, flags=re.MULTILINE)
        yield {name: (opener, other) for name, opener, other in lines}


def differences(path: Path, counts: Mapping[str, str]) -> list[str]:
    ours: list[Mapping[str, Any]] = package.analyze(path).connections
    theirs = list(tcptrace(path))
    assert len(ours) == len(theirs)
    return [
        f"{our['flow']} {ours_name} of side {side}: {our['senders'][side][ours_name]}, tcptrace {their[name][side]}"
        for our, their in zip(ours, theirs, strict=True)
        for side in (0, 1)
        for ours_name, name in counts.items()
        if str(our["senders"][side][ours_name] or 0) != their[name][side]
    ]


def tshark_counts(path: Path, what: str) -> int:
    command = ["tshark", "-r", str(path), "-Y", what, "-T", "fields", "-e", "frame.number"]
    return len(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def retransmissions(path: Path) -> int:
    senders = (sender for connection in package.analyze(path).connections for sender in connection["senders"])
    return sum(sender["retransmissions"] for sender in senders)


@pytest.mark.skipif(not (shutil.which("tcptrace") and shutil.which("tshark")), reason="NOT TESTED: no judges")
@pytest.mark.parametrize("name", SCENARIOS)
def test_tcptrace_and_tshark_count_the_same_at_the_sender(name: str, tmp_path: Path) -> None:
    path = captured(name, "server", tmp_path)
    assert not differences(path, ANYWHERE | AT_THE_SENDER)
    assert retransmissions(path) == tshark_counts(path, AGAIN)


@pytest.mark.skipif(shutil.which("tcptrace") is None, reason="NOT TESTED: tcptrace, the judge, is not installed")
@pytest.mark.parametrize("name", RECEIVERS)
def test_tcptrace_counts_the_same_at_the_receiver_but_for_what_was_lost(name: str, tmp_path: Path) -> None:
    assert not differences(captured(name, "mobile", tmp_path), ANYWHERE)


@pytest.mark.skipif(shutil.which("tcptrace") is None, reason="NOT TESTED: tcptrace, the judge, is not installed")
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_tcptrace_counts_the_same_of_kernels(path: Path) -> None:
    assert not differences(path, ANYWHERE | AT_THE_SENDER)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="NOT TESTED: tshark, the judge, is not installed")
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_tshark_finds_the_same_retransmissions_of_kernels(path: Path) -> None:
    assert retransmissions(path) == tshark_counts(path, AGAIN)
