"""Captures in every framing that lasthop reads: the same packets as tshark finds, and what is not read is named."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import framed
import lasthop
from command import Lasthop
from lasthop import _native
from lasthop.analysis import annotate
from lasthop.results.run import arrow_table
from lasthop.selection import select

tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="NOT TESTED: tshark, the judge, is not installed")


def fields(capture: Path, *names: str) -> list[list[str]]:
    """Return fields of the innermost TCP header of each frame that tshark finds one in."""
    asked = [part for name in names for part in ("-e", name)]
    # Reassembled packets come with their last frame, as with lasthop.
    command = ["tshark", "-r", str(capture), "-Y", "tcp", "-T", "fields", "-E", "occurrence=l", *asked]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split("\t") for line in lines]


def packets(capture: Path) -> list[tuple[int, int, int]]:
    """Return frame number, sequence number and length of each segment that lasthop finds."""
    table = arrow_table(_native.capture_packets(select([capture])))
    columns = (table.column(name).to_pylist() for name in ("packet", "seq", "len"))
    return list(zip(*columns, strict=True))


@tshark
@pytest.mark.parametrize("name", framed.FRAMINGS)
def test_every_framing_gives_the_segments_that_tshark_finds(name: str, tmp_path: Path) -> None:
    link_type, frame = framed.FRAMINGS[name]
    frames = [(time, frame(packet)) for time, _, packet in framed.conversation()]
    capture = framed.write(tmp_path / "some.pcap", link_type, frames)
    dissected = [tuple(map(int, row)) for row in fields(capture, "frame.number", "tcp.seq_raw", "tcp.len")]
    assert packets(capture) == dissected
    assert len(dissected) == len(frames)


@tshark
def test_version_6_inside_version_4_is_found(tmp_path: Path) -> None:
    frames = [(time, framed.outer(packet, 41)) for time, _, packet in framed.conversation_6()]
    capture = framed.write(tmp_path / "6in4.pcap", framed.ETHERNET, frames)
    dissected = [tuple(map(int, row)) for row in fields(capture, "frame.number", "tcp.seq_raw", "tcp.len")]
    assert packets(capture) == dissected
    assert len(dissected) == len(frames)


@tshark
def test_fragments_are_put_together_as_tshark_does(tmp_path: Path) -> None:
    frames = [
        (time + 1e-6 * place, framed.ethernet(0x0800, part))
        for time, _, packet in framed.conversation()
        for place, part in enumerate(framed.fragments(packet))
    ]
    capture = framed.write(tmp_path / "fragments.pcap", framed.ETHERNET, frames)
    dissected = [tuple(map(int, row)) for row in fields(capture, "frame.number", "tcp.seq_raw", "tcp.len")]
    assert packets(capture) == dissected


@pytest.mark.parametrize("snap", [54, 60, 96, 200])
def test_a_snap_length_costs_no_byte_of_the_count(snap: int, tmp_path: Path) -> None:
    frames = [(time, framed.ethernet(0x0800, packet)) for time, _, packet in framed.conversation()]
    whole = lasthop.analyze(framed.write(tmp_path / "whole.pcap", framed.ETHERNET, frames))
    cut = lasthop.analyze(framed.write(tmp_path / "cut.pcap", framed.ETHERNET, frames, snap))
    assert cut.connections == whole.connections


def conversation(path: Path) -> Path:
    """Write the conversation in Ethernet frames."""
    frames = [(time, framed.ethernet(0x0800, packet)) for time, _, packet in framed.conversation()]
    return framed.write(path, framed.ETHERNET, frames)


def test_what_a_frame_holds_instead_of_ip_is_named(lasthop: Lasthop, tmp_path: Path) -> None:
    others = [(0.0, framed.ethernet(0x0806, bytes(28))), (0.1, framed.ethernet(0x88CC, bytes(28)))]
    capture = framed.write(tmp_path / "others.pcap", framed.ETHERNET, [*others, (0.2, framed.ethernet(0x9999, b""))])
    shown = lasthop("analyze", capture)
    assert shown.status == 0
    for words in ("1 frames skipped: ARP", "1 frames skipped: LLDP", "1 frames skipped: EtherType 0x9999"):
        assert words in shown.err


def test_gzip_and_zstandard_are_read(tmp_path: Path) -> None:
    capture = conversation(tmp_path / "plain.pcap")
    (tmp_path / "some.pcap.gz").write_bytes(gzip.compress(capture.read_bytes()))
    found = lasthop.analyze(tmp_path / "some.pcap.gz")
    assert found.connections == lasthop.analyze(capture).connections
    if zstd := shutil.which("zstd"):
        subprocess.run([zstd, "--quiet", str(capture)], check=True)
        assert lasthop.analyze(f"{capture}.zst").connections == found.connections


def test_standard_input_is_reported_as_it_comes(tmp_path: Path) -> None:
    content = conversation(tmp_path / "some.pcap").read_bytes()
    command = [sys.executable, "-m", "lasthop", "analyze", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        reader.stdin.write(content)
        reader.stdin.flush()
        # The input is still open, and the row is there.
        assert b"retransmission (timeout)" in reader.stdout.readline()
        rest, _ = reader.communicate()
    assert b"1 TCP connections" in rest
    assert reader.returncode == 0


def test_a_filter_chooses_frames_as_libpcap_does(lasthop: Lasthop, tmp_path: Path) -> None:
    pytest.importorskip("ctypes")
    capture = conversation(tmp_path / "some.pcap")
    up = lasthop("analyze", capture, "--filter", "src host 10.0.0.1", "--json")
    if "needs libpcap" in up.err:
        pytest.skip("NOT TESTED: libpcap is not installed")
    (report,) = up.json.values()
    assert [sender["packets"] for sender in report["connections"][0]["senders"]] == [11, 0]
    refused = lasthop("analyze", capture, "--filter", "prot 80")
    assert refused.status == 2
    assert "filter 'prot 80'" in refused.err


def test_times_choose_frames_and_keep_their_numbers(tmp_path: Path) -> None:
    capture = conversation(tmp_path / "some.pcap")
    whole = packets(capture)
    table = arrow_table(_native.capture_packets(select([capture], start=0.1, stop=0.2)))
    chosen = table.column("packet").to_pylist()
    assert 0 < len(chosen) < len(whole)
    assert set(chosen) < {number for number, _, _ in whole}
    assert chosen[0] > 1


def test_an_end_before_the_start_is_refused(lasthop: Lasthop, tmp_path: Path) -> None:
    refused = lasthop("analyze", conversation(tmp_path / "some.pcap"), "--from", "2", "--to", "1")
    assert refused.status == 2
    assert "before the start" in refused.err


def test_the_files_of_a_series_are_one_capture(lasthop: Lasthop, tmp_path: Path) -> None:
    frames = [(time, framed.ethernet(0x0800, packet)) for time, _, packet in framed.conversation()]
    whole = lasthop("analyze", conversation(tmp_path / "whole.pcap"), "--json").json
    first = framed.write(tmp_path / "a.pcap", framed.ETHERNET, frames[:20])
    second = framed.write(tmp_path / "b.pcap", framed.ETHERNET, frames[20:])
    series = lasthop("analyze", first, second, "--series", "--json").json
    assert list(series.values()) == list(whole.values())


@tshark
def test_verdicts_are_comments_that_tshark_reads(tmp_path: Path) -> None:
    capture = conversation(tmp_path / "some.pcap")
    annotate(capture, tmp_path / "annotated.pcapng")
    command = ["tshark", "-r", str(tmp_path / "annotated.pcapng"), "-Y", "frame.comment", "-T", "fields"]
    asked = ["-e", "frame.number", "-e", "frame.comment"]
    lines = subprocess.run([*command, *asked], capture_output=True, text=True, check=True).stdout.splitlines()
    (line,) = lines
    number, comment = line.split("\t")
    again = [number for number, seq, _ in packets(capture) if seq == 4500]
    assert int(number) == again[1]
    assert comment.startswith("retransmission: the timer expired; needed")
    assert packets(tmp_path / "annotated.pcapng") == packets(capture)


def test_an_annotated_capture_is_not_overwritten(lasthop: Lasthop, tmp_path: Path) -> None:
    capture = conversation(tmp_path / "some.pcap")
    refused = lasthop("analyze", capture, "--annotate", capture)
    assert refused.status == 2
    assert "not overwritten" in refused.err


def test_the_worst_connections_come_first(lasthop: Lasthop, tmp_path: Path) -> None:
    shown = lasthop("analyze", conversation(tmp_path / "some.pcap"), "--worst", "1", "--by", "time-lost")
    assert shown.status == 0
    assert "10.0.0.2:80" in shown.out
