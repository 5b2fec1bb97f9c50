"""DCCP from the command line: its results, its story, its capture by tshark's dissector, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from command import Lasthop

TSHARK = pytest.mark.skipif(shutil.which("tshark") is None, reason="NOT TESTED: tshark, the judge, is not installed")
SHORT = [f'flows.{flow}.until="5 s"' for flow in ("window", "rate", "download")]


def short(*overrides: str) -> list[str]:
    """Return the options of a run of 5 s with these overrides."""
    return [option for override in (*SHORT, *overrides) for option in ("--set", override)]


def test_the_story_of_a_film_has_losses_and_nothing_that_is_sent_again(lasthop: Lasthop, tmp_path: Path) -> None:
    out = tmp_path / "films"
    ended = lasthop("run", "dccp-lte", "--out", str(out), "--json")
    window, rate, download = ended.json["flows"]
    for film in (window, rate):
        assert film["completed"]
        assert film["retransmissions"] == film["fast_retransmits"] == 0
        assert film["received"] > 1e6
        assert 0 < film["loss_event_rate"] < 0.05
        assert film["packets_lost"] > 0
    assert "loss_event_rate" not in download
    shown = lasthop("explain", str(out), "--flow", "window")
    assert "connected after" in shown.out
    assert "three later ones were acknowledged" in shown.out
    assert "retransmi" not in shown.out
    drawn = lasthop("plot", str(out), "cwnd", "--flow", "rate", "--out", str(tmp_path / "rate.svg"))
    assert drawn.status == 0, drawn.err


@TSHARK
def test_tshark_reads_every_packet_and_finds_its_checksum_right(lasthop: Lasthop, tmp_path: Path) -> None:
    out = tmp_path / "captured"
    captures = 'record.captures=["film-2", "film-3"]'
    lasthop("run", "dccp-lte", *short(captures), "--out", str(out))
    for host, option in (("film-2", "dccp.option_type == 38"), ("film-3", "dccp.option_type == 192")):
        capture = str(out / f"capture-{host}.pcapng")
        check = ["tshark", "-r", capture, "-o", "dccp.check_checksum:TRUE", "-T", "fields", "-e", "frame.number"]

        def matching(shown: str, check: list[str] = check) -> int:
            ended = subprocess.run([*check, "-Y", shown], check=True, capture_output=True, text=True)
            return len(ended.stdout.splitlines())

        all_packets = matching("frame")
        assert all_packets > 100
        assert matching("dccp") == all_packets
        assert matching("dccp.checksum.status == 0 or _ws.malformed") == 0
        assert matching("dccp.type == 0") == matching("dccp.type == 1") == 1
        assert matching(option) > 10


@pytest.mark.parametrize(
    ("override", "key", "said"),
    [
        ("hosts.film-2.tcp.mss=500 bytes", "hosts.film-2.tcp", "does not read this key"),
        ("hosts.film-2.dccp.ccid=4", "hosts.film-2.dccp.ccid", "there is no CCID 4"),
        ("hosts.film-3.dccp.ack_ratio=3 packets", "hosts.film-3.dccp.ack_ratio", "has no Ack Ratio"),
        ("hosts.film-2.dccp.sequence_window=9 packets", "hosts.film-2.dccp.sequence_window", "write 32"),
        ("hosts.server.dccp={ ccid = 3 }", "hosts.server.dccp", 'add stack = "dccp"'),
        ('hosts.tablet={ stack = "smoltcp" }', "flows.window.to", "speaks DCCP"),
        ("flows.window.workload={ web = {} }", "flows.window.workload", "reliable connections"),
        ("flows.window.workload={ tfrc = {} }", "flows.window.workload", "ccid = 3"),
    ],
)
def test_what_dccp_does_not_do_is_refused_where_it_stands(lasthop: Lasthop, override: str, key: str, said: str) -> None:
    refused = lasthop("run", "dccp-lte", "--set", override)
    assert refused.status == 2
    assert key in refused.err
    assert said in refused.err


def test_a_number_of_bytes_and_a_live_run_are_refused(lasthop: Lasthop, tmp_path: Path) -> None:
    scenario = tmp_path / "film.toml"
    scenario.write_text(FILM)
    sized = lasthop("run", str(scenario))
    assert sized.status == 2
    assert "film.toml:2: flows.film.bytes" in sized.err
    assert 'write until = "30 s"' in sized.err
    live = lasthop("live", "dccp-lte")
    assert live.status == 2
    assert "hosts.film-2.stack: host film-2 has the stack" in live.err
    assert "dccp-lte.toml:" in live.err
    assert "virtual time only" in live.err
    assert "use lasthop run" in live.err


FILM = """hosts = { a = { stack = "dccp" }, b = { stack = "dccp" } }
flows = [{ name = "film", from = "a", to = "b", bytes = "1 MB" }]
links = [{ name = "l", between = ["a", "b"], down = { rate = "1 Mbit/s" }, up = { rate = "1 Mbit/s" } }]
"""
