"""Hosts with a stack of their own: smoltcp, QUIC, our TCP, in both clocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lasthop as library
from command import Lasthop
from lasthop.doctor import checks

OBSTACLES = [check for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]]
POSSIBLE = pytest.mark.skipif(bool(OBSTACLES), reason=f"this machine does not allow it: {OBSTACLES}")


def of(server: str, mobile: str) -> tuple[str, ...]:
    """Return the options that give the hosts of a scenario their stacks."""
    return ("--set", f"hosts.server.stack={server}", "--set", f"hosts.mobile.stack={mobile}")


def only_flow(summary: Any) -> Any:
    (flow,) = summary["flows"]
    return flow


@pytest.mark.parametrize("stacks", [("smoltcp", "lasthop"), ("lasthop", "smoltcp"), ("quinn", "quinn")])
def test_a_transfer_over_other_stacks_is_told_as_one_of_our_own(lasthop: Lasthop, stacks: tuple[str, str]) -> None:
    ours = lasthop("run", "quickstart", "--json").json
    theirs = lasthop("run", "quickstart", *of(*stacks), "--json").json
    assert theirs.keys() == ours.keys()
    flow = only_flow(theirs)
    assert flow.keys() == only_flow(ours).keys()
    assert (flow["bytes"], flow["received"], flow["completed"]) == (only_flow(ours)["bytes"],) * 2 + (True,)
    assert (theirs["clock"], theirs["stopped_by"]) == ("virtual", "every flow closed")


def test_quinn_over_gprs_is_shown_beside_tcp(lasthop: Lasthop, tmp_path: Path) -> None:
    out = tmp_path / "quic"
    shown = lasthop("run", "quic-gprs", "--out", str(out))
    assert shown.status == 0, shown.err
    run = library.open_run(out)
    windows = run.table("tcp")["cwnd"].to_pylist()
    assert len(set(windows)) > 10
    kinds = set(run.table("segments")["kind"].to_pylist())
    assert kinds == {"datagram"}
    assert lasthop("plot", str(out), "cwnd", "--out", str(tmp_path / "cwnd.svg")).status == 0
    tcp = lasthop(
        "run", "quic-gprs", "--set", "hosts.server.stack=lasthop", "--set", "hosts.phone.stack=lasthop", "--json"
    )
    assert only_flow(tcp.json)["completed"]


def test_a_batch_of_runs_has_the_stacks_too() -> None:
    swept = library.sweep("quickstart", {"hosts.server.stack": ["lasthop", "smoltcp"]}, replications=2)
    assert swept.table().num_rows >= 2


def test_what_stacks_cannot_do_is_refused(lasthop: Lasthop) -> None:
    kernel = lasthop("run", "quickstart", *of("kernel", "lasthop"))
    assert kernel.status == 2
    assert "host server has the kernel's stack, which runs in real time only; use lasthop live" in kernel.err
    quic = lasthop("run", "quickstart", *of("quinn", "smoltcp"))
    assert quic.status == 2
    assert "server (quinn) speaks QUIC and mobile (smoltcp) speaks TCP" in quic.err
    web = lasthop("run", "web-users", "--set", "hosts.server.stack=smoltcp")
    assert web.status == 2
    assert "the workload web runs over our own TCP in virtual time only" in web.err


def test_the_stacks_are_listed(lasthop: Lasthop) -> None:
    listed = lasthop("list", "stacks", "--json").json["stacks"]
    assert [entry["name"] for entry in listed] == ["lasthop", "kernel", "smoltcp", "quinn"]


def test_quic_runs_live_without_any_kernel(lasthop: Lasthop) -> None:
    live = lasthop("live", "quickstart", *of("quinn", "quinn"), "--set", 'flows.download.bytes="200 kB"', "--json")
    assert live.status == 0, live.err
    assert (only_flow(live.json)["bytes"], only_flow(live.json)["completed"]) == (200_000, True)
    assert (live.json["clock"], live.json["right"]) == ("real", "not_needed")


@POSSIBLE
@pytest.mark.parametrize("stacks", [("lasthop", "kernel"), ("kernel", "lasthop"), ("smoltcp", "kernel")])
def test_a_kernel_and_a_stack_of_this_process_talk(lasthop: Lasthop, stacks: tuple[str, str]) -> None:
    live = lasthop("live", "quickstart", *of(*stacks), "--set", 'flows.download.bytes="200 kB"', "--json")
    assert live.status == 0, live.err
    assert (only_flow(live.json)["bytes"], only_flow(live.json)["completed"]) == (200_000, True)
