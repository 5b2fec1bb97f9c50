"""Hosts on other machines with stacks in bytes: ours, smoltcp, quinn, and with a kernel at the other end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import lasthop as library
from lasthop.doctor import checks
from several_machines import Machines, obstacles, three_machines

MISSING = [
    *obstacles(),
    *(check["says"] for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]),
]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"NOT TESTED: three machines with sshd need {MISSING}")

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


def test_a_workload_over_a_stack_elsewhere_is_refused(machines: Machines) -> None:
    hosts = [*host(machines, "server", "lasthop", "b"), *host(machines, "mobile", "lasthop", None)]
    ran = machines.lasthop("live", "live-workloads", *hosts)
    assert ran.returncode == 2, ran.stderr
    assert "the workload web over a stack in bytes runs where the links are, and server is on another" in ran.stderr
    assert "give the flow bytes or until" in ran.stderr
