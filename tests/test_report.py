"""Pages of `lasthop report`: what they carry, and that a real browser shows it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import framed
from command import Lasthop
from lasthop.plots.delivery import flight, round_trips
from lasthop.plots.flow import FlowTables
from lasthop.plots.queue_lengths import read_queues, worth_drawing
from lasthop.report.page import report_data
from lasthop.results import open_run

RECORDED = "record.tables=['segments','tcp','packets','queue']"


def unpacked(packed: bytes, place: dict[str, int]) -> list[int]:
    """As `web/src/packing.ts` reads a column."""
    numbers, at, last = [], place["at"], 0
    for _ in range(place["count"]):
        value, shift = 0, 0
        while True:
            byte = packed[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        last += value >> 1 if value % 2 == 0 else -((value + 1) >> 1)
        numbers.append(last)
    assert at == place["at"] + place["bytes"]
    return numbers


@pytest.fixture
def results(lasthop: Lasthop, tmp_path: Path) -> list[Path]:
    """Two runs of one scenario."""
    folders = [tmp_path / "seed-1", tmp_path / "seed-2"]
    for seed, folder in enumerate(folders, start=1):
        ended = lasthop("run", "quickstart", "--seed", seed, "--set", RECORDED, "--out", folder)
        assert ended.status == 0, ended.err
    return folders


def test_the_view_has_what_the_pictures_draw(results: list[Path]) -> None:
    """Two programs read the tables, in Rust for the page and in Python for `lasthop plot`."""
    index, columns = report_data([open_run(folder) for folder in results])
    for view, folder in zip(index["runs"], results, strict=True):
        run = open_run(folder)
        (seen,), flow = view["flows"], FlowTables(run, "download")
        sent, acks, in_flight, (at, trips) = flow.sent(), flow.acks(), flight(flow), round_trips(flow)
        drops = flow.drops(sent)
        pairs = [
            (seen["sent"]["time"], 1e9 * sent.time),
            (seen["sent"]["end"], sent.end),
            (seen["acks"]["edge"], acks.edge),
            (seen["acks"]["duplicate"], acks.duplicate),
            (seen["sacks"]["start"], flow.sacks().start),
            (seen["flight"]["bytes"], in_flight.bytes),
            (seen["roundTrips"]["time"], 1e9 * at),
            (seen["roundTrips"]["value"], 1e9 * trips),
            (seen["drops"]["offset"], drops.offset[np.argsort(drops.time, kind="stable")]),
        ]
        for queue in worth_drawing(read_queues(run))[0]:
            (drawn,) = (each for each in view["queues"] if each["name"] == queue.name)
            pairs += [(drawn["packets"], queue.packets), (drawn["drops"]["behind"], queue.drop_behind)]
        for packed, drawn in pairs:
            assert unpacked(columns, packed) == np.rint(drawn).astype(np.int64).tolist()
            assert packed["count"] > 0


def report(lasthop: Lasthop, *arguments: object) -> None:
    ended = lasthop("report", *arguments)
    assert ended.status == 0, ended.err


def test_a_page_carries_everything_and_asks_no_network(lasthop: Lasthop, results: list[Path]) -> None:
    report(lasthop, results[0])
    page = (results[0] / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=|@import|url\(", page)
    assert '"format":"lasthop report 1"' in page


def test_a_run_without_segments_is_refused_with_the_remedy(lasthop: Lasthop, tmp_path: Path) -> None:
    lasthop("run", "quickstart", "--out", tmp_path / "bare", "--set", "record.tables=[]")
    refused = lasthop("report", tmp_path / "bare")
    assert refused.status == 2
    assert "recorded no table 'segments'" in refused.err
    assert "record.tables" in refused.err


def in_chromium(page: Path) -> str:
    """The page's document after its program has run."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("NOT TESTED: chromium is not installed, so no browser has seen the page (apt-get install chromium)")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom"]
    ended = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, check=True, timeout=120)
    return ended.stdout


def test_a_browser_draws_every_panel_of_a_run(lasthop: Lasthop, results: list[Path]) -> None:
    report(lasthop, results[0])
    document = in_chromium(results[0] / "report.html")
    assert "data-ready=" in document
    sent = lasthop("run", "quickstart", "--seed", 1, "--json").json["flows"][0]["segments_sent"]
    assert f'data-segments="{sent}"' in document
    for panel in ("Time sequence of download", "Congestion of download", "Round trips", "Queue of link lasthop.down"):
        assert panel in document
    assert document.count("<canvas") >= 4


def test_two_runs_stand_side_by_side_and_can_be_chosen(lasthop: Lasthop, results: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "both.html"
    report(lasthop, *results, "--out", page)
    document = in_chromium(page)
    for result in results:
        assert re.search(rf"<td[^>]*>{result.name}</td>", document)
        assert re.search(rf"<option[^>]*>{result.name}</option>", document)
    assert "Acknowledged of download, run by run" in document


def test_a_page_has_the_story_and_the_causes(lasthop: Lasthop, results: list[Path]) -> None:
    report(lasthop, results[0])
    document = in_chromium(results[0] / "report.html")
    (explained,) = lasthop("explain", results[0], "--json").json[str(results[0])]
    for event in explained["events"]:
        assert event["text"] in document
    for share in explained["time_shares"]:
        assert share["words"] in document
    found = re.search(r'id="index">(.*?)</script>', document, re.DOTALL)
    assert found is not None
    index = json.loads(found[1])
    words = index["runs"][0]["flows"][0]["words"]
    assert any(text.startswith("fast retransmit: ") for text in words)
    assert "lasthop.down: overflow" in words


def test_the_story_of_every_flow_can_be_unfolded_and_bbr_has_its_rates(lasthop: Lasthop, tmp_path: Path) -> None:
    both = tmp_path / "both.toml"
    both.write_text(TWO_FLOWS)
    assert lasthop("run", both, "--out", "two").status == 0
    report(lasthop, tmp_path / "two")
    document = in_chromium(tmp_path / "two" / "report.html")
    for flow in ("first", "second"):
        assert f"What happened to {flow}" in document
    assert document.count("<details") == 2
    assert document.count("<details open") == 1
    assert "pacing rate (right)" in document
    assert "ssthresh" not in re.sub(r"<script.*?</script>", "", document, flags=re.DOTALL)


def test_numbers_on_a_page_are_rounded_for_reading(lasthop: Lasthop, results: list[Path]) -> None:
    report(lasthop, results[0])
    document = in_chromium(results[0] / "report.html")
    shown = re.sub(r"<[^>]*>", " ", re.sub(r"<(script|style).*?</\1>", "", document, flags=re.DOTALL))
    assert not re.search(r"\b\d+\.\d{5,}", shown)
    assert re.search(r"\b172 ms\b", shown)


TWO_FLOWS = """
name = "two"
hosts = { server = { profile = "linux-6-bbr" }, phone = { profile = "linux-6" } }
flows = [
    { name = "first", from = "server", to = "phone", until = "3 s" },
    { name = "second", from = "server", to = "phone", until = "3 s" },
]
[[links]]
name = "lasthop"
between = ["server", "phone"]
down = { rate = "4 Mbit/s", propagation = "20 ms", queue = { limit = "40 packets" } }
up = { rate = "4 Mbit/s", propagation = "20 ms" }
[record]
tables = ["segments", "tcp", "packets", "queue"]
"""


def test_a_folder_of_results_is_a_page_of_all_and_others_name_them(lasthop: Lasthop, tmp_path: Path) -> None:
    for name in ("taba", "delayed"):
        assert lasthop("run", "quickstart", "--out", f"results/fetch/{name}").status == 0
    assert lasthop("report", "results/fetch").status == 0
    assert (tmp_path / "results" / "fetch" / "report.html").is_file()
    explained = lasthop("explain", "results/fetch")
    assert explained.status == 0
    assert "results/fetch has 2 results" in explained.err


def many(path: Path, connections: int) -> Path:
    """Write a capture of some connections, each with one timeout, and the last with three."""
    frames = []
    for number in range(connections):
        ends = (bytes([10, 1, number >> 8, number & 255]), framed.SERVER)
        for time, up, segment in framed.segments(ends):
            packet = framed.ipv4(*(ends if up else ends[::-1]), 6, segment)
            frames.append((time + 0.001 * number, framed.ethernet(0x0800, packet)))
            if number == connections - 1 and time == 0.43:
                frames += [(time + wait, framed.ethernet(0x0800, packet)) for wait in (0.01, 0.02)]
    return framed.write(path, framed.ETHERNET, sorted(frames, key=lambda frame: frame[0]))


def test_the_page_of_a_capture_says_what_it_is_of_and_has_the_worst_first(lasthop: Lasthop, tmp_path: Path) -> None:
    assert lasthop("analyze", many(tmp_path / "some.pcap", 70), "--out", "r").status == 0
    report(lasthop, "r")
    page = (tmp_path / "r" / "report.html").read_text()
    (text,) = re.findall(r'<script type="application/json" id="index">(.*?)</script>', page, re.DOTALL)
    (run,) = json.loads(text.replace("<\\/", "</"))["runs"]
    assert run["capture"]["connections"] == 70
    assert run["capture"]["file"] == "some.pcap"
    assert run["capture"]["places"] == {"near the sender": 70}
    flows = run["summary"]["flows"]
    assert flows[0]["flow"].startswith("10.1.0.69:")
    assert [flow["retransmissions"] for flow in flows[:2]] == [3, 1]
    assert run["flows"][0]["name"] == flows[0]["flow"]
    assert len(run["flows"]) == 60
    assert run["flows"][0]["stories"][0]["facts"]


def test_a_browser_shows_the_connections_of_a_capture(lasthop: Lasthop, tmp_path: Path) -> None:
    assert lasthop("analyze", many(tmp_path / "some.pcap", 70), "--out", "r").status == 0
    report(lasthop, "r")
    shown = in_chromium(tmp_path / "r" / "report.html")
    assert "70 of 70 connections" in shown
    assert "seed" not in re.sub(r"<script.*?</script>", "", shown, flags=re.DOTALL)
    assert "In flight of" in shown
