"""The core in WebAssembly, run by Node and by the static page: its files are those of `lasthop run`, byte for byte."""

from __future__ import annotations

import base64
import functools
import hashlib
import http.server
import json
import re
import shutil
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import Page, chromium
from command import Lasthop
from laboratory import change_the_rate, do_a_lesson, go, save_as_one_file, show
from lasthop.report.payload import run_payload
from lasthop.results import open_run

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "target/browser"
CORE = PAGE / "lasthop.wasm"
OTHERS = {"netem", "trace", "quic-gprs", "quic-migration", "web-quic"}
"""Scenarios that read a file next to theirs, or have quinn."""
LONG = {"hsdpa-cell", "live-cell", "moving-users", "link-5g-mmwave", "three-cubic", "web-users"}
SCENARIOS = sorted({path.stem for path in (ROOT / "scenarios").glob("*.toml")} - OTHERS - LONG)[::2]
VIEWED = ("quickstart", "teach-spurious-timeout", "teach-cubic-bbr", "teach-incast", "teach-ack-loss")
SEEDS = (1, 7)

FILES_OF_THE_PAGE = """
Promise.all([...document.querySelectorAll(".files a")].map(async (link) => {
  const bytes = await (await fetch(link.href)).arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [link.textContent, [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("")];
})).then(Object.fromEntries)
"""
"""Script for the page: the SHA-256 of each file of the run that is shown."""

NAMELESS = """
[...document.querySelectorAll("button, input, select, textarea, canvas[role=img]")]
  .filter((each) => !each.textContent.trim() && !each.labels?.length && !each.getAttribute("aria-label"))
  .map((each) => each.outerHTML)
"""
"""Script for the page: its controls without a name."""


KEPT_SWEEP = """
new Promise((resolve) => {
  indexedDB.open("lasthop").onsuccess = ({ target }) => {
    const store = target.result.transaction("entries").objectStore("entries");
    store.get("lossy-path-sweep").onsuccess = (found) => resolve(found.target.result);
  };
})
"""
"""Script for the page: the sweep that it keeps."""


def run(scenario: Path, seed: int, folder: Path, *more: str) -> dict[str, Any]:
    """Run a scenario by Node; return the answer of the core."""
    node = shutil.which("node")
    if node is None or not CORE.is_file():
        pytest.skip("NOT TESTED: the core for browsers is not built (make wasm), or Node.js is missing")
    folder.mkdir()
    command: list[str | Path] = [node, ROOT / "web/wasm/run.mjs", CORE, scenario, str(seed), folder, *more]
    subprocess.run(command, check=True, timeout=120)
    answer: dict[str, Any] = json.loads((folder / "answer.json").read_text())
    return answer


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each table and capture of a folder, by its name."""
    files = [path for path in folder.iterdir() if path.suffix != ".json"]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def command(lasthop: Lasthop, tmp_path: Path, name: str, seed: int) -> tuple[Any, dict[str, str]]:
    """The object that the command prints, and the digests of its files."""
    ended = lasthop("run", name, "--seed", seed, "--out", tmp_path / "command", "--json")
    assert ended.status == 0, ended.err
    return json.loads(ended.out), digests(tmp_path / "command")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The static page, open, from a server of files."""
    if not CORE.is_file():
        pytest.skip("NOT TESTED: the page for servers of files is not built (make wasm)")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=PAGE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with chromium(tmp_path_factory.mktemp("chromium") / "profile") as made:
            made.look()
            made.open(f"http://127.0.0.1:{server.server_port}/index.html")
            made.wait("document.body?.dataset.ready")
            yield made
            assert made.errors == []
        server.shutdown()


def start(page: Page, name: str, seed: int | None = None) -> None:
    """Open a scenario of the library and run it."""
    go(page, "#/scenarios")
    go(page, f"#/scenario/library/{name}")
    page.wait(
        f"document.querySelector('h1')?.textContent === {name!r} && document.querySelector('.text textarea')?.value"
    )
    if seed is not None:
        page.fill(".run input[type=number]", str(seed))
    page.click(f"Run {name}")


def see(page: Page) -> None:
    """Wait for the end of the run, and open its result."""
    page.wait("document.querySelector('.job[data-state=done]')", 120)
    page.click("See it")
    page.wait("document.querySelector('.files a')")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_node_gives_the_bytes_of_the_command(
    tmp_path: Path, name: str, seed: int, command: tuple[Any, dict[str, str]]
) -> None:
    answer = run(ROOT / f"scenarios/{name}.toml", seed, tmp_path / "browser")
    assert "error" not in answer, answer
    assert (answer["summary"], digests(tmp_path / "browser")) == command


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_chromium_gives_the_bytes_of_the_command(
    page: Page, name: str, seed: int, command: tuple[Any, dict[str, str]]
) -> None:
    start(page, name, seed)
    see(page)
    assert page.value(FILES_OF_THE_PAGE) == command[1]


@pytest.mark.parametrize("name", VIEWED)
def test_the_view_is_that_of_the_report(lasthop: Lasthop, tmp_path: Path, name: str) -> None:
    """From the records in the browser's memory, and from the tables of the result's folder."""
    answer = run(ROOT / f"scenarios/{name}.toml", 7, tmp_path / "browser", "1", "view")
    assert lasthop("run", name, "--seed", 7, "--out", tmp_path / "command").status == 0
    index, columns = run_payload(open_run(tmp_path / "command"), 0)
    assert answer["view"]["flows"][0]["stories"][0]["events"]
    assert {key: index[key] for key in answer["view"]} == answer["view"]
    assert (tmp_path / "browser" / "columns").read_bytes() == columns


def test_a_run_is_seen_and_played_to_its_first_loss(page: Page) -> None:
    start(page, "quickstart")
    see(page)
    page.wait("document.querySelector('.viewer')?.dataset.ready")
    for panel in ("Time sequence of download", "Congestion of download", "Round trips", "Queue of link lasthop.down"):
        assert panel in page.text()
    assert "fast retransmit segment 94" in page.text()
    assert "capture-mobile.pcapng" in page.text()
    page.click("next loss ▸")
    page.wait("document.querySelector('.player').dataset.lost === '1'")
    assert "is lost on lasthop.down: queue drop: overflow" in page.text()
    show(page, "static")
    show(page, "static-player", ".player")


def test_a_text_and_its_form_change_each_other(page: Page) -> None:
    go(page, "#/scenario/library/quickstart")
    text = change_the_rate(page)
    page.fill(".text textarea", text.replace("4 Mbit/s", "3 Mbitt/s"))
    page.wait("document.querySelector('.field.wrong #field-links-0-down-rate')")
    assert '"Mbitt/s" is not a unit' in page.text()
    page.command("Page.reload")
    page.wait("document.querySelector('.text textarea')?.value.includes('3 Mbitt/s')")
    page.wait("document.querySelector('.lines .wrong')")
    show(page, "static-error")
    page.click("Undo all changes")
    page.wait("document.querySelector('.text textarea').value.includes('2 Mbit/s')")


def test_runs_are_compared(page: Page) -> None:
    go(page, "#/scenario/library/quickstart")
    page.wait("document.querySelector('h1')?.textContent === 'quickstart' && document.querySelector('textarea')?.value")
    for name in ("long", "short"):
        if name == "short":
            text = page.value("document.querySelector('.text textarea').value")
            page.fill(".text textarea", text.replace("20 packets", "9 packets"))
        page.fill(".actions input", name)
        page.click(f"Run {name}")
        page.wait(f"document.querySelector('.job[aria-label=\"Job {name}\"][data-state=done]')", 60)
    go(page, "#/compare?run=long&run=short")
    page.wait("document.querySelector('.viewer')?.dataset.ready")
    assert "Acknowledged of download, run by run" in page.text()
    rows = page.value("[...document.querySelectorAll('.differences tbody tr')].map((row) => row.innerText)")
    assert any("retransmissions" in row for row in rows)
    show(page, "static-compare")


def test_a_comparison_is_that_of_the_command(page: Page, lasthop: Lasthop, tmp_path: Path) -> None:
    folders = [tmp_path / str(seed) for seed in SEEDS]
    for seed, folder in zip(SEEDS, folders, strict=True):
        assert lasthop("run", "teach-cubic-bbr", "--seed", seed, "--out", folder).status == 0
        start(page, "teach-cubic-bbr", seed)
        page.wait("document.querySelector('.job[data-state=done]')", 120)
    names = [f"teach-cubic-bbr-seed-{seed}" for seed in SEEDS]
    go(page, f"#/compare?run={'&run='.join(names)}")
    page.wait("document.querySelectorAll('.differences tbody tr').length > 3")
    page.value("document.querySelector('label:has(+ .wide) input').click()")
    rows = page.value("[...document.querySelectorAll('.differences tbody tr')].map((row) => row.cells[0].textContent)")
    expected = lasthop("compare", *folders, "--json").json["differences"]
    assert rows == [row["of"] for row in expected]
    assert "all flows" in rows


def test_a_sweep_has_the_numbers_of_the_command_and_a_case_opens_its_run(page: Page, lasthop: Lasthop) -> None:
    key, values = "links.lasthop.down.queue.limit", ["7 packets", "20 packets"]
    go(page, "#/scenario/library/lossy-path")
    page.wait("document.querySelector('h1')?.textContent === 'lossy-path' && document.querySelector('textarea')?.value")
    page.click("Sweep")
    page.fill(".sweep .key", key)
    page.fill(".sweep .values", ", ".join(values))
    page.fill(".sweep input[type=number]", "3")
    page.click("Sweep lossy-path")
    page.wait("document.querySelectorAll('.job tbody tr').length === 2", 120)
    page.wait("document.querySelector('.job[data-state=done]')")
    show(page, "static-sweep")
    page.click("See it")
    page.wait("document.querySelectorAll('.chart .bar').length === 2")
    ended = lasthop("run", "lossy-path", "--sweep", f"{key}={','.join(values)}", "--replications", "3", "--json")
    kept = page.value(KEPT_SWEEP)
    for place, case in enumerate(ended.json["cases"]):
        runs = kept["runs"][3 * place : 3 * place + 3]
        assert set(runs[0]) == set(case["measures"])
        for name, spread in case["measures"].items():
            found = [each[name] for each in runs]
            assert (min(found), max(found)) == pytest.approx((spread["minimum"], spread["maximum"]), rel=1e-12)
    page.value("document.querySelector('a[aria-label=\"Open a run of 20 packets\"]').click()")
    page.wait("document.querySelector('.viewer')?.dataset.ready", 120)
    assert page.value("decodeURIComponent(location.hash)") == "#/run/lossy-path-sweep/20 packets"
    page.value("history.back()")
    page.wait("document.querySelectorAll('.chart .bar').length === 2")


def test_a_sweep_is_stopped_and_continues_after_the_page_was_left(page: Page) -> None:
    go(page, "#/scenario/library/quickstart")
    page.wait("document.querySelector('h1')?.textContent === 'quickstart' && document.querySelector('textarea')?.value")
    page.click("Sweep")
    page.fill(".sweep .key", "flows.download.bytes")
    page.fill(".sweep .values", "2 MB, 4 MB")
    page.fill(".sweep input[type=number]", "40")
    page.click("Sweep quickstart")
    page.wait("Number(document.querySelector('.job progress')?.value) > 0", 60)
    page.click("Stop")
    page.wait("document.querySelector('.job .state')?.textContent === 'stopped'")
    page.command("Page.reload")
    go(page, "#/results")
    page.wait("document.body.innerText.includes('of 80 runs done')")
    page.click("Continue")
    page.wait("document.querySelector('.job[data-state=done]')", 300)
    assert page.value("document.querySelectorAll('.job tbody tr').length") == 2


def test_a_sweep_over_a_value_that_is_none_is_refused_before_it_runs(page: Page) -> None:
    go(page, "#/scenarios")
    go(page, "#/scenario/library/quickstart")
    page.wait("document.querySelector('h1')?.textContent === 'quickstart' && document.querySelector('textarea')?.value")
    page.click("Sweep")
    page.fill(".sweep .key", "links.lasthop.down.queue.limit")
    page.fill(".sweep .values", "7 packets, 20 parcels")
    page.click("Sweep quickstart")
    page.wait("document.querySelector('.job[data-state=failed] .fault code')")
    assert page.value("document.querySelectorAll('.job tbody tr').length") == 0


def test_a_run_is_shared_as_the_page_of_the_report(page: Page, lasthop: Lasthop, tmp_path: Path) -> None:
    start(page, "quickstart", 7)
    see(page)
    page.wait("document.querySelector('.viewer')?.dataset.ready")
    saved = save_as_one_file(page, tmp_path)
    assert lasthop("run", "quickstart", "--seed", 7, "--out", tmp_path / "command").status == 0
    theirs_at = tmp_path / "command" / "report.page"
    assert lasthop("report", tmp_path / "command", "--out", theirs_at).status == 0
    ours, theirs = (data_of(path) for path in (saved, theirs_at))
    assert ours[1] == theirs[1]
    for run in (ours[0]["runs"][0], theirs[0]["runs"][0]):
        run["tables"] = sorted(run["tables"])
        del run["folder"]
    assert ours[0] == theirs[0]


def data_of(file: Path) -> tuple[Any, bytes]:
    """Return the index of a report's page, and its columns."""
    text = file.read_text(encoding="utf-8")
    found = {part: re.search(rf'id="{part}">(.*?)</script>', text, re.DOTALL) for part in ("index", "columns")}
    index, columns = (match[1] for match in found.values() if match)
    return json.loads(index), zlib.decompress(base64.b64decode(columns))


def test_a_lesson_is_done(page: Page) -> None:
    go(page, "#/lessons")
    do_a_lesson(page)
    show(page, "static-lesson")


def test_a_run_is_cancelled_and_the_next_one_works(page: Page) -> None:
    start(page, "web-users")
    page.wait("document.querySelector('.job [role=status]')?.textContent.includes(' s of the run')")
    page.click("Cancel")
    page.wait("document.querySelector('.job[data-state=cancelled]')")
    start(page, "quickstart")
    see(page)


def test_the_page_says_what_needs_an_installation(page: Page) -> None:
    for address in ("#/studies", "#/captures"):
        go(page, address)
        page.wait("document.body.innerText.includes('This needs an installation of lasthop')")
    go(page, "#/scenario/library/quic-gprs")
    page.wait("document.querySelector('.fault')?.textContent.includes('which builds for browsers lack')")


def test_every_control_has_a_name_and_dark_and_small_windows_work(page: Page) -> None:
    start(page, "quickstart")
    see(page)
    result = page.value("location.hash")
    for address in ("#/scenario/library/quickstart", "#/results", "#/lessons", "#/compare", result):
        go(page, address)
        time.sleep(0.3)
        assert page.value(NAMELESS) == [], address
    page.wait("document.querySelector('.player')")
    page.look(dark=True)
    show(page, "static-dark", ".player")
    page.look(width=420, height=900)
    page.wait("document.documentElement.scrollWidth <= 425")
    show(page, "static-phone")
    go(page, "#/scenario/library/quickstart")
    page.wait("document.querySelector('.text textarea')?.value")
    assert page.value("document.documentElement.scrollWidth") <= 425
    page.look()


def test_a_stack_that_browsers_lack_is_refused_by_name(tmp_path: Path) -> None:
    error = run(ROOT / "scenarios/quic-gprs.toml", -1, tmp_path / "browser")["error"]
    assert "quinn" in error["message"]
    assert "builds for browsers lack" in error["message"]


def test_an_error_has_its_place_and_remedy(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text((ROOT / "scenarios/quickstart.toml").read_text().replace('"2 Mbit/s"', '"2 Mbitt/s"'))
    error = run(wrong, -1, tmp_path / "browser")["error"]
    assert error["key"] == "links.lasthop.down.rate"
    assert error["line"] > 0
    assert "Mbit/s" in error["help"]
