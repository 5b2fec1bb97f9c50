"""What strangers wrote: answers, requests, results and programs, changed at random, and names that mean something to
a page or a picture. Each outcome is a result or an error that says what is wrong.

The seeds are fixed. `LASTHOP_MUTATIONS=20` makes twenty times as many mutations.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib import pyplot as plt

import lasthop
from browser import chromium
from lasthop.cli.console import plain
from lasthop.errors import InputError, LasthopError
from lasthop.exchange import FORMATS
from lasthop.fetching import serving
from lasthop.fetching.conversation import converse
from lasthop.fetching.limits import Limits
from lasthop.fetching.target import target_of
from lasthop.plots import KINDS, render
from lasthop.report import write_report

TIMES: Final = int(os.environ.get("LASTHOP_MUTATIONS", "1"))

LIMITS: Final = Limits(size=20_000, time_s=2, silence_s=1)

ANSWERS: Final = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-More: x\r\n\r\nfirst",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n6;a=b\r\nsecond\r\n0\r\nX-More: x\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 Not Found\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b",
    b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/there\r\nContent-Length: 0\r\n\r\n",
]

REQUESTS: Final = [
    b"GET /file.bin HTTP/1.1\r\nHost: here\r\nConnection: keep-alive\r\n\r\n",
    b"HEAD /../secret HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\n\r\n",
    b"GET http://here/%2e%2e/secret?a=b#c HTTP/1.0\r\nRange: bytes=0-1\r\n\r\n",
    b"GET //file.bin HTTP/1.1\r\nContent-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
]

SECRET: Final = b"not for the client"


def mutated(content: bytes, draw: random.Random) -> bytes:
    """Return the bytes with up to eight of them, or runs of them, changed, removed, repeated or added."""
    found = bytearray(content)
    for _ in range(draw.randint(1, 8)):
        at = draw.randrange(len(found) + 1)
        match draw.randrange(6):
            case 0:
                del found[at : at + draw.randint(1, 20)]
            case 1:
                found[at:at] = found[at : at + draw.randint(1, 40)] * draw.randint(1, 5)
            case 2:
                found[at:at] = draw.choice([b"\r\n", b"\n", b":", b"\0", b"-", b"ffffffff", b"%2e%2e/", b"\xff", b" "])
            case 3:
                found[at : at + 1] = b"%d" % draw.choice([0, -1, 10**6, 2**63, 10**40])
            case _ if at < len(found):
                found[at] = draw.randrange(256)
    return bytes(found)


def test_a_mutated_answer_of_a_server_is_an_answer_or_an_error(tmp_path: Path) -> None:
    draw = random.Random(1)
    target = target_of("http://192.0.2.1/")
    for number in range(2000 * TIMES):
        answer = mutated(draw.choice(ANSWERS), draw)
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.sendall(answer)
            theirs.shutdown(socket.SHUT_WR)
            converse(ours.detach(), target, LIMITS, tmp_path)
        reported = json.loads((tmp_path / "answer.json").read_text())
        assert ("sha256" in reported) != ("error" in reported), (number, answer, reported)
        if "sha256" in reported:
            assert reported["bytes"] == (tmp_path / "body").stat().st_size <= LIMITS.size, (number, answer)


def all_of(stream: socket.socket) -> bytes:
    return b"".join(iter(lambda: stream.recv(65_536), b""))


def test_a_mutated_request_gets_the_file_or_nothing_of_this_machine(tmp_path: Path) -> None:
    draw = random.Random(2)
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "file.bin").write_bytes(b"what is served")
    (tmp_path / "secret").write_bytes(SECRET)
    for number in range(2000 * TIMES):
        request = mutated(draw.choice(REQUESTS), draw)
        ours, theirs = socket.socketpair()
        with ours:
            ours.sendall(request)
            ours.shutdown(socket.SHUT_WR)
            serving.answer(theirs.detach(), folder / "file.bin")
            got = all_of(ours)
        assert SECRET not in got, (number, request)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a short run with every table."""
    folder = tmp_path_factory.mktemp("whole") / "result"
    tables = ["segments", "tcp", "packets", "queue", "progress", "transfers"]
    scenario = lasthop.load_scenario(
        "quickstart", overrides={"flows.download.bytes": "150 kB", "record.tables": tables}
    )
    lasthop.run_to_folder(scenario, folder)
    return folder


VALUES: Final[list[Any]] = [None, True, -1, 0, 1e308, 10**30, "", "text", "\x1b[31m<script>", [], {}, [1], {"a": 1}]


def change_index(folder: Path, draw: random.Random) -> str:
    """Replace, or remove, a value of run.json at any depth."""
    index = json.loads((folder / "run.json").read_text())
    place, path = index, []
    while True:
        key = draw.choice(list(place) if isinstance(place, dict) else range(len(place)))
        path.append(str(key))
        below = place[key]
        if not below or not isinstance(below, dict | list) or draw.random() < 0.2:
            break
        place = below
    if draw.random() < 0.3:
        del place[key]
    else:
        place[key] = draw.choice(VALUES)
    (folder / "run.json").write_text(json.dumps(index))
    return f"run.json: {'.'.join(path)}"


def change_bytes(folder: Path, draw: random.Random) -> str:
    """Change bytes of a file; its length stays."""
    file = draw.choice(sorted(path for path in folder.iterdir() if path.name != "run.json"))
    content = bytearray(file.read_bytes())
    for _ in range(draw.randint(1, 8)):
        content[draw.randrange(len(content))] = draw.randrange(256)
    file.write_bytes(content)
    return f"bytes of {file.name}"


def change_table(folder: Path, draw: random.Random) -> str:
    """Write a table anew without a column, with a column of another type, without rows, or with rows in disorder."""
    file = draw.choice(sorted(folder.glob("*.parquet")))
    table = pq.read_table(file)
    column = draw.randrange(table.num_columns)
    name = table.column_names[column]
    match draw.randrange(5):
        case 0:
            table, what = table.drop_columns([name]), f"without {name}"
        case 1:
            table, what = table.set_column(column, name, pa.array(["x"] * table.num_rows)), f"texts in {name}"
        case 2:
            table, what = table.set_column(column, name, pa.nulls(table.num_rows, pa.int64())), f"nothing in {name}"
        case 3:
            table, what = table.slice(0, 0), "no rows"
        case _:
            table, what = table.take(draw.sample(range(table.num_rows), table.num_rows)), "disorder"
    pq.write_table(table, file)
    index = json.loads((folder / "run.json").read_text())
    index["files"][file.name]["bytes"] = file.stat().st_size
    (folder / "run.json").write_text(json.dumps(index))
    return f"{file.name}: {what}"


def explained(folder: Path) -> None:
    for connection in lasthop.explain(lasthop.open_run(folder)):
        assert all(event.text for event in connection.events)


def drawn(kind: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        lasthop.open_run(folder).plot(kind)
        plt.close("all")

    return read


def exported(format: str) -> Callable[[Path], None]:
    return lambda folder: (lasthop.export(folder, format, folder / "out"), None)[1]


READERS: Final[dict[str, Callable[[Path], None]]] = {
    "explain": explained,
    "compare": lambda folder: (lasthop.compare([folder, folder]), None)[1],
    "report": lambda folder: write_report([lasthop.open_run(folder)], folder / "page.html"),
    "summary": lambda folder: (repr(lasthop.open_run(folder)), lasthop.open_run(folder)._repr_html_(), None)[2],
    **{f"plot {kind.id}": drawn(kind.id) for kind in KINDS},
    **{f"export {format.id}": exported(format.id) for format in FORMATS},
}


@pytest.mark.parametrize("change", [change_index, change_bytes, change_table])
def test_a_mutated_result_is_read_or_said_to_be_damaged(
    result: Path, tmp_path: Path, change: Callable[[Path, random.Random], str]
) -> None:
    draw = random.Random(3)
    for number in range(100 * TIMES):
        folder = tmp_path / str(number)
        shutil.copytree(result, folder)
        what = change(folder, draw)
        reader = draw.choice(list(READERS))
        message = ""
        try:
            READERS[reader](folder)
        except LasthopError as error:
            message = plain(str(error))
        except Exception as error:
            raise AssertionError(f"{number}: {reader} of a result with another {what}") from error
        assert "\x1b" not in message
        shutil.rmtree(folder)


HOSTILE: Final = """\
import random

class Wrong:
    def __float__(self):
        raise ZeroDivisionError("no number")

VALUES = [float("nan"), float("inf"), -float("inf"), -1, 0, 0.5, 1e12, 1e300, 10**400, "text", b"text", None, [], True,
          1 + 2j, Wrong(), Wrong]

class Hostile:
    pacing_rate = quantum = deadline = None
    governs_recovery = {governs}

    def __init__(self, mss, window):
        self.draw, self.mss = random.Random({seed}), mss
        self.window, self.ssthresh = window, float("inf")

    def acknowledged(self, ack):
        name = self.draw.choice(["window", "ssthresh", "pacing_rate", "quantum", "deadline"])
        good = {{"window": 10 * self.mss, "pacing_rate": 1e5, "deadline": ack.now + 0.01}}.get(name, 20 * self.mss)
        setattr(self, name, self.draw.choice(VALUES) if self.draw.random() < 0.05 else good)

    def timer(self, now):
        self.deadline = self.draw.choice([None, now, now - 1, now + 1e-9, now + 1])

    def lost(self, event):
        self.window = self.ssthresh = 2 * self.mss

    timeout = lost
"""


def test_hostile_values_of_a_congestion_control_run_or_are_refused_with_its_file(tmp_path: Path) -> None:
    refused = []
    for seed in range(150 * TIMES):
        file = tmp_path / f"hostile{seed}.py"
        file.write_text(HOSTILE.format(seed=seed, governs=seed % 2 == 1))
        overrides = {
            "hosts.server.tcp.congestion": {"python": f"{file}:Hostile"},
            "flows.download.bytes": "100 kB",
            "stop": "30 s",
        }
        try:
            lasthop.run("quickstart", overrides=overrides)
        except InputError as error:
            refused.append(file.name in str(error))
    assert all(refused)
    assert len(refused) > 50 * TIMES


NAMES: Final = {
    "</script><script>document.title='taken'</script>": "script",
    "<img src=x onerror=\"document.title='taken'\">": "element",
    "<!--<script>": "comment",
    "a $\\nothing{$ b": "formula",
}
"""Names that mean something to a page or to a picture, each with a word for it."""


def renamed(result: Path, folder: Path, name: str) -> Path:
    """Copy a result, whose scenario and flow then have the name."""
    shutil.copytree(result, folder)
    index = json.loads((folder / "run.json").read_text())
    index["scenario"] = index["summary"]["scenario"] = index["summary"]["flows"][0]["flow"] = name
    for file in folder.glob("*.parquet"):
        table = pq.read_table(file)
        if "flow" in table.column_names:
            names = pa.array([name] * table.num_rows, table.schema.field("flow").type)
            table = table.set_column(table.column_names.index("flow"), "flow", names)
        pq.write_table(table, file)
        index["files"][file.name]["bytes"] = file.stat().st_size
    (folder / "run.json").write_text(json.dumps(index))
    return folder


@pytest.mark.parametrize("name", NAMES, ids=lambda name: NAMES[name])
def test_names_of_a_result_are_text_in_pictures_tables_and_pages(result: Path, tmp_path: Path, name: str) -> None:
    folder = renamed(result, tmp_path / "renamed", name)
    opened = lasthop.open_run(folder)
    for kind in ("time-sequence", "throughput", "progress"):
        render(opened.plot(kind), "svg")
    assert "<img" not in opened._repr_html_()
    assert "<script" not in opened._repr_html_()
    write_report([opened], folder / "page.html")
    with chromium(tmp_path / "browser") as page:
        page.open((folder / "page.html").as_uri())
        page.wait("document.querySelector('[data-ready]')")
        assert page.value("document.title") == name
        assert page.value("document.querySelectorAll('img, main script').length") == 0
        assert name in page.text()
        assert page.errors == []


def test_a_result_names_no_file_outside_its_folder(result: Path, tmp_path: Path) -> None:
    shutil.copytree(result, tmp_path / "result")
    (tmp_path / "other.parquet").write_bytes(b"x")
    index = json.loads((tmp_path / "result" / "run.json").read_text())
    index["files"]["../other.parquet"] = {"bytes": 1, "sha256": ""}
    (tmp_path / "result" / "run.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match=r"'\.\./other\.parquet'.* is no name of a file in this folder"):
        lasthop.open_run(tmp_path / "result")


@pytest.mark.parametrize(
    "machine",
    [
        "ssh://-oProxyCommand=touch",
        "ssh://-x@b",
        "ssh://b;touch",
        "ssh://b?lasthop=x;touch",
        "ssh://b?lasthop=$(touch)",
        "ssh://b?udp=`touch`",
        "ssh://b\n-oProxyCommand=touch",
    ],
)
def test_a_scenario_gives_ssh_no_option_and_its_shell_no_second_command(machine: str) -> None:
    with pytest.raises(InputError, match="machine"):
        lasthop.load_scenario("quickstart", overrides={"hosts.server.at": machine})


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "a/b", "..", "a\0b", "\x1b[31m"])
def test_a_scenario_names_no_file_outside_its_result(base: Path, name: str) -> None:
    for part in ("server", "download", "lasthop"):
        text = (
            base.read_text()
            .replace(f'"{part}"', json.dumps(name))
            .replace(f"hosts.{part}", f"hosts.{json.dumps(name)}")
        )
        with pytest.raises(InputError, match="cannot be a name"):
            lasthop.parse_scenario(text)
