"""Hosts with a stack of their own: smoltcp, QUIC, our TCP, in both clocks."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lasthop as library
from command import Lasthop
from lasthop.doctor import checks

OBSTACLES = [check for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]]
POSSIBLE = pytest.mark.skipif(bool(OBSTACLES), reason=f"NOT TESTED: this machine does not allow it: {OBSTACLES}")


def of(server: str, mobile: str) -> tuple[str, ...]:
    """Return the options that give the hosts of a scenario their stacks."""
    return ("--set", f"hosts.server.stack={server}", "--set", f"hosts.mobile.stack={mobile}")


def only_flow(summary: Any) -> Any:
    (flow,) = summary["flows"]
    return flow


@pytest.mark.parametrize("stacks", [("smoltcp", "lasthop"), ("lasthop", "smoltcp"), ("quinn", "quinn")])
def test_a_transfer_over_other_stacks_is_reported_as_one_of_our_own(lasthop: Lasthop, stacks: tuple[str, str]) -> None:
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
    hosts = [f'hosts.{name}={{ profile = "sack-6675" }}' for name in ("server", "phone")]
    tcp = lasthop("run", "quic-gprs", "--set", hosts[0], "--set", hosts[1], "--json")
    assert only_flow(tcp.json)["completed"]


def test_a_batch_of_runs_has_the_stacks_too() -> None:
    swept = library.sweep("quickstart", {"hosts.server.stack": ["lasthop", "smoltcp"]}, replications=2)
    assert swept.table().num_rows >= 2


def test_what_stacks_cannot_do_is_refused(lasthop: Lasthop) -> None:
    kernel = lasthop("run", "quickstart", *of("kernel", "lasthop"))
    assert kernel.status == 2
    said = 'hosts.server.stack: host server has the stack "kernel", which runs in real time only — use lasthop live'
    assert said in kernel.err
    quic = lasthop("run", "quickstart", *of("quinn", "smoltcp"))
    assert quic.status == 2
    assert "server (quinn) speaks QUIC and mobile (smoltcp) speaks TCP" in quic.err
    web = lasthop("live", "web-users", "--set", "hosts.server.stack=quinn")
    assert web.status == 2
    assert "server (quinn) speaks QUIC and mobile (lasthop) speaks TCP" in web.err


def test_web_pages_come_over_quic_and_over_tcp(lasthop: Lasthop) -> None:
    def pages(host: str) -> list[dict[str, Any]]:
        hosts = ("--set", f"hosts.server={host}", "--set", f"hosts.mobile={host}")
        flows = lasthop("run", "web-quic", *hosts, "--json").json["flows"]
        return [flow for flow in flows if flow["transfers"] > 0]

    quic, tcp = '{ stack = "quinn" }', '{ profile = "linux-6" }'
    assert len(pages(quic)) == len(pages(tcp)) == 4
    assert pages(quic) == pages(quic), "a run repeats"


def test_pages_and_their_objects_come_by_http3(lasthop: Lasthop) -> None:
    def flows(connection: str) -> Any:
        web = f'flows.user.workload.web={{ connection = "{connection}", objects = 4, object_size = "5 kB" }}'
        return lasthop("run", "web-quic", "--set", web, "--set", "stop=60 s", "--json").json["flows"]

    http3 = flows("http3")
    assert all(flow["connections"] == 1 and flow["transfers"] >= 10 for flow in http3)
    assert all(flow["connections"] > 10 for flow in flows("new"))
    assert http3 == flows("http3"), "a run repeats"


def test_http3_over_tcp_is_refused_with_what_to_write_instead(lasthop: Lasthop) -> None:
    refused = lasthop("run", "web-users", "--set", "flows.user.workload.web.connection=http3")
    assert refused.status == 2
    assert "flows.user.workload" in refused.err
    assert 'connection = "persistent"' in refused.err


def test_a_phone_that_migrates_keeps_its_download_and_its_story_reports_it(lasthop: Lasthop, tmp_path: Path) -> None:
    out = tmp_path / "migration"
    assert lasthop("run", "quic-migration", "--out", str(out)).status == 0
    flow = only_flow(library.open_run(out).summary)
    assert (flow["completed"], flow["connections"]) == (True, 1)
    shown = lasthop("explain", str(out))
    assert "the peer continues from another address" in shown.out, shown.err
    lost = lasthop("run", "quic-migration", "--set", "hosts.phone.migrate.at=59 s", "--json")
    assert not only_flow(lost.json)["completed"]


def test_only_a_host_with_quinn_migrates_and_only_in_virtual_time(lasthop: Lasthop) -> None:
    tcp = lasthop("run", "quickstart", "--set", 'hosts.mobile.migrate={ at = "1 s", to = "10.7.7.7" }')
    assert tcp.status == 2
    assert "hosts.mobile.migrate" in tcp.err
    assert 'stack = "quinn"' in tcp.err
    live = lasthop("live", "quic-migration")
    assert live.status == 2
    assert "in virtual time only" in live.err


def test_the_stacks_are_listed(lasthop: Lasthop) -> None:
    listed = lasthop("list", "stacks", "--json").json["stacks"]
    assert [entry["name"] for entry in listed] == ["lasthop", "kernel", "smoltcp", "quinn", "program", "dccp"]


def test_quic_runs_live_without_any_kernel(lasthop: Lasthop) -> None:
    live = lasthop("live", "quickstart", *of("quinn", "quinn"), "--set", 'flows.download.bytes="200 kB"', "--json")
    assert live.status == 0, live.err
    assert (only_flow(live.json)["bytes"], only_flow(live.json)["completed"]) == (200_000, True)
    assert (live.json["clock"], live.json["right"]) == ("real", "not_needed")


PAGES: dict[str, Any] = {
    "name": "pages",
    "stop": "30 s",
    "hosts": {"server": {"profile": "linux-6"}, "mobile": {"profile": "linux-6"}},
    "links": [
        {
            "name": "lasthop",
            "between": ["server", "mobile"],
            "down": {"rate": "4 Mbit/s", "propagation": "20 ms"},
            "up": {"rate": "4 Mbit/s", "propagation": "20 ms"},
        }
    ],
    "flows": [
        {
            "name": "page",
            "from": "server",
            "to": "mobile",
            "until": "2 s",
            "workload": {"web": {"think": "100 ms", "size": {"uniform": ["2 kB", "20 kB"]}}},
        }
    ],
    "record": {"tables": ["packets", "segments", "transfers", "tcp"]},
}


@pytest.mark.parametrize("stack", ["lasthop", "quinn"])
def test_pages_over_stacks_are_those_of_virtual_time(stack: str) -> None:
    over = {"hosts": {name: {**host, "stack": stack} for name, host in PAGES["hosts"].items()}}
    runs = library.live({**PAGES, **over}), library.run({**PAGES, **over})
    real, virtual = (run.table("transfers").to_pylist() for run in runs)
    # How many there are depends on how long they take; what is asked for, and in which order, does not.
    least = min(len(real), len(virtual))
    assert least >= 3
    assert [page["bytes"] for page in real[:least]] == [page["bytes"] for page in virtual[:least]]
    flow = only_flow(runs[0].summary)
    assert (flow["completed"], flow["transfers"], flow["connections"]) == (True, len(real), len(real))
    assert flow["received"] == sum(page["bytes"] for page in real)
    assert {packet["connection"] for packet in runs[0].table("packets").to_pylist()} >= {1, flow["connections"]}
    assert {row["host"] for row in runs[0].table("tcp").to_pylist()} == {"server"}
    (program,) = runs[0].summary["programs"]
    assert (program["flow"], program["broken"]) == ("page", None)
    assert program["woken_late_ms"] >= 0


@pytest.mark.live
@POSSIBLE
@pytest.mark.parametrize("stacks", [("lasthop", "kernel"), ("kernel", "lasthop"), ("smoltcp", "kernel")])
def test_a_kernel_and_a_stack_of_this_process_talk(lasthop: Lasthop, stacks: tuple[str, str]) -> None:
    live = lasthop("live", "quickstart", *of(*stacks), "--set", 'flows.download.bytes="200 kB"', "--json")
    assert live.status == 0, live.err
    assert (only_flow(live.json)["bytes"], only_flow(live.json)["completed"]) == (200_000, True)


@pytest.mark.live
@POSSIBLE
def test_pages_come_between_a_kernel_and_a_stack_of_this_process() -> None:
    for server, mobile in (("lasthop", "kernel"), ("kernel", "lasthop")):
        stacks = {"server": server, "mobile": mobile}
        over = {"hosts": {name: {**host, "stack": stacks[name]} for name, host in PAGES["hosts"].items()}}
        run = library.live({**PAGES, **over})
        flow, pages = only_flow(run.summary), run.table("transfers").to_pylist()
        assert (flow["completed"], flow["transfers"], flow["connections"]) == (True, len(pages), len(pages))
        assert flow["received"] == flow["bytes"] == sum(page["bytes"] for page in pages)
        assert len(pages) >= 3
        # The window is recorded where the server is: by our TCP, or by samples of the kernel's.
        reasons = {row["reason"] for row in run.table("tcp").to_pylist()}
        assert ("sampled" in reasons) == (server == "kernel")
        assert [kernel["flow"] for kernel in run.summary["kernel"]["flows"]] == ["page"] * (server == "kernel")
        assert run.summary["programs"][0]["heard_late_ms"] > 0


FLOW = ("--set", 'record.tables=["segments"]', "--set", 'flows.download.bytes="200 kB"')


def test_a_run_is_the_same_packet_by_packet_as_itself_and_not_as_another(lasthop: Lasthop, tmp_path: Path) -> None:
    for name, stacks in (("a", ()), ("b", ()), ("c", of("smoltcp", "lasthop"))):
        assert lasthop("run", "quickstart", *FLOW, *stacks, "--out", str(tmp_path / name)).status == 0
    same = lasthop("compare", str(tmp_path / "a"), str(tmp_path / "b"), "--packets", "--json").json
    assert all(row["same"] and row["max_ms"] == 0 for row in same["seen"])
    assert {row["direction"] for row in same["seen"]} == {"sent", "received"}
    other = lasthop("compare", str(tmp_path / "a"), str(tmp_path / "c"), "--packets")
    assert other.status == 0
    assert "differ in packets or in their order" in other.out
    assert lasthop("compare", str(tmp_path / "a"), "--packets").status == 2


def test_our_tcp_decides_alike_in_both_clocks(lasthop: Lasthop, tmp_path: Path) -> None:
    ours = of("lasthop", "lasthop")
    assert lasthop("run", "quickstart", *FLOW, *ours, "--out", str(tmp_path / "virtual")).status == 0
    assert lasthop("live", "quickstart", *FLOW, *ours, "--out", str(tmp_path / "live")).status == 0
    found = lasthop("compare", str(tmp_path / "virtual"), str(tmp_path / "live"), "--packets", "--json").json
    assert found["error_ms"] > 0
    # A machine that is busy may be late enough for another decision: most packets are the same even then.
    assert all(row["common"] > 0.7 * min(row["packets"]) for row in found["seen"]), found


ECHO_STACK = Path(__file__).parent.parent / "docs/recipes/echo_stack.py"
"""The example of the documentation."""

WITH_A_PROGRAM = """name = "echo"
[hosts]
client = { profile = "linux-6" }
server = { stack = "program" }
[[links]]
name = "lasthop"
between = ["client", "server"]
down = { rate = "1 Mbit/s", propagation = "30 ms" }
up = { rate = "1 Mbit/s", propagation = "30 ms" }
[record]
tables = ["packets"]
"""

ASKS = """
import os, socket, sys
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(30)
client.sendto(b"there and back", (os.environ["LASTHOP_ADDRESS_SERVER"], 7))
print(client.recvfrom(100)[0].decode(), file=sys.stderr)
ping = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
ping.settimeout(30)
ping.sendto(bytes([8, 0, 0xF7, 0xFD, 0, 1, 0, 1]), (os.environ["LASTHOP_ADDRESS_SERVER"], 0))
print("pong" if ping.recv(100)[20] == 0 else "?", file=sys.stderr)
"""


@pytest.mark.live
@POSSIBLE
def test_a_program_may_be_a_hosts_stack(lasthop: Lasthop, tmp_path: Path) -> None:
    """The example answers a datagram and a ping of a kernel, across the links."""
    (tmp_path / "echo.toml").write_text(WITH_A_PROGRAM)
    stack = shlex.join([sys.executable, str(ECHO_STACK)])
    got = lasthop("live", tmp_path / "echo.toml", "--json", "--out", tmp_path / "out", "--in", "server", stack,
                  "--", sys.executable, "-c", ASKS)  # fmt: skip
    assert got.status == 0, got.err
    assert "there and back\npong" in got.err
    assert got.json["outside"]["device_drops"] == 0
    assert {link["packets_out"] for link in got.json["links"]} == {2}
    # Each way takes at least 30 ms.
    delays = library.open_run(tmp_path / "out").table("packets").to_pandas()
    assert len(delays) == 4
    assert "this host is 10." in (tmp_path / "out" / "output-server-1.txt").read_text()


@pytest.mark.live
@POSSIBLE
def test_what_a_programs_stack_cannot_do_is_refused(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "echo.toml").write_text(WITH_A_PROGRAM)
    alone = lasthop("live", tmp_path / "echo.toml", "--", "true")
    assert (alone.status, "--in server" in alone.err) == (2, True), alone.err
    virtual = lasthop("run", tmp_path / "echo.toml")
    assert (virtual.status, "runs in real time only" in virtual.err) == (2, True), virtual.err
    for workload in ('until = "1 s"', 'workload = { web = {} }\nuntil = "1 s"'):
        flow = f'[[flows]]\nname = "f"\nfrom = "server"\nto = "client"\n{workload}\n'
        (tmp_path / "flow.toml").write_text(WITH_A_PROGRAM + flow)
        refused = lasthop("live", tmp_path / "flow.toml")
        assert (refused.status, "a number of bytes over TCP" in refused.err) == (2, True), refused.err


SEND_STACK = ECHO_STACK.with_name("send_stack.py")
"""The example that sends."""

DOWNLOAD = """
[[flows]]
name = "download"
from = "server"
to = "client"
bytes = "20 kB"
"""


@pytest.mark.live
@POSSIBLE
@pytest.mark.parametrize("receiver", ["kernel", "lasthop", "smoltcp"])
def test_a_programs_stack_sends_what_a_flow_says(lasthop: Lasthop, tmp_path: Path, receiver: str) -> None:
    """Every byte is compared where it is read; the program's segments are recorded as a kernel's are."""
    (tmp_path / "send.toml").write_text('stop = "60 s"\n' + WITH_A_PROGRAM + DOWNLOAD)
    stack = shlex.join([sys.executable, str(SEND_STACK)])
    got = lasthop("live", tmp_path / "send.toml", "--json", "--set", f"hosts.client.stack={receiver}",
                  "--in", "server", stack)  # fmt: skip
    assert got.status == 0, got.err
    flow = only_flow(got.json)
    assert (flow["bytes"], flow["received"], flow["completed"]) == (20_000, 20_000, True)
    # 14 segments of data, one for each round trip of 60 ms.
    assert flow["segments_sent"] - flow["retransmissions"] == 14
    assert flow["elapsed_s"] > 14 * 0.06


@pytest.mark.live
@POSSIBLE
def test_a_programs_stack_that_fails_ends_the_run(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "send.toml").write_text(WITH_A_PROGRAM + DOWNLOAD)
    got = lasthop("live", tmp_path / "send.toml", "--in", "server", "sh -c 'exit 3'")
    assert got.status != 0
    assert "the program that is the stack of host server ended early" in got.err, got.err


PROGRAMS = Path(__file__).parent.parent / "studies/stacks/programs"


@pytest.mark.skipif(not Path("/usr/include/lwip/lwip/tcpip.h").exists(), reason="NOT TESTED: liblwip-dev is not here")
@pytest.mark.live
@POSSIBLE
def test_lwip_builds_and_is_a_hosts_stack(lasthop: Lasthop, tmp_path: Path) -> None:
    """As sender and as receiver; what the study of stacks does with it is tried nowhere else."""
    built = subprocess.run(
        [PROGRAMS / "build", tmp_path], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}
    )
    assert (tmp_path / "lwip").is_file(), built.stderr
    (tmp_path / "send.toml").write_text('stop = "60 s"\n' + WITH_A_PROGRAM + DOWNLOAD)
    sent = lasthop("live", tmp_path / "send.toml", "--json", "--in", "server", str(tmp_path / "lwip"))
    assert only_flow(sent.json)["received"] == 20_000, sent.err
    there = DOWNLOAD.replace('"server"', '"x"').replace('"client"', '"server"').replace('"x"', '"client"')
    (tmp_path / "read.toml").write_text('stop = "60 s"\n' + WITH_A_PROGRAM + there)
    read = lasthop("live", tmp_path / "read.toml", "--json", "--out", tmp_path / "out",
                   "--in", "server", str(tmp_path / "lwip"))  # fmt: skip
    assert only_flow(read.json)["received"] == 20_000, read.err
    assert "read 20000 bytes, all as they were sent" in (tmp_path / "out" / "output-server-1.txt").read_text()
