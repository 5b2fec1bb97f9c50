"""Hosts on other machines with stacks in bytes: ours, smoltcp, quinn, and with a kernel at the other end.

Times have wide bounds: three machines share two processors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

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

PLACES = [
    ("smoltcp", "b", "lasthop", "c"),
    ("quinn", "b", "quinn", None),
    ("quinn", None, "quinn", "b"),
    ("kernel", None, "smoltcp", "c"),
    ("lasthop", "b", "kernel", "b"),
]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """The three machines."""
    with three_machines(tmp_path_factory.mktemp("machines")) as made:
        yield made


def host(machines: Machines, name: str, stack: str, place: str | None) -> list[str]:
    """Return the options that give a host a stack and a machine."""
    at = ("--set", f'hosts.{name}.at="{machines.at(place)}"') if place else ()
    return ["--set", f'hosts.{name}.stack="{stack}"', *at]


@pytest.mark.parametrize(("server", "first", "mobile", "second"), PLACES)
def test_a_transfer_over_stacks_on_other_machines_arrives_whole(
    machines: Machines, tmp_path: Path, server: str, first: str | None, mobile: str, second: str | None
) -> None:
    hosts = [*host(machines, "server", server, first), *host(machines, "mobile", mobile, second)]
    out = tmp_path / "out"
    ran = machines.lasthop(
        *("live", "quickstart", *hosts, "--set", 'flows.download.bytes="200 kB"', "--out", str(out), "--json"),
        *("--set", 'record.captures=["server"]'),
    )
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    (flow,) = summary["flows"]
    assert (flow["received"], flow["completed"]) == (200_000, True), flow
    assert flow["segments_sent"] > 100
    assert summary["stopped_by"] == "every flow closed"
    links = {link["direction"]: link for link in summary["links"]}
    tunnels = {one["host"]: one for machine in summary["machines"] for one in machine["tunnels"]}
    assert set(tunnels) == {name for name, place in (("server", first), ("mobile", second)) if place}
    if first:
        assert tunnels["server"]["from_host"]["packets"] == links["down"]["packets_in"]
    captures = {path.name for path in out.glob("capture-*")}
    assert captures == {"capture-server.pcapng", *(["capture-server-device.pcapng"] if first else [])}
    assert library.open_run(out).table("packets").num_rows > 0


WORKLOADS = {
    "page": {"web": {"size": {"uniform": ["2 kB", "20 kB"]}, "think": "100 ms"}},
    "shell": {"interactive": {"gap": "50 ms"}},
    "call": {"voip": {"talk": "500 ms", "silence": "100 ms"}},
    "fair": {"tfrc": {"packet": "500 bytes"}},
}
APART = [
    ("lasthop", "b", "kernel", None),
    ("kernel", "c", "lasthop", None),
    ("smoltcp", None, "lasthop", "c"),
    ("quinn", "b", "quinn", "c"),
    ("lasthop", "b", "smoltcp", "b"),
]


@pytest.mark.parametrize(("server", "first", "mobile", "second"), APART)
def test_workloads_run_over_stacks_on_other_machines(
    machines: Machines, tmp_path: Path, server: str, first: str | None, mobile: str, second: str | None
) -> None:
    link = {"rate": "10 Mbit/s", "propagation": "20 ms", "queue": {"limit": "200 packets"}}
    given = {
        "name": "apart",
        "stop": "20 s",
        "hosts": {"server": {"profile": "sack-6675"}, "mobile": {"profile": "sack-6675"}},
        "links": [{"name": "lasthop", "between": ["server", "mobile"], "down": link, "up": link}],
        "flows": [
            {"name": name, "from": "server", "to": "mobile", "until": "2 s", "workload": workload}
            for name, workload in WORKLOADS.items()
        ],
        "record": {"tables": ["packets", "transfers"]},
    }
    file = tmp_path / "apart.toml"
    file.write_text("".join(f"{key} = {toml(value)}\n" for key, value in given.items()))
    hosts = [*host(machines, "server", server, first), *host(machines, "mobile", mobile, second)]
    ran = machines.lasthop("live", str(file), *hosts, "--out", str(tmp_path / "out"), "--json")
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    real = {flow["flow"]: flow for flow in summary["flows"]}
    virtual = {flow["flow"]: flow for flow in library.run(given).summary["flows"]}
    assert all(flow["completed"] for flow in real.values()), real
    assert summary["stopped_by"] == "every flow closed"
    assert real["shell"]["received"] == virtual["shell"]["received"], "every key is struck"
    assert real["call"]["segments_sent"] == virtual["call"]["segments_sent"]
    assert real["fair"]["segments_sent"] > 20, "it hears its feedback"
    rows = library.open_run(tmp_path / "out").table("transfers").to_pylist()
    for name in ("page", "shell"):
        times = [row["end_ns"] - row["start_ns"] for row in rows if row["flow"] == name]
        assert len(times) >= 3
        # Two ways over the link; a timeout would take more.
        assert 39e6 < min(times) < 300e6
    programs = {one["flow"]: one for one in summary["programs"]}
    assert programs.keys() == real.keys()
    assert all(one["broken"] is None for one in programs.values()), programs
    assert programs["page"]["heard_late_ms"] > 0, "of the other half"
    of_kernel = {flow["flow"] for flow in summary["kernel"]["flows"]}
    assert of_kernel == (set(real) if server == "kernel" else set())
