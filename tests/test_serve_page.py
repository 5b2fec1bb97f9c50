"""`lasthop serve` in a browser: every step that a user takes, by Chromium."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Page, chromium
from laboratory import change_the_rate, do_a_lesson, go, save_as_one_file, show
from lasthop.doctor import checks

OBSTACLES = [check for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]]

ROOT = Path(__file__).parent.parent
LESSON_IN_THE_DOCS = re.compile(r"```markdown\n(\+\+\+\n.*?)```", re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "laboratory"
    made.mkdir()
    return made


@pytest.fixture
def server(folder: Path) -> Iterator[str]:
    """A running server; yields the address that it prints."""
    command = [sys.executable, "-m", "lasthop", "serve", ".", "--port", "0", "--live"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


@pytest.fixture
def page(server: str, tmp_path: Path) -> Iterator[Page]:
    """The first page, open."""
    with chromium(tmp_path / "profile") as made:
        made.look()
        made.open(server)
        made.wait("document.body?.dataset.ready")
        yield made
        assert made.errors == []


def run_quickstart(page: Page) -> None:
    go(page, "#/scenario/library/quickstart")
    page.click("Run quickstart")
    page.click("See it")
    page.wait("document.querySelector('.viewer')?.dataset.ready")


def test_a_scenario_is_built_run_seen_and_played_to_its_first_loss(page: Page, folder: Path) -> None:
    show(page, "scenarios")
    page.click("quickstart")
    text = change_the_rate(page)
    page.fill(".text textarea", text.replace("4 Mbit/s", "3 Mbit/s"))
    page.wait("document.querySelector('#field-links-0-down-rate').value === '3 Mbit/s'")
    page.fill(".text textarea", text.replace("4 Mbit/s", "3 Mbitt/s"))
    page.wait("document.querySelector('.lines .wrong')")
    assert '"Mbitt/s" is not a unit' in page.text()
    page.wait("document.querySelector('.field.wrong #field-links-0-down-rate')")
    show(page, "error")
    page.fill(".text textarea", text.replace("4 Mbit/s", "3 Mbit/s"))
    page.wait("!document.querySelector('.lines .wrong')")
    page.fill(".actions input", "mine")
    show(page, "scenario")
    page.click("Run mine")
    page.click("See it")
    page.wait("document.querySelector('.viewer').dataset.ready")
    assert (folder / "mine.toml").read_text() == text.replace("4 Mbit/s", "3 Mbit/s")
    assert (folder / "mine" / "run.json").is_file()
    page.click("next loss ▸")
    page.wait("document.querySelector('.player').dataset.lost === '1'")
    assert "is lost on lasthop.down: queue drop: overflow" in page.text()
    show(page, "player", ".player")
    first = float(page.value("document.querySelector('.player').dataset.at"))
    page.value("document.querySelector('.player').focus()")
    page.press("l")
    second = float(page.value("document.querySelector('.player').dataset.at"))
    assert second > first
    page.press("ArrowLeft", 37)
    assert first <= float(page.value("document.querySelector('.player').dataset.at")) < second
    page.press(" ", 32)
    page.wait(f"Number(document.querySelector('.player').dataset.at) > {second}")
    page.press(" ", 32)


def test_a_draft_outlives_the_page_and_a_server_that_is_gone_is_said(page: Page, folder: Path) -> None:
    page.click("quickstart")
    page.wait("document.querySelector('.text textarea')?.value")
    text = page.value("document.querySelector('.text textarea').value").replace("1 MB", "2 MB")
    page.fill(".text textarea", text)
    page.command("Page.reload")
    page.wait("document.querySelector('.text textarea')?.value.includes('2 MB')")
    assert "Undo all changes" in page.text()
    page.value("window.fetch = () => Promise.reject(new TypeError('gone'))")
    page.click("Run quickstart")
    page.wait("document.body.innerText.includes('the server does not answer')")
    assert page.value("document.querySelector('.text textarea').value") == text
    assert list(folder.iterdir()) == []


def test_a_sweep_fills_its_rows_and_is_kept(page: Page, folder: Path) -> None:
    page.click("quickstart")
    page.click("Sweep")
    page.fill(".sweep .key", "links.lasthop.down.queue.limit")
    page.fill(".sweep .values", "7 packets, 20 packets, 50 packets")
    page.click("Sweep quickstart")
    page.wait("document.querySelectorAll('.job tbody tr').length === 3")
    page.wait("document.querySelector('.job[data-state=done]')")
    page.click("See it")
    page.wait("document.querySelectorAll('.chart .bar').length === 3")
    show(page, "sweep")
    assert (folder / "quickstart-sweep" / "sweep.json").is_file()
    page.value("document.querySelector('a[aria-label=\"Open a run of 20 packets\"]').click()")
    page.wait("document.querySelector('.viewer')?.dataset.ready", 60.0)
    case = "quickstart-sweep/cases/20-packets-seed-1"
    assert page.value("decodeURIComponent(location.hash)") == f"#/run/{case}"
    assert (folder / case / "packets.parquet").is_file()
    # "Back" leads to the sweep, whose address without the case runs nothing; a bar opens a run as well.
    page.value("history.back()")
    page.wait("document.querySelectorAll('.chart .bar').length === 3")
    assert page.value("decodeURIComponent(location.hash)") == "#/sweep/quickstart-sweep"
    page.value("document.querySelector('.chart a').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
    page.wait("decodeURIComponent(location.hash) === '#/run/quickstart-sweep/cases/7-packets-seed-1'", 60.0)
    go(page, "#/sweep/quickstart-sweep?case=9%20packets")
    page.wait("document.querySelector('.fault')?.textContent.includes(\"there is no case '9 packets'\")")


def test_a_sweep_is_stopped_and_continues_after_the_page_was_left(page: Page, folder: Path) -> None:
    page.click("quickstart")
    page.click("Sweep")
    page.fill(".sweep .key", "links.lasthop.down.queue.limit")
    page.fill(".sweep .values", "7 packets, 20 packets")
    page.fill(".sweep input[type=number]", "300")
    page.click("Sweep quickstart")
    page.wait("Number(document.querySelector('.job progress')?.value) > 0")
    page.click("Stop")
    page.wait("document.querySelector('.job .state')?.textContent === 'stopped'")
    page.command("Page.reload")
    go(page, "#/results")
    page.wait("document.body.innerText.includes('of 600 runs done')")
    show(page, "stopped")
    page.click("Continue")
    page.wait("document.querySelector('.job[data-state=done]')", 120.0)
    assert page.value("document.querySelectorAll('.job tbody tr').length") == 2
    assert (folder / "quickstart-sweep" / "sweep.json").is_file()


def test_runs_are_compared(page: Page) -> None:
    page.click("quickstart")
    for each in ("sack", "reno"):
        if each == "reno":
            page.value("document.querySelectorAll('.form details').forEach((each) => (each.open = true))")
            page.fill("#field-hosts-server-profile", "reno")
            page.wait("document.querySelector('.text textarea').value.includes('server = { profile = \"reno\"')")
        page.fill(".actions input", each)
        page.click(f"Run {each}")
        page.wait(f"document.querySelector('.job[aria-label=\"Job {each}\"][data-state=done]')")
    go(page, "#/compare?run=sack&run=reno")
    page.wait("document.querySelector('.viewer')?.dataset.ready")
    assert "Acknowledged of download, run by run" in page.text()
    rows = page.value("[...document.querySelectorAll('.differences tbody tr')].map((row) => row.innerText)")
    assert any("timeouts" in row for row in rows)
    show(page, "compare")


def test_a_capture_is_dropped_and_seen(page: Page, folder: Path) -> None:
    run_quickstart(page)
    capture = folder / "quickstart" / "capture-server.pcapng"
    page.click("Captures")
    page.choose_file("input[type=file]", capture)
    page.wait("document.querySelector('.viewer')?.dataset.segments || document.querySelector('.viewer')?.dataset.ready")
    assert "capture-server-analysis" in page.value("location.hash")
    show(page, "capture")
    assert "No player: a capture of one end" in page.text()
    (folder / "mobile.pcapng").write_bytes((folder / "quickstart" / "capture-mobile.pcapng").read_bytes())
    page.click("Captures")
    for name in ("capture-server.pcapng", "mobile.pcapng"):
        page.wait(f"document.querySelector('input[value=\"{name}\"]')")
        page.value(f"document.querySelector('input[value=\"{name}\"]').click()")
    page.click("Join 2")
    page.wait("location.hash.includes('capture-server-joined') && document.querySelector('.player')", 60.0)
    large = folder / "large.pcap"
    with large.open("wb") as file:
        file.truncate(1024**3 + 1)
    page.click("Captures")
    page.wait("document.body.innerText.includes('of up to 1.07 GB')")
    page.choose_file("input[type=file]", large)
    page.wait("document.body.innerText.includes('lasthop analyze large.pcap --out FOLDER')")
    noise = folder / "noise.pcap"
    noise.write_bytes(b"no capture at all")
    page.click("Captures")
    page.choose_file("input[type=file]", noise)
    page.wait("document.body.innerText.includes('is no capture')")
    page.errors.clear()  # the browser's console reports the refusal, too


@pytest.mark.live
@pytest.mark.skipif(bool(OBSTACLES), reason=f"NOT TESTED: this machine does not allow it: {OBSTACLES}")
def test_a_live_run_is_watched_and_its_link_changed(page: Page) -> None:
    page.click("quickstart")
    page.wait("document.querySelector('.text textarea')?.value")
    text = page.value("document.querySelector('.text textarea').value")
    page.fill(".text textarea", text.replace("1 MB", "3 MB"))
    page.fill(".run select", "live")
    page.click("Run quickstart")
    page.wait("Number(document.querySelector('.watched')?.dataset.states) > 15")
    titles = page.value("[...document.querySelectorAll('.live figcaption')].map((each) => each.textContent)")
    assert [title.split(" of ")[0] for title in titles] == [
        "Rate", "Queue", "Congestion window", "Smoothed round trip", "Packets dropped by each link",
    ]  # fmt: skip
    page.fill(".watched select", "lasthop.down")
    page.fill(".new-value", "6 Mbit/s")
    page.click("Change the link now")
    page.wait("document.querySelector('.changes code')?.textContent === 'links.lasthop.down.rate=6 Mbit/s'")
    page.wait("document.querySelector('.watched').innerText.includes('lasthop set quickstart-')")
    page.fill(".new-value", "-6 Mbit/s")
    page.click("Change the link now")
    page.wait("document.querySelector('.watched .fault')")
    page.errors.clear()  # the browser's console reports the refusal, too
    time.sleep(2)
    show(page, "live", ".watched")
    page.wait("document.querySelector('.job[data-state=done]')", 60.0)
    page.click("See it")
    page.wait("document.querySelector('.viewer')?.dataset.ready")


def test_a_study_is_run_and_a_row_opens_its_run(page: Page) -> None:
    page.click("Studies")
    page.click("sarolahti2000")
    page.wait("document.querySelector('.choices input[value=\"14\"]')")
    page.value("document.querySelector('.choices input[value=\"14\"]').click()")
    page.fill(".knobs input[type=number]", "2")
    page.click("Run sarolahti2000")
    page.wait("document.querySelector('.job[data-state=done]')", 120.0)
    page.click("See it")
    page.wait("document.querySelectorAll('.scatter .point').length > 3")
    assert "published" in page.text()
    assert page.value("document.querySelectorAll('.claims tbody tr').length") > 0
    show(page, "study")
    page.value("document.querySelector('.scatter .point').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
    page.wait("document.querySelector('.viewer')?.dataset.ready", 60.0)
    assert page.value("location.hash").startswith("#/run/sarolahti2000%2Fcases%2F")
    page.value("history.back()")
    page.wait("document.querySelectorAll('.study a').length > 3")


def test_the_diagrams_go_to_a_segment_and_take_the_keys_of_wireshark(page: Page) -> None:
    run_quickstart(page)
    assert "Congestion of download" in page.text()
    assert "Throughput of download, over the last" in page.text()
    page.wait("document.body.innerText.includes('Sequence of packets between server, mobile')")
    assert "Not recorded: pacing rate, bandwidth estimate" in page.text()
    status = "document.querySelector('.goto [role=status]').textContent"
    page.fill(".goto input", "200")
    page.click("Go")
    page.wait(f"{status}.includes('segment 200: bytes ')")
    page.fill(".goto input", "99999999")
    page.click("Go")
    assert "give a number from 1 to" in page.text()
    page.value("document.querySelector('figure.panel').focus()")
    for key, words in (
        ("z", "the mouse drags the diagram"),
        ("z", "the mouse chooses the part to zoom to"),
        (" ", "crosshairs at the mouse"),
        ("t", "times in the diagrams are from the first segment of download"),
        ("t", "times in the diagrams are from the beginning of the run"),
        ("s", "sequence numbers are relative"),
        ("d", "no flow of this run is in the direction opposite to download"),
        ("n", "segment 201: bytes"),
        ("p", "segment 200: bytes"),
        ("r", "sent again, needed"),
    ):
        page.press(key)
        page.wait(f"{status}.includes({words!r})")
    at = float(page.value(f"{status}").partition(" s:")[0])
    shown = page.value("Number(document.querySelector('.player').dataset.at)")
    assert shown == pytest.approx(at, abs=1e-3), "the player does not show the segment"
    page.press("0")
    page.press("g")
    assert page.value("document.activeElement === document.querySelector('.goto input')")
    page.value("document.querySelector('figure.panel').focus()")
    title = "document.activeElement.querySelector('figcaption').textContent"
    for key, words in (
        ("1", "Round trips"),
        ("2", "Throughput"),
        ("5", "Congestion"),
        ("3", "Time sequence (Stevens)"),
        ("4", "Time sequence of"),
    ):
        page.press(key)
        page.wait(f"{title}.startsWith({words!r})")
    page.press("?")
    page.wait("document.querySelector('dialog.keys[open]')")
    assert "crosshairs" in page.text()
    page.press("Escape", 27)
    page.wait("!document.querySelector('dialog.keys[open]')")
    page.press("0")
    time.sleep(0.5)
    page.value("[...document.querySelectorAll('figure.panel')][1].scrollIntoView()")
    show(page, "congestion", "figure.panel:nth-of-type(2)")
    page.fill(".goto input", "94")
    page.click("Go")
    time.sleep(0.5)
    show(page, "sequence", "figure.panel:last-of-type")


PIXELS = """
(() => {
  const canvas = document.querySelector('figure.panel canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.reduce((sum, value, place) => (sum * 31 + value * (place %% 251)) %% 1000003, %d);
})()
"""
"""A number that another picture of the first diagram hardly has."""


def test_keys_change_the_picture_and_zero_brings_it_back(page: Page) -> None:
    run_quickstart(page)
    page.value("document.querySelector('figure.panel').focus()")
    page.press("0")
    time.sleep(0.3)
    first = page.value(PIXELS % 7)
    for keys in (["x"], ["y"], ["y", "ArrowUp"], ["+"], ["3"], ["t", "x"]):
        for key in keys:
            page.press(key)
        time.sleep(0.3)
        assert page.value(PIXELS % 7) != first, keys
        for key in ("0", "4", *(["t"] if "t" in keys else [])):
            page.press(key)
        time.sleep(0.3)
        assert page.value(PIXELS % 7) == first, keys


def test_g_goes_to_the_segment_under_the_mouse_and_z_lets_it_drag(page: Page) -> None:
    run_quickstart(page)
    page.fill(".goto input", "100")
    page.click("Go")
    time.sleep(0.3)
    box = page.value(
        "(() => { const over = document.querySelector('figure.panel .u-over'); over.scrollIntoView({block: 'center'}); "
        "document.querySelector('figure.panel').focus({preventScroll: true}); const { x, y, width, height } = "
        "over.getBoundingClientRect(); return [x, y, width, height]; })()"
    )
    middle = box[0] + box[2] / 2
    status = "document.querySelector('.goto [role=status]').textContent"
    page.press("s")

    def move(x: float, y: float, buttons: int = 0) -> None:
        page.command("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, buttons=buttons)

    for share in range(5, 95, 2):
        move(middle, box[1] + box[3] * share / 100)
        if "segment 100" in str(page.value("document.querySelector('figure.panel .tip').textContent")):
            break
    page.press("g")
    page.wait(f"{status}.includes('segment 100: bytes')")
    page.press("z")
    page.wait("document.querySelector('figure.panel').classList.contains('drags')")
    at = page.value("document.querySelector('figure.panel .moment').style.left")
    move(middle, box[1] + 40)
    page.command(
        "Input.dispatchMouseEvent", type="mousePressed", x=middle, y=box[1] + 40, button="left", buttons=1, clickCount=1
    )
    for step in range(1, 6):
        move(middle + 20 * step, box[1] + 40, buttons=1)
    page.command("Input.dispatchMouseEvent", type="mouseReleased", x=middle + 100, y=box[1] + 40, button="left")
    time.sleep(0.3)
    moved = page.value("document.querySelector('figure.panel .moment').style.left")
    assert float(moved.rstrip("%")) - float(at.rstrip("%")) == pytest.approx(100 * 100 / box[2], abs=2)


def test_page_up_and_down_show_another_flow(page: Page) -> None:
    go(page, "#/scenario/library/teach-cubic-bbr")
    page.click("Run teach-cubic-bbr")
    page.click("See it")
    page.wait("document.querySelector('.viewer')?.dataset.ready")
    first = page.value("document.querySelector('.panel figcaption').textContent")
    page.value("document.querySelector('figure.panel').focus()")
    page.press("PageDown", 34)
    page.wait(f"document.querySelector('.panel figcaption').textContent !== {first!r}")
    page.press("PageUp", 33)
    page.wait(f"document.querySelector('.panel figcaption').textContent === {first!r}")


def test_a_run_is_saved_as_one_file(page: Page, tmp_path: Path) -> None:
    run_quickstart(page)
    saved = save_as_one_file(page, tmp_path)
    assert '"format":"lasthop report 1"' in saved.read_text(encoding="utf-8")


def test_a_record_that_is_missing_is_named(page: Page) -> None:
    page.click("quickstart")
    page.wait("document.querySelector('.text textarea')?.value")
    text = page.value("document.querySelector('.text textarea').value")
    page.fill(".text textarea", text.partition("[record]")[0] + '[record]\ntables = ["segments"]\n')
    page.click("Run quickstart")
    page.click("See it")
    page.wait("document.querySelector('.viewer')?.dataset.ready")
    for table in ("tcp", "packets", "queue"):
        assert f'in the table "{table}"' in page.text()
    assert "Not recorded: drops and delays on links" in page.text()
    assert "Not recorded: SRTT and RTO" in page.text()
    text = text.partition("[record]")[0] + '[record]\ntables = ["segments", "tcp"]\n'
    go(page, "#/scenario/folder/quickstart")
    page.wait("document.querySelector('.text textarea')?.value")
    page.fill(".text textarea", text)
    page.click("Run quickstart")
    page.click("See it")
    page.wait("document.querySelector('.viewer')?.dataset.ready")
    assert 'losses (they are in the table "packets")' in page.text()


def test_a_new_user_compares_two_tcps_over_lte(page: Page, folder: Path) -> None:
    """From the first page to a comparison over a last hop, as docs/recipes/first-comparison.md has it."""
    page.fill("input[type=search]", "lte")
    page.wait("[...document.querySelectorAll('.cards a')].some((each) => each.textContent === 'lte')")
    show(page, "lte-find")
    page.click("lte", of=".cards a")
    page.wait("document.querySelector('.text textarea')?.value.includes('preset = \"lte\"')")
    page.fill(".actions input", "cubic")
    show(page, "lte-begin")
    page.click("Run cubic")
    page.wait("document.querySelector('.job[aria-label=\"Job cubic\"][data-state=done]')", 60.0)
    page.value("document.querySelectorAll('.form details.group').forEach((each) => (each.open = true))")
    page.fill("#field-hosts-server-profile", "linux-6-bbr")
    page.wait("document.querySelector('.text textarea').value.includes('linux-6-bbr')")
    page.fill(".actions input", "bbr")
    page.click("Run bbr")
    page.wait("document.querySelector('.job[aria-label=\"Job bbr\"][data-state=done]')", 60.0)
    show(page, "lte-run", ".run")
    page.click("Results")
    for name in ("cubic", "bbr"):
        page.wait(f"document.querySelector('input[value={name}]')")
        page.value(f"document.querySelector('input[value={name}]').click()")
    show(page, "lte-results")
    page.click("Compare 2")
    page.wait("document.querySelector('.viewer')?.dataset.ready")
    rows = page.value("[...document.querySelectorAll('.differences tbody tr')].map((row) => row.innerText)")
    assert any("throughput" in row for row in rows)
    show(page, "lte-compare")
    assert {"cubic.toml", "bbr.toml"} <= {path.name for path in folder.iterdir()}


def test_a_teacher_adds_a_lesson(page: Page, folder: Path) -> None:
    """The lesson of docs/recipes/laboratory.md, copied from the page into a folder."""
    text = LESSON_IN_THE_DOCS.search((ROOT / "docs/recipes/laboratory.md").read_text(encoding="utf-8"))
    assert text is not None
    own = folder / "lessons" / "two-queues"
    own.mkdir(parents=True)
    (own / "lesson.md").write_text(text[1].replace("measure =", "meassure ="), encoding="utf-8")
    page.click("Lessons")
    page.wait("document.querySelector('.cards .fault')?.textContent.includes('questions.meassure')")
    show(page, "lesson-error")
    (own / "lesson.md").write_text(text[1], encoding="utf-8")
    page.command("Page.reload")
    page.click("Two queues")
    page.fill(".questions input", "7")
    page.click("Let the run answer")
    page.wait("document.querySelector('.answer strong')")
    assert "as you expected" in page.text()
    show(page, "lesson-own")


def test_a_lesson_is_done(page: Page) -> None:
    page.click("Lessons")
    do_a_lesson(page)
    show(page, "lesson")


def test_every_control_has_a_name_and_dark_and_small_windows_work(page: Page) -> None:
    run_quickstart(page)
    for address in ("#/scenario/library/quickstart", "#/results", "#/captures", "#/lessons", "#/run/quickstart"):
        go(page, address)
        time.sleep(0.5)
        nameless = page.value(
            "[...document.querySelectorAll('button, input, select, textarea, canvas[role=img]')].filter((each) => "
            "!each.textContent.trim() && !each.labels?.length && !each.getAttribute('aria-label'))"
            ".map((each) => each.outerHTML)"
        )
        assert nameless == [], address
    page.wait("document.querySelector('.viewer')?.dataset.ready")
    page.click("next loss ▸")
    page.look(dark=True)
    show(page, "dark", ".player")
    page.look(width=420, height=900)
    page.wait("document.documentElement.scrollWidth <= 425")
    go(page, "#/scenarios")
    time.sleep(0.3)
    assert page.value("document.documentElement.scrollWidth") <= 425
    show(page, "phone")
