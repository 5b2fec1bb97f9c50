"""Pages of `lasthop report`: what they carry, and that a real browser shows it."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import Lasthop
from lasthop.report.packing import Packer

RECORDED = "record.tables=['segments','tcp','packets','queue']"


def unpacked(text: str, place: dict[str, int]) -> list[int]:
    """As `web/src/packing.ts` reads a column."""
    packed = zlib.decompress(base64.b64decode(text))
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


@given(st.lists(st.lists(st.integers(-(2**52), 2**52), max_size=40), max_size=4))
def test_columns_come_back_as_they_were_packed(columns: list[list[int]]) -> None:
    packer = Packer()
    places = [packer.add(np.array(column, dtype=np.int64)) for column in columns]
    text = packer.text()
    assert [unpacked(text, place) for place in places] == columns


@pytest.fixture
def results(lasthop: Lasthop, tmp_path: Path) -> list[Path]:
    """Two runs of one scenario."""
    folders = [tmp_path / "seed-1", tmp_path / "seed-2"]
    for seed, folder in enumerate(folders, start=1):
        ended = lasthop("run", "quickstart", "--seed", seed, "--set", RECORDED, "--out", folder)
        assert ended.status == 0, ended.err
    return folders


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
    for panel in ("Time sequence of download", "Windows of download", "Round trips", "Queue of link lasthop.down"):
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


def test_a_page_tells_the_story_and_the_causes(lasthop: Lasthop, results: list[Path]) -> None:
    report(lasthop, results[0])
    document = in_chromium(results[0] / "report.html")
    (told,) = lasthop("explain", results[0], "--json").json[str(results[0])]
    for event in told["events"]:
        assert event["text"] in document
    for share in told["time_shares"]:
        assert share["words"] in document
    index = json.loads(re.search(r'id="index">(.*?)</script>', document, re.DOTALL)[1])  # type: ignore[index]
    words = index["runs"][0]["flows"][0]["words"]
    assert any(text.startswith("fast retransmit: ") for text in words)
    assert "lasthop.down: overflow" in words


def test_a_folder_of_results_is_a_page_of_all_and_others_name_them(lasthop: Lasthop, tmp_path: Path) -> None:
    for name in ("taba", "delayed"):
        assert lasthop("run", "quickstart", "--out", f"results/fetch/{name}").status == 0
    assert lasthop("report", "results/fetch").status == 0
    assert (tmp_path / "results" / "fetch" / "report.html").is_file()
    refused = lasthop("explain", "results/fetch")
    assert refused.status == 2
    assert "results/fetch/delayed, results/fetch/taba" in refused.err
