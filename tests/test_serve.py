"""`lasthop serve`: what the page asks for, and what must be refused."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import uvicorn
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from command import Lasthop
from lasthop.errors import InputError
from lasthop.serve import server
from lasthop.serve.application import application
from lasthop.serve.guard import Guard, Message, Receive, Scope, Send
from lasthop.serve.places import below, leads_out
from lasthop.serve.settings import Limits, Settings

TOKEN = "t" * 32
HOST = "127.0.0.1:8750"
ORIGIN = f"http://{HOST}"
KNOWN = {"authorization": f"Bearer {TOKEN}"}


def settings(folder: Path, limits: Limits = Limits()) -> Settings:  # noqa: B008 - it is frozen
    return Settings(folder=folder, token=TOKEN, hosts=frozenset({HOST}), port=8750, shown_host=HOST, limits=limits)


def client_of(folder: Path, limits: Limits = Limits(), **headers: str) -> TestClient:  # noqa: B008
    app = application(settings(folder, limits))
    return TestClient(app, base_url=ORIGIN, headers={**KNOWN, **headers}, follow_redirects=False)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with client_of(tmp_path) as made:
        yield made


@pytest.fixture
def quickstart(client: TestClient) -> str:
    """The text of the library's first scenario."""
    return str(client.get("/api/scenarios/library/quickstart").json()["text"])


def ended(client: TestClient, job: dict[str, Any]) -> dict[str, Any]:
    """Wait until a job has ended, and return it."""
    with client.websocket_connect(f"ws://{HOST}/api/jobs/{job['id']}/progress", headers=KNOWN) as watching:
        while True:
            shown: dict[str, Any] = watching.receive_json()
            if shown["state"] not in ("waiting", "running"):
                return shown


def run(client: TestClient, text: str, out: str = "mine", **more: Any) -> dict[str, Any]:
    ordered = client.post("/api/runs", json={"text": text, "name": "mine", "out": out, **more})
    assert ordered.status_code == 200, ordered.text
    return ended(client, ordered.json())


def index_of_view(client: TestClient, result: str) -> dict[str, Any]:
    """Return the first line of the view, its index; the packed columns follow."""
    index, _, columns = client.get("/api/view", params={"run": result}).content.partition(b"\n")
    assert columns
    read: dict[str, Any] = json.loads(index)
    return read


def test_the_library_has_names_with_summaries_and_sources(client: TestClient) -> None:
    library = client.get("/api/library").json()
    assert {"quickstart", "teach-slow-start"} <= {each["name"] for each in library["scenarios"]}
    assert all(each["summary"] for kind in ("scenarios", "presets", "profiles") for each in library[kind])
    queues = next(each for each in library["registries"] if each["name"] == "queues")
    assert any(entry["source"] == "RFC 8289" for entry in queues["entries"])
    assert client.get("/api/schema").json()["title"] == "Scenario"


def test_a_new_scenario_over_each_last_hop_of_the_library_is_right(client: TestClient) -> None:
    for preset in client.get("/api/library").json()["presets"]:
        text = client.get(f"/api/scenarios/preset/{preset['name']}").json()["text"]
        checked = client.post("/api/check", json={"text": text}).json()
        assert checked["error"] is None, preset
        assert checked["values"]["links"][0]["preset"] == preset["name"]
    assert client.get("/api/scenarios/preset/quickstart").status_code == 400


def test_an_error_has_its_line_and_key_and_the_remedy(client: TestClient, quickstart: str) -> None:
    wrong = quickstart.replace('rate = "2 Mbit/s"', 'rate = "2 Mbitt/s"', 1)
    error = client.post("/api/check", json={"text": wrong}).json()["error"]
    assert error["key"] == "links.lasthop.down.rate"
    assert "Mbitt/s" in wrong.splitlines()[error["line"] - 1]
    assert "Mbit/s" in error["help"]
    error = client.post("/api/check", json={"text": quickstart + "\n[links"}).json()["error"]
    assert error["line"] is not None


def test_a_changed_key_leaves_comments_and_all_other_lines_alone(client: TestClient, quickstart: str) -> None:
    change = {"text": quickstart, "path": ["links", 0, "down", "rate"], "value": "4 Mbit/s"}
    changed = client.post("/api/change", json=change).json()
    assert changed["error"] is None
    different = [
        pair for pair in zip(quickstart.split("\n"), changed["text"].split("\n"), strict=True) if len(set(pair)) > 1
    ]
    assert [new for _, new in different] == [different[0][0].replace("2 Mbit/s", "4 Mbit/s", 1)]
    assert changed["links"][0]["down"]["rate"] == "4 Mbit/s"


def test_keys_are_added_and_removed(client: TestClient, quickstart: str) -> None:
    path = ["links", 0, "down", "queue", "discipline"]
    added = client.post("/api/change", json={"text": quickstart, "path": path, "value": {"toml": "{ codel = {} }"}})
    assert added.json()["error"] is None
    assert "codel" in added.json()["text"]
    removed = client.post("/api/change", json={"text": added.json()["text"], "path": path, "value": None}).json()
    assert "codel" not in removed["text"]
    missing = client.post("/api/change", json={"text": quickstart, "path": ["links", 9, "name"], "value": "x"})
    assert missing.status_code == 400


def test_a_run_gives_what_the_command_gives(
    client: TestClient, quickstart: str, tmp_path: Path, lasthop: Lasthop
) -> None:
    client.put("/api/scenarios/folder/mine", json={"text": quickstart})
    job = run(client, quickstart, seed=3)
    assert job["state"] == "done", job["error"]
    assert job["command"] == "lasthop run mine.toml --seed 3 --out mine"
    assert lasthop(*job["command"].replace("--out mine", "--out typed").split()[1:]).status == 0
    for name in ("segments.parquet", "packets.parquet", "capture-server.pcapng"):
        assert (tmp_path / "mine" / name).read_bytes() == (tmp_path / "typed" / name).read_bytes()
    view = index_of_view(client, "mine")
    assert view["runs"][0]["crossings"]["links"][0] == {
        "name": "lasthop", "direction": "down", "from": "server", "to": "mobile",
    }  # fmt: skip


def test_a_result_is_not_overwritten_and_a_comparison_says_what_differs(client: TestClient, quickstart: str) -> None:
    first = run(client, quickstart)
    second = run(client, quickstart, overrides=["hosts.server.profile=reno"])
    assert (first["result"], second["result"]) == ("mine", "mine-2")
    assert "--set hosts.server.profile=reno" in second["command"]
    compared = client.get("/api/comparison", params={"run": ["mine", "mine-2"]}).json()
    assert any(row["differs"] and row["measure"] == "retransmissions" for row in compared["differences"])
    assert client.get("/api/comparison", params={"run": ["mine"] * 9}).status_code == 422


def test_a_sweep_gives_its_rows_as_they_end(client: TestClient, quickstart: str) -> None:
    axes = [{"key": "links.lasthop.down.queue.limit", "values": ["7 packets", "20 packets"]}]
    order = {"text": quickstart, "name": "mine", "out": "grid", "axes": axes, "replications": 2}
    job = ended(client, client.post("/api/sweeps", json=order).json())
    assert job["state"] == "done", job["error"]
    assert sorted(row["values"][0] for row in job["rows"]) == ["20 packets", "7 packets"]
    assert job["progress"] == {"done": 4, "of": 4}
    assert len(client.get("/api/sweep", params={"name": "grid"}).json()["cases"]) == 2
    too_many = {**order, "axes": [{"key": "seed", "values": [str(each) for each in range(100)]}], "replications": 1000}
    assert "is the most" in client.post("/api/sweeps", json=too_many).json()["error"]["help"]


def test_a_stopped_sweep_is_listed_and_continues(client: TestClient, quickstart: str) -> None:
    axes = [{"key": "links.lasthop.down.queue.limit", "values": ["7 packets", "20 packets"]}]
    # Longer transfers: the sweep is to be stopped before its end, on a machine that is slow to notice its begin, too.
    text = quickstart.replace('"1 MB"', '"4 MB"')
    order = {"text": text, "name": "mine", "out": "grid", "axes": axes, "replications": 200}
    job = client.post("/api/sweeps", json=order).json()
    with client.websocket_connect(f"ws://{HOST}/api/jobs/{job['id']}/progress", headers=KNOWN) as watching:
        while not watching.receive_json()["progress"].get("done"):
            pass
        client.delete(f"/api/jobs/{job['id']}")
    until = time.monotonic() + 10
    while not (listed := client.get("/api/results").json()["results"]) and time.monotonic() < until:
        time.sleep(0.05)
    assert (listed[0]["name"], listed[0]["kind"], listed[0]["problem"]) == ("grid", "sweep", None)
    assert 1 <= listed[0]["stopped"]["done"] < listed[0]["stopped"]["of"] == 400
    proceeding = client.post("/api/sweeps/continue", json={"result": "grid"})
    assert proceeding.status_code == 200, proceeding.text
    again = ended(client, proceeding.json())
    assert (again["state"], again["command"]) == ("done", job["command"])
    assert len(client.get("/api/sweep", params={"name": "grid"}).json()["cases"]) == 2
    nothing_left = client.post("/api/sweeps/continue", json={"result": "grid"})
    assert "has no journal" in nothing_left.json()["error"]["message"]
    assert client.post("/api/sweeps/continue", json={"result": "../grid"}).status_code == 400


def test_a_long_run_is_cancelled_and_leaves_nothing(client: TestClient, quickstart: str, tmp_path: Path) -> None:
    text = quickstart.replace('bytes = "1 MB"', 'bytes = "20 GB"')
    job = client.post("/api/runs", json={"text": text, "name": "mine", "out": "long"}).json()
    with client.websocket_connect(f"ws://{HOST}/api/jobs/{job['id']}/progress", headers=KNOWN) as watching:
        while not watching.receive_json()["progress"]:
            pass
        assert client.delete(f"/api/jobs/{job['id']}").json()["state"] == "cancelled"
    until = time.monotonic() + 10
    while any(tmp_path.glob(".long*")) and time.monotonic() < until:
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_takes_too_long_or_waits_in_too_long_a_line_is_refused(tmp_path: Path, quickstart: str) -> None:
    limits = Limits(job_s=0.5, running=1, waiting=1)
    with client_of(tmp_path, limits) as client:
        text = quickstart.replace('bytes = "1 MB"', 'bytes = "20 GB"')
        order = {"text": text, "name": "mine", "out": "long"}
        first = client.post("/api/runs", json=order).json()
        client.post("/api/runs", json=order)
        assert "too many jobs" in client.post("/api/runs", json=order).json()["error"]["message"]
        failed = ended(client, first)
    assert (failed["state"], failed["error"]["message"]) == ("failed", "took too long")


def test_a_run_without_memory_fails_in_place(tmp_path: Path, quickstart: str) -> None:
    with client_of(tmp_path, Limits(job_memory=64 * 2**20)) as client:
        job = run(client, quickstart)
    assert job["state"] == "failed"
    assert job["error"]["message"]


def test_a_saved_file_is_not_overwritten_by_a_page_that_has_not_seen_it(client: TestClient, tmp_path: Path) -> None:
    first = client.put("/api/scenarios/folder/mine", json={"text": "name = 'a'\n"}).json()
    other = client.put("/api/scenarios/folder/mine", json={"text": "name = 'b'\n"})
    assert other.status_code == 400
    assert (tmp_path / "mine.toml").read_text() == "name = 'a'\n"
    again = {"text": "name = 'b'\n", "replaces": first["fingerprint"]}
    assert client.put("/api/scenarios/folder/mine", json=again).status_code == 200


def test_a_client_executes_no_program(
    client: TestClient, quickstart: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An override counts as consent in the command, and a client may save a file of any text as a scenario."""
    monkeypatch.chdir(tmp_path)
    code = "class Mine:\n    open('reached', 'w').close()\n"
    (tmp_path / "mine.toml").write_text(code)
    (tmp_path / "mine.py").write_text(code)
    for file in ("mine.toml", "mine.py"):
        key, program = "hosts.server.tcp.congestion", f'{{ python = "{file}:Mine" }}'
        job = run(client, quickstart, overrides=[f"{key}={program}"])
        assert (job["state"], "executes no program" in job["error"]["message"]) == ("failed", True), job
        order = {"text": quickstart, "name": "mine", "out": "grid", "axes": [{"key": key, "values": [program]}]}
        answered = client.post("/api/sweeps", json={**order, "replications": 1}).json()
        assert answered.get("error") or ended(client, answered)["state"] == "failed"
    assert not (tmp_path / "reached").exists()


def test_real_time_needs_its_option(client: TestClient, quickstart: str) -> None:
    order = {"text": quickstart, "name": "mine", "out": "mine", "clock": "live"}
    assert "--live" in client.post("/api/runs", json=order).json()["error"]["help"]


def test_a_torn_result_is_listed_with_what_is_wrong(client: TestClient, quickstart: str, tmp_path: Path) -> None:
    run(client, quickstart)
    (tmp_path / "mine" / "run.json").write_text("{")
    (entry,) = client.get("/api/results").json()["results"]
    assert entry["problem"]
    assert client.get("/api/view", params={"run": "mine"}).json()["error"]["help"]


def test_a_capture_is_analyzed_and_others_are_refused(client: TestClient, quickstart: str, tmp_path: Path) -> None:
    run(client, quickstart)
    capture = (tmp_path / "mine" / "capture-server.pcapng").read_bytes()
    job = ended(client, client.put("/api/captures/mine.pcapng", content=capture).json())
    assert (job["state"], job["result"]) == ("done", "mine-analysis")
    assert job["command"] == "lasthop analyze mine.pcapng --out mine-analysis"
    torn = ended(client, client.put("/api/captures/torn.pcapng", content=capture[:5000]).json())
    assert torn["state"] == "done"
    for name, content in (("a.pcap", b"GIF89a"), ("b.pcapng", b""), ("c.sh", capture), (".d.pcap", capture)):
        assert client.put(f"/api/captures/{name}", content=content).status_code == 400
    noise = ended(client, client.put("/api/captures/noise.pcap", content=capture[:4] + bytes(range(256)) * 9).json())
    assert noise["state"] == "failed"
    assert not list(tmp_path.glob(".*partial*"))


def test_captures_of_both_ends_are_joined(client: TestClient, quickstart: str, tmp_path: Path) -> None:
    run(client, quickstart)
    names = ["capture-server.pcapng", "capture-mobile.pcapng"]
    for name in names:
        (tmp_path / name).write_bytes((tmp_path / "mine" / name).read_bytes())
    job = ended(client, client.post("/api/joined-captures", json={"captures": names}).json())
    assert (job["state"], job["result"]) == ("done", "capture-server-joined"), job["error"]
    assert job["command"] == f"lasthop analyze {' '.join(names)} --out capture-server-joined"
    assert index_of_view(client, job["result"])["runs"][0]["crossings"]
    for wrong in (names[:1], [names[0], "none.pcap"], [names[0], "../x.pcap"], [names[0], "mine.toml"]):
        assert client.post("/api/joined-captures", json={"captures": wrong}).status_code in (400, 422)


# What must be refused.


def test_without_the_token_nothing_is_answered(tmp_path: Path) -> None:
    with client_of(tmp_path) as client:
        for path in ("/", "/assets/laboratory.js", "/api/library", "/api/openapi.json", "/nothing"):
            for headers in ({}, {"authorization": "Bearer wrong"}, {"cookie": "lasthop-8750=wrong"}):
                client.headers.pop("authorization", None)
                assert client.get(path, headers=headers).status_code == 401
        assert client.get("/?token=wrong").status_code == 401


def test_the_token_in_the_address_becomes_a_cookie_that_scripts_cannot_read(tmp_path: Path) -> None:
    with client_of(tmp_path) as client:
        client.headers.pop("authorization")
        opened = client.get(f"/?token={TOKEN}")
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        assert {"HttpOnly", "SameSite=Strict"} <= set(opened.headers["set-cookie"].split("; "))
        assert client.get("/api/library").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8750", "127.0.0.1", "127.0.0.1:80", ""])
def test_another_name_of_the_server_is_refused_against_dns_rebinding(client: TestClient, host: str) -> None:
    assert client.get("/api/library", headers={"host": host}).status_code == 421
    assert client.get(f"/?token={TOKEN}", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1:8750"])
def test_requests_of_other_sites_are_refused(client: TestClient, origin: str) -> None:
    body = {"text": "x", "name": "x", "out": "x"}
    assert client.post("/api/runs", json=body, headers={"origin": origin}).status_code == 403
    assert client.get("/api/library", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert client.get("/api/library", headers={"sec-fetch-site": "same-site"}).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(f"ws://{HOST}/api/jobs/1/progress", headers={**KNOWN, "origin": origin}),
    ):
        pass


def test_no_answer_may_be_framed_cached_or_read_by_others(client: TestClient) -> None:
    headers = client.get("/api/library").headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


PATHS_OUT = (
    "..",
    "../x",
    "/etc/passwd",
    "a/../../x",
    ".hidden",
    "-option",
    "a\0b",
    "a/b",
    "a\\..\\b",
    "",
    " ",
    "x" * 500,
)


@pytest.mark.parametrize("name", PATHS_OUT)
def test_no_name_leads_out_of_the_folder(client: TestClient, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        below(tmp_path, name)
    assert client.get("/api/view", params={"run": name}).status_code in (400, 422)
    order = {"text": 'name = "x"', "name": name, "out": name}
    assert client.post("/api/runs", json=order).status_code in (400, 422)


@pytest.mark.parametrize("path", ["/assets/../guard.py", "/assets/%2e%2e%2fguard.py", "/api/scenarios/folder/..%2Fx"])
def test_addresses_with_dots_reach_no_file(client: TestClient, path: str) -> None:
    assert client.get(path).status_code in (400, 404)


def test_a_symbolic_link_out_of_the_folder_is_not_followed(client: TestClient, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "run.json").write_text("{}")
    (tmp_path / "link").symlink_to(outside)
    (tmp_path / "passwd.toml").symlink_to("/etc/passwd")
    assert client.get("/api/results").json()["results"] == []
    assert client.get("/api/view", params={"run": "link"}).status_code == 400
    assert client.get("/api/scenarios/folder/passwd").status_code == 400


@pytest.mark.parametrize("value", ["/etc/passwd", "../secret.toml", "a/../../b"])
def test_a_scenario_names_no_file_outside_of_the_folder(client: TestClient, quickstart: str, value: str) -> None:
    text = quickstart.replace('"sack-6675"', f'"{value}"', 1)
    assert "outside" in client.post("/api/check", json={"text": text}).json()["error"]["message"]
    for order in (
        {"text": text, "name": "x", "out": "x"},
        {"text": quickstart, "name": "x", "out": "x", "overrides": [f"hosts.server.profile={value}"]},
        {"text": quickstart, "name": "x", "out": "x", "overrides": [f'hosts.server.profile="{value}"']},
    ):
        assert client.post("/api/runs", json=order).status_code == 400
    grid = [{"key": "hosts.server.profile", "values": [value]}]
    sweep = {"text": quickstart, "name": "x", "out": "x", "axes": grid}
    assert client.post("/api/sweeps", json=sweep).status_code == 400


def test_texts_with_units_are_no_paths(tmp_path: Path) -> None:
    assert not leads_out("2 Mbit/s", tmp_path)
    assert not leads_out("fading.trace", tmp_path)


def test_what_a_client_sends_comes_back_as_text_only(client: TestClient) -> None:
    markup = "<script>alert(1)</script>"
    answer = client.get("/api/scenarios/folder/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert client.post("/api/check", json={"text": markup}).headers["content-type"] == "application/json"


def test_a_body_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with client_of(tmp_path, Limits(body=1000, upload=2000)) as client:
        assert client.post("/api/check", json={"text": "x" * 2000}).status_code == 413
        assert client.put("/api/captures/a.pcap", content=b"\xd4\xc3\xb2\xa1" + bytes(3000)).status_code == 413
        chunks = (b"\xd4\xc3\xb2\xa1" * 100 for _ in range(10))
        assert client.put("/api/captures/a.pcap", content=chunks).status_code == 413
    assert list(tmp_path.iterdir()) == []


def test_a_body_that_stalls_is_refused(tmp_path: Path) -> None:
    sent: list[Message] = []

    async def inner(_scope: Scope, receive: Receive, _send: Send) -> None:
        await receive()
        await receive()

    async def stalling() -> Message:
        if not sent and not begun:
            begun.append(True)
            return {"type": "http.request", "body": b"x", "more_body": True}
        await asyncio.sleep(60)
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    begun: list[bool] = []
    headers = [(b"host", HOST.encode()), (b"authorization", f"Bearer {TOKEN}".encode())]
    scope: Scope = {
        "type": "http",
        "method": "PUT",
        "path": "/api/captures/a.pcap",
        "query_string": b"",
        "headers": headers,
    }
    asyncio.run(Guard(inner, settings(tmp_path, Limits(silence_s=0.05)))(scope, stalling, send))
    assert sent[0]["status"] == 408


def test_malformed_requests_are_answered_without_what_they_sent(client: TestClient) -> None:
    answer = client.post("/api/runs", json={"text": 1, "secret": "hunter2"})
    assert answer.status_code == 422
    assert "hunter2" not in answer.text
    assert client.post("/api/runs", content=b"{", headers={"content-type": "application/json"}).status_code == 422


def test_more_sockets_than_allowed_are_closed_and_the_others_stay(tmp_path: Path) -> None:
    with client_of(tmp_path, Limits(sockets=3)) as client:
        text = client.get("/api/scenarios/library/quickstart").json()["text"].replace('"1 MB"', '"20 GB"')
        job = client.post("/api/runs", json={"text": text, "name": "x", "out": "x"}).json()
        address = f"ws://{HOST}/api/jobs/{job['id']}/progress"
        open_ = [client.websocket_connect(address, headers=KNOWN) for _ in range(3)]
        for each in open_:
            each.__enter__().receive_json()
        for _ in range(20):
            with pytest.raises(WebSocketDisconnect), client.websocket_connect(address, headers=KNOWN):
                pass
        client.delete(f"/api/jobs/{job['id']}")
        for each in open_:
            each.__exit__(None, None, None)


def test_a_taken_port_and_a_wrong_address_are_said_with_the_remedy(lasthop: Lasthop) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = lasthop("serve", "--port", taken.getsockname()[1])
    assert refused.status == 2
    assert "--port" in refused.err
    assert lasthop("serve", "--host", "203.0.113.9").status == 2


def test_many_silent_connections_are_closed_and_then_all_is_answered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "REQUEST_S", 1.0)
    bound = server.listen("127.0.0.1", 0)
    made = server.settings_of(tmp_path, bound, (), TOKEN, live=False)
    config = server.config_of(made)
    running = uvicorn.Server(config)
    thread = Thread(target=running.run, kwargs={"sockets": [bound]})
    thread.start()
    silent = []
    try:
        for number in range(400):
            one = socket.create_connection(("127.0.0.1", made.port))
            one.sendall(b"GET / HT" if number % 2 else b"")
            silent.append(one)
        until = time.monotonic() + 20
        request = f"GET /api/lessons HTTP/1.1\r\nHost: 127.0.0.1:{made.port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        answer = b""
        while not answer.startswith(b"HTTP/1.1 200") and time.monotonic() < until:
            with socket.create_connection(("127.0.0.1", made.port)) as asking:
                asking.sendall(request.encode())
                answer = asking.recv(100)
        assert answer.startswith(b"HTTP/1.1 200")
    finally:
        for one in silent:
            one.close()
        running.should_exit = True
        thread.join(20)
