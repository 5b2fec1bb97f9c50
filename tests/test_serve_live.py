"""`lasthop serve --live`: a run in real time that clients watch, and whose links are changed; and its broadcast."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lasthop.doctor import checks
from lasthop.serve.application import application
from lasthop.serve.broadcast import Broadcast
from lasthop.serve.settings import Settings

OBSTACLES = [check for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]]
POSSIBLE = pytest.mark.skipif(bool(OBSTACLES), reason=f"NOT TESTED: this machine does not allow it: {OBSTACLES}")

TOKEN = "t" * 32
HOST = "127.0.0.1:8750"
KNOWN = {"authorization": f"Bearer {TOKEN}"}
CLIENTS = 50
TEXT = """
stop = "4 s"
hosts = { a = { profile = "linux-6" }, b = { profile = "linux-6" } }
[[links]]
name = "l"
between = ["a", "b"]
down = { rate = "2 Mbit/s", propagation = "10 ms" }
up = { rate = "2 Mbit/s" }
[[flows]]
name = "f"
from = "a"
to = "b"
until = "4 s"
"""


def client_of(folder: Path, *, live: bool) -> TestClient:
    settings = Settings(folder=folder, token=TOKEN, hosts=frozenset({HOST}), port=8750, shown_host=HOST, live=live)
    return TestClient(application(settings), base_url=f"http://{HOST}", headers=KNOWN, follow_redirects=False)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with client_of(tmp_path, live=True) as made:
        yield made


def start(client: TestClient) -> dict[str, Any]:
    order = {"text": TEXT, "name": "mine", "out": "mine", "clock": "live"}
    answer = client.post("/api/runs", json=order)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def states(client: TestClient, job: int) -> Any:
    return client.websocket_connect(f"ws://{HOST}/api/jobs/{job}/states", headers=KNOWN)


def ended(client: TestClient, job: int) -> dict[str, Any]:
    until = time.monotonic() + 60
    while True:
        (found,) = [each for each in client.get("/api/jobs").json() if each["id"] == job]
        if found["state"] not in ("waiting", "running"):
            return dict(found)
        assert time.monotonic() < until
        time.sleep(0.05)


@POSSIBLE
@pytest.mark.live
def test_fifty_clients_watch_one_live_run_whose_link_is_changed(client: TestClient, tmp_path: Path) -> None:
    job = start(client)
    with ExitStack() as stack:
        watching = [stack.enter_context(states(client, job["id"])) for _ in range(CLIENTS)]
        seen = [watching[0].receive_json() for _ in range(12)]
        changed = client.post(f"/api/jobs/{job['id']}/links", json={"set": ["links.l.down.rate=500 kbit/s"]})
        assert changed.status_code == 200, changed.text
        assert changed.json()["command"] == f"lasthop set {job['run_name']} 'links.l.down.rate=500 kbit/s'"
        for others in watching[1:]:
            assert others.receive_json() == seen[0]
    done = ended(client, job["id"])
    assert done["state"] == "done", done["error"]
    assert {link["name"] for link in seen[-1]["links"]} == {"l.down", "l.up"}
    assert seen[-1]["links"][0]["bytes_out"] > 10_000
    (connection,) = seen[-1]["connections"]
    assert (connection["flow"], connection["cwnd"] > 1000, connection["srtt_ms"] > 5) == ("f", True, True)
    summary = json.loads((tmp_path / "mine" / "run.json").read_text())["summary"]
    assert [change["set"] for change in summary["changes"]] == [["links.l.down.rate=500 kbit/s"]]
    assert summary["links"][0]["bytes_out"] < 850_000  # at 2 Mbit/s all the time it is 1 MB


@POSSIBLE
@pytest.mark.live
def test_changes_that_are_wrong_are_refused_and_the_run_continues(client: TestClient) -> None:
    job = start(client)
    with states(client, job["id"]) as watching:
        watching.receive_json()
        for override, says in [
            ("hosts.a.profile=reno", "only keys of links"),
            ("links.l.down.rate=-3 Mbit/s", "links.l.down.rate"),
            ("links.l.mtu=900 bytes", "MTU"),
            ("links.l.down.capacity=../../etc/passwd", "outside of the server's folder"),
        ]:
            refused = client.post(f"/api/jobs/{job['id']}/links", json={"set": [override]})
            assert refused.status_code == 400, override
            assert says in refused.text
        assert watching.receive_json()["changes"] == []
    client.delete(f"/api/jobs/{job['id']}")


def test_without_live_nothing_runs_in_real_time_and_nothing_is_watched(tmp_path: Path) -> None:
    with client_of(tmp_path, live=False) as client:
        order = {"text": TEXT, "name": "mine", "out": "mine", "clock": "live"}
        assert "--live" in client.post("/api/runs", json=order).text
        assert client.post("/api/jobs/1/links", json={"set": ["links.l.down.rate=1 Mbit/s"]}).status_code == 400
        with states(client, 1) as watching:
            assert "there is no job 1" in watching.receive_json()["error"]["message"]


def test_a_job_in_virtual_time_has_no_states(tmp_path: Path) -> None:
    with client_of(tmp_path, live=False) as client:
        order = {"text": TEXT, "name": "mine", "out": "mine"}
        job = client.post("/api/runs", json=order).json()
        with states(client, job["id"]) as watching:
            assert "is no live run" in watching.receive_json()["error"]["message"]


def test_clients_of_a_broadcast_get_every_message_once_and_slow_ones_miss_the_oldest() -> None:
    async def follow(broadcast: Broadcast, pause: float) -> list[str]:
        got = []
        async for message in broadcast.follow():
            got.append(message)
            await asyncio.sleep(pause)
        return got

    async def scene() -> tuple[list[str], list[str], list[str]]:
        broadcast = Broadcast(kept=3)
        broadcast.send("0")
        quick, slow = (asyncio.create_task(follow(broadcast, pause)) for pause in (0, 0.05))
        for number in range(1, 10):
            await asyncio.sleep(0.002)
            broadcast.send(str(number))
        late = asyncio.create_task(follow(broadcast, 0))
        broadcast.close()
        return await quick, await slow, await late

    quick, slow, late = asyncio.run(scene())
    assert quick == [str(number) for number in range(10)]
    assert slow == ["0", "7", "8", "9"]
    assert late == ["7", "8", "9"]
