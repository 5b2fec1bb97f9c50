"""Workloads whose hosts are on several machines: both elsewhere, on one machine or on two, or one of them here.

What the programs decide alone is equal in virtual time. Times have wide bounds: three machines share two processors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lasthop as library
from lasthop.doctor import checks
from several_machines import Machines, obstacles, three_machines, toml

MISSING = [
    *obstacles(),
    *(check["says"] for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]),
]
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(MISSING), reason=f"NOT TESTED: three machines with sshd need {MISSING}"),
]

WORKLOADS: dict[str, dict[str, Any]] = {
    "page": {"web": {"size": {"uniform": ["2 kB", "20 kB"]}, "think": "100 ms"}},
    "pages": {"web": {"connection": "persistent", "size": "10 kB", "think": "50 ms"}},
    "call": {"voip": {"talk": "500 ms", "silence": "100 ms"}},
    "shell": {"interactive": {"gap": "50 ms"}},
    "others": {"background": {"share": 0.1, "reverse": 0.1, "of": "lasthop.down"}},
    "even": {"constant-rate": {"rate": "100 kbit/s", "packet": "500 bytes"}},
    "fair": {"tfrc": {"packet": "500 bytes"}},
}
PLACES = [
    {"server": "b"},
    {"mobile": "c"},
    {"server": "b", "mobile": "c"},
    {"server": "b", "mobile": "b"},
    {"server": "b", "mobile": "c", "links": "c"},
]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """The three machines."""
    with three_machines(tmp_path_factory.mktemp("machines")) as made:
        yield made


def scenario(machines: Machines, places: dict[str, str], **more: Any) -> dict[str, Any]:
    """Return all workloads at once, between hosts at some places."""
    link = {"rate": "10 Mbit/s", "propagation": "20 ms", "queue": {"limit": "200 packets"}}
    at = {name: {"at": machines.at(place)} for name, place in places.items()}
    given = {"from": "server", "to": "mobile", "until": "2 s"}
    return {
        "name": "apart",
        "stop": "20 s",
        "hosts": {name: {"profile": "sack-6675", **at.get(name, {})} for name in ("server", "mobile")},
        "links": [
            {"name": "lasthop", "between": ["server", "mobile"], "down": link, "up": link, **at.get("links", {})}
        ],
        "flows": [{**given, "name": name, "workload": workload} for name, workload in WORKLOADS.items()],
        "record": {"tables": ["packets", "segments", "transfers", "tcp"]},
        "live": {"congestion": "reno"},
        **more,
    }


@pytest.mark.parametrize("places", PLACES, ids=str)
def test_every_workload_runs_between_machines(machines: Machines, places: dict[str, str], tmp_path: Path) -> None:
    given = scenario(machines, places)
    file = tmp_path / "apart.toml"
    file.write_text("".join(f"{key} = {toml(value)}\n" for key, value in given.items()))
    ran = machines.lasthop("live", str(file), "--out", str(tmp_path / "result"), "--json")
    assert ran.returncode == 0, ran.stderr
    result = library.open_run(tmp_path / "result")
    real = {flow["flow"]: flow for flow in result.summary["flows"]}
    virtual_run = library.run(given)
    virtual = {flow["flow"]: flow for flow in virtual_run.summary["flows"]}
    assert all(flow["completed"] for flow in real.values()), real
    assert result.summary["stopped_by"] == "every flow closed"
    kernel = {flow["flow"]: flow for flow in result.summary["kernel"]["flows"]}
    assert all(flow["broken"] is None for flow in kernel.values()), kernel
    for name in ("call", "even"):
        assert real[name]["segments_sent"] == virtual[name]["segments_sent"]
        assert real[name]["received"] > 0.8 * virtual[name]["received"], "TFRC fills the queue now and then"
        assert 0.02 < real[name]["delay_mean_s"] < 0.2
    assert real["shell"]["received"] == virtual["shell"]["received"], "every key is struck"
    transfers: dict[str, list[dict[str, Any]]] = {name: [] for name in WORKLOADS}
    for row in result.table("transfers").to_pylist():
        transfers[row["flow"]].append(row)
    others = [row["bytes"] for row in virtual_run.table("transfers").to_pylist() if row["flow"] == "others"]
    assert sorted(row["bytes"] for row in transfers["others"]) == sorted(others)
    for name in ("page", "pages", "shell"):
        assert len(transfers[name]) >= 3
        # Two ways over the link, and one for a new connection.
        assert all(39e6 < row["end_ns"] - row["start_ns"] < 2e9 for row in transfers[name])
        assert real[name]["received"] > 0
    assert real["fair"]["segments_sent"] > 20, "it hears its feedback"
    assert {row["flow"] for row in result.table("tcp").to_pylist()} == {"page", "pages", "shell", "others"}
    for machine in result.summary["machines"]:
        assert 0 < machine["control_round_trip_ms"] < 1000
    assert all(0 <= flow["heard_late_ms"] < 5000 for flow in kernel.values())
