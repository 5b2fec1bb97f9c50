"""Studies in `lasthop serve`: listed, run, their results, and the run of a row; and sweeps in which runs failed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lasthop.experiments.journal import Journal
from lasthop.serve.application import application
from lasthop.serve.settings import Settings

TOKEN = "t" * 32
HOST = "127.0.0.1:8750"
KNOWN = {"authorization": f"Bearer {TOKEN}"}


def client_of(folder: Path, cluster: str | None = None) -> TestClient:
    hosts = frozenset({HOST})
    settings = Settings(folder=folder, token=TOKEN, hosts=hosts, port=8750, shown_host=HOST, cluster=cluster)
    return TestClient(application(settings), base_url=f"http://{HOST}", headers=KNOWN, follow_redirects=False)


def ended(client: TestClient, job: dict[str, Any]) -> dict[str, Any]:
    with client.websocket_connect(f"ws://{HOST}/api/jobs/{job['id']}/progress", headers=KNOWN) as watching:
        while True:
            shown: dict[str, Any] = watching.receive_json()
            if shown["state"] not in ("waiting", "running"):
                return shown


def test_a_study_is_run_and_a_row_opens_its_run(tmp_path: Path) -> None:
    with client_of(tmp_path) as client:
        assert "sarolahti2000" in {each["name"] for each in client.get("/api/studies").json()}
        described = client.get("/api/studies/sarolahti2000").json()
        assert "14" in {table["id"] for table in described["tables"]}
        order = {"study": "sarolahti2000", "only": ["14"], "replications": 2, "out": "mine"}
        job = client.post("/api/studies", json=order).json()
        assert job["command"] == "lasthop study sarolahti2000 --only 14 --replications 2 --out mine"
        done = ended(client, job)
        assert done["state"] == "done", done["error"]
        assert done["progress"]["done"] == done["progress"]["of"] > 0
        result = client.get("/api/study", params={"name": "mine"}).json()
        row = result["rows"][0]
        assert row["measured"] > 0
        assert row["published"] > 0
        assert all(set(claim) >= {"says", "holds", "evidence"} for claim in result["claims"])
        listed = client.get("/api/results").json()["results"]
        assert [(each["name"], each["kind"]) for each in listed] == [("mine", "study")]
        opened = ended(client, client.post("/api/cases", json={"result": "mine", "case": row["case"]}).json())
        assert opened["state"] == "done", opened["error"]
        view = client.get("/api/view", params={"run": opened["result"]})
        assert view.status_code == 200, view.text
        # Into a folder with runs of a study the study continues: nothing is run twice.
        again = ended(client, client.post("/api/studies", json=order).json())
        assert (again["state"], again["result"]) == ("done", "mine")


def test_studies_run_on_the_cluster_that_the_server_was_given(tmp_path: Path) -> None:
    with client_of(tmp_path, cluster="tcp://nowhere:8786") as client:
        assert client.get("/api/library").json()["server"]["cluster"] == "tcp://nowhere:8786"
        order = {"study": "sarolahti2000", "only": ["14"], "replications": 1, "out": "mine"}
        job = client.post("/api/studies", json=order).json()
        assert "--cluster tcp://nowhere:8786" in job["command"]
        failed = ended(client, job)
    assert failed["state"] == "failed"
    said = failed["error"]["message"]
    assert "needs Dask" in said or "no scheduler answers at tcp://nowhere:8786" in said


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"study": "../studies"}, "the library has no study"),
        ({"only": ["999"]}, "the study has no table"),
        ({"out": "../out"}, "is no name"),
    ],
)
def test_orders_that_are_wrong_are_refused(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    with client_of(tmp_path) as client:
        order = {"study": "sarolahti2000", "only": ["14"], "out": "mine"} | change
        refused = client.post("/api/studies", json=order)
        assert refused.status_code == 400
        assert says in refused.text


def test_a_case_that_is_not_there_is_said(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with client_of(tmp_path) as client:
        assert client.get("/api/study", params={"name": "plain"}).status_code == 400
        failed = ended(client, client.post("/api/cases", json={"result": "plain", "case": "x"}).json())
        assert failed["state"] == "failed"


def test_failed_runs_of_a_sweep_are_listed_until_they_are_repeated(tmp_path: Path) -> None:
    order = {"axes": [{"path": "seed", "values": ["1"]}], "runs": 2, "name": "mine"}
    journal = Journal(tmp_path / "grid", order)
    journal.add("a", 1, {"flows": []})
    journal.fail("b", 1, "queue = 3, seed 1: the link holds too many packets")
    journal.close()
    with client_of(tmp_path) as client:
        (listed,) = client.get("/api/results").json()["results"]
    assert listed["stopped"] == {"done": 1, "of": 2, "failed": 1}
    assert listed["failures"] == ["queue = 3, seed 1: the link holds too many packets"]
    again = Journal(tmp_path / "grid", order)
    assert list(again.known) == [("a", 1)]
    again.close()
    lines = (tmp_path / "grid" / "sweep-runs.jsonl").read_text().splitlines()
    assert not any("failed" in json.loads(line) for line in lines)
