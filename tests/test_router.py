"""`lasthop router` and `lasthop set`: real traffic between namespaces through links that change."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from command import Lasthop
from lasthop.doctor import checks

OBSTACLES = [check for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]]
if os.geteuid() != 0:
    OBSTACLES.append({"check": "root", "ok": False, "says": "namespaces by name take root", "remedy": None})
if shutil.which("ip") is None or shutil.which("iperf3") is None or shutil.which("ping") is None:
    remedy = "apt-get install iproute2 iperf3 iputils-ping"
    OBSTACLES.append({"check": "ip", "ok": False, "says": "ip, iperf3 or ping are not installed", "remedy": remedy})
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(OBSTACLES), reason=f"NOT TESTED: this machine does not allow it: {OBSTACLES}"),
]

ADDRESSES = ("10.9.0.1", "10.9.0.2")
LINK = f"""
[hosts]
left = {{ profile = "linux-6", address = "{ADDRESSES[0]}" }}
right = {{ profile = "linux-6", address = "{ADDRESSES[1]}" }}
[[links]]
name = "lasthop"
between = ["left", "right"]
down = {{ rate = "10 Mbit/s", propagation = "5 ms", queue = {{ limit = "60 packets" }} }}
up = {{ rate = "10 Mbit/s", propagation = "5 ms", queue = {{ limit = "60 packets" }} }}
"""


@dataclass(frozen=True)
class Router:
    """A router that runs between two namespaces."""

    name: str
    left: str
    right: str
    process: subprocess.Popen[str]


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def namespaces() -> Iterator[tuple[str, str]]:
    """Make two network namespaces with names."""
    names = (f"lh{os.getpid()}l", f"lh{os.getpid()}r")
    for name in names:
        ip("netns", "add", name)
    yield names
    for name in names:
        ip("netns", "del", name)


@pytest.fixture
def router(namespaces: tuple[str, str], tmp_path: Path) -> Iterator[Router]:
    """Run a router between them."""
    file, name = tmp_path / "link.toml", f"lab{os.getpid()}"
    file.write_text(LINK)
    words = ["router", str(file), "--between", *namespaces, "--name", name, "--json"]
    command = [sys.executable, "-m", "lasthop", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "runs" in line:
                break
        yield Router(name, *namespaces, process)
        process.kill()


def throughput(router: Router, seconds: float) -> float:
    """Return what iperf3 measures from left to right, in Mbit/s."""
    server = ["ip", "netns", "exec", router.right, "iperf3", "-s", "-1", "--forceflush"]
    with subprocess.Popen(server, stdout=subprocess.PIPE) as listening:
        assert listening.stdout is not None
        assert listening.stdout.readline()
        client = ["ip", "netns", "exec", router.left, "iperf3", "-c", ADDRESSES[1], "-t", str(seconds), "-J"]
        ended = subprocess.run(client, capture_output=True, text=True, check=False, timeout=60)
        assert ended.returncode == 0, ended.stdout
    bits: float = json.loads(ended.stdout)["end"]["sum_received"]["bits_per_second"]
    return bits / 1e6


def test_iperf_gets_the_rate_that_is_set_meanwhile(router: Router, lasthop: Lasthop) -> None:
    assert 6 < throughput(router, 3) < 10
    assert lasthop("set", router.name, "links.lasthop.down.rate=2 Mbit/s").status == 0
    assert 1 < throughput(router, 3) < 2.5
    router.process.send_signal(signal.SIGTERM)
    out, _ = router.process.communicate(timeout=30)
    assert router.process.returncode == 0
    last = json.loads(out.splitlines()[-1])
    assert last["changes"] == 1
    assert {link["name"] for link in last["links"]} == {"lasthop.down", "lasthop.up"}
    assert last["links"][0]["bytes_out"] > 2_000_000


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("links.lasthop.down.rate=-3 Mbit/s", "links.lasthop.down.rate"),
        ("links.lasthop.down.rat=3 Mbit/s", "did you mean"),
        ("links.nowhere.down.rate=3 Mbit/s", "nowhere"),
        ("links.lasthop.mtu=900 bytes", "MTU"),
        ("hosts.left.profile=reno", "only keys of links"),
    ],
)
def test_nonsense_is_refused_and_the_router_goes_on(router: Router, lasthop: Lasthop, override: str, says: str) -> None:
    refused = lasthop("set", router.name, override)
    assert refused.status == 2
    assert says in refused.err
    assert router.process.poll() is None
    assert throughput(router, 1) > 3


def test_a_second_router_of_the_same_name_is_refused(router: Router, lasthop: Lasthop, tmp_path: Path) -> None:
    second = lasthop("router", tmp_path / "link.toml", "--between", router.left, router.right, "--name", router.name)
    assert second.status == 1
    assert f"a router or live run called {router.name} runs already" in second.err


def test_a_killed_router_leaves_no_device(router: Router) -> None:
    devices = ["ip", "-br", "-n", router.left, "link"]
    assert "lasthop0" in subprocess.run(devices, capture_output=True, text=True, check=True).stdout
    router.process.kill()
    router.process.wait()
    deadline = time.monotonic() + 20
    while "lasthop0" in subprocess.run(devices, capture_output=True, text=True, check=True).stdout:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_places_and_routers_that_are_not_there_are_said(lasthop: Lasthop, tmp_path: Path) -> None:
    file = tmp_path / "link.toml"
    file.write_text(LINK)
    nowhere = lasthop("router", file, "--between", "no-such", "nor-this")
    assert nowhere.status == 2
    assert "no-such is neither an interface here nor a network namespace" in nowhere.err
    nobody = lasthop("set", "nobody", "links.lasthop.down.rate=1 Mbit/s")
    assert nobody.status == 2
    assert "no router or live run called 'nobody'" in nobody.err


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGKILL])
def test_traffic_between_two_interfaces_crosses_the_links_and_all_is_taken_back(
    tmp_path: Path, stop: signal.Signals
) -> None:
    middle, ends = f"lh{os.getpid()}m", (f"lh{os.getpid()}a", f"lh{os.getpid()}b")
    (tmp_path / "link.toml").write_text(LINK.replace('"5 ms"', '"150 ms"'))
    for name in (middle, *ends):
        ip("netns", "add", name)
    try:
        for number, end in enumerate(ends, 1):
            ip("-n", middle, "link", "add", f"to{number}", "type", "veth", "peer", "name", "near", "netns", end)
            for namespace, device, host in ((middle, f"to{number}", 1), (end, "near", 2)):
                ip("-n", namespace, "addr", "add", f"10.8.{number}.{host}/24", "dev", device)
                ip("-n", namespace, "link", "set", device, "up")
            ip("-n", end, "route", "add", "default", "via", f"10.8.{number}.1")
        in_middle = ["ip", "netns", "exec", middle]
        command = [*in_middle, sys.executable, "-m", "lasthop", "router", "link.toml", "--between", "to1", "to2"]
        with subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as router:
            assert router.stderr is not None
            announced = []
            for line in router.stderr:
                announced.append(line)
                if "runs" in line:
                    break
            ping = ["ip", "netns", "exec", ends[0], "ping", "-c", "2", "-W", "20", "10.8.2.2"]
            pinged = subprocess.run(ping, capture_output=True, text=True, check=False)
            router.send_signal(stop)
        if stop == signal.SIGKILL:
            subprocess.run([*in_middle, sys.executable, "-m", "lasthop", "doctor"], check=True, capture_output=True)
        assert pinged.returncode == 0, (pinged.stdout, announced)
        shortest = float(pinged.stdout.split(" = ")[-1].split("/")[0])
        assert shortest > 300
        assert any("net.ipv4.conf.to1.forwarding = 1" in line for line in announced)
        shown = [*in_middle, "sh", "-c", "cat /proc/sys/net/ipv4/conf/to*/forwarding; ip rule | wc -l"]
        assert subprocess.run(shown, capture_output=True, text=True, check=True).stdout.split() == ["0", "0", "3"]
    finally:
        for name in (middle, *ends):
            ip("netns", "del", name)
