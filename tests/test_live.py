"""`lasthop live`: between two kernels where the machine allows it; what it says where not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lasthop as library
from command import Lasthop
from lasthop.doctor import checks

OBSTACLES = [check for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]]
pytestmark = pytest.mark.live
POSSIBLE = pytest.mark.skipif(bool(OBSTACLES), reason=f"NOT TESTED: this machine does not allow it: {OBSTACLES}")

SHORT = ("--set", 'flows.download.bytes="100 kB"')


@POSSIBLE
def test_a_live_run_prints_the_object_of_a_virtual_one_and_more(lasthop: Lasthop) -> None:
    live = lasthop("live", "quickstart", *SHORT, "--json")
    assert live.status == 0, live.err
    virtual = lasthop("run", "quickstart", *SHORT, "--json").json
    assert virtual.keys() <= live.json.keys()
    assert live.json["clock"] == "real"
    assert live.json["flows"][0]["bytes"] == virtual["flows"][0]["bytes"]
    assert live.json["flows"][0]["completed"]


@POSSIBLE
@pytest.mark.parametrize(("profile", "control"), [("linux-6-reno", "reno"), ("linux-6", "cubic")])
def test_sockets_have_the_congestion_control_of_their_flows_profile(
    lasthop: Lasthop, tmp_path: Path, profile: str, control: str
) -> None:
    (tmp_path / "t.toml").write_text(
        'name = "t"\n'
        f'hosts = {{ a = {{ profile = "{profile}" }}, b = {{ profile = "linux-6" }} }}\n'
        'links = [{ name = "l", between = ["a", "b"], down = { rate = "2 Mbit/s" }, up = { rate = "2 Mbit/s" } }]\n'
        'flows = [{ name = "f", from = "a", to = "b", bytes = "100 kB" }]\n'
    )
    live = lasthop("live", "t.toml", "--json")
    assert live.status == 0, live.err
    assert live.json["kernel"]["flows"][0]["congestion"] == control
    assert live.json["kernel"]["congestion"] is None
    assert live.json["compared_with"] == list(dict.fromkeys([profile, "linux-6"]))
    assert live.json["compared_remarks"] == []
    assert live.json["runs"]["made"] == 1


@POSSIBLE
def test_a_stall_is_counted_and_a_tainted_run_says_what_held_it_up(lasthop: Lasthop) -> None:
    live = lasthop("live", "quickstart", *SHORT, "--set", "live.tainted_from=1 ns", "--json").json
    driver = live["driver"]
    assert sum(driver["stalls"]["by_step"].values()) == driver["stalls"]["count"]
    assert all(stall["length_ms"] > driver["stall_from_ms"] for stall in driver["stalls"]["longest"])
    assert driver["polling"] + driver["sleeping"] + driver["ordinary"] == pytest.approx(1)
    (reason,) = [reason for reason in live["tainted_by"] if "released over" in reason]
    assert "the driver was" in reason


@POSSIBLE
def test_what_people_read_of_a_live_run_has_no_datagrams(lasthop: Lasthop) -> None:
    live = lasthop("live", "quickstart", *SHORT)
    assert live.status == 0, live.err
    assert "download" in live.out
    assert "Datagrams" not in live.out


@POSSIBLE
def test_links_of_a_run_with_a_name_are_changed_while_it_runs(lasthop: Lasthop, tmp_path: Path) -> None:
    name = f"lab{os.getpid()}"
    out = tmp_path / "changed"
    words = ["live", "quickstart", "--name", name, "--set", 'flows.download.bytes="1 MB"', "--out", str(out)]
    with subprocess.Popen([sys.executable, "-m", "lasthop", *words], stdout=subprocess.DEVNULL) as running:
        until = time.monotonic() + 30
        while lasthop("set", name, "links.lasthop.down.rate=8 Mbit/s").status != 0:
            assert time.monotonic() < until
            time.sleep(0.1)
        refused = lasthop("set", name, "hosts.server.profile=reno")
        assert refused.status == 2
        assert "only keys of links" in refused.err
        assert running.wait(60) == 0
    summary = json.loads((out / "run.json").read_text())["summary"]
    assert [change["set"] for change in summary["changes"]] == [["links.lasthop.down.rate=8 Mbit/s"]]
    assert summary["flows"][0]["completed"]
    gone = lasthop("set", name, "links.lasthop.down.rate=1 Mbit/s")
    assert gone.status == 2
    assert "lasthop live FILE --name" in gone.err


def test_a_name_is_of_one_run(lasthop: Lasthop) -> None:
    refused = lasthop("live", "quickstart", "--name", "lab", "--repeat", "2")
    assert refused.status == 2
    assert "is of one run" in refused.err


@POSSIBLE
def test_a_topology_of_a_few_lines_runs_between_kernels_too(lasthop: Lasthop) -> None:
    live = lasthop("live", "topology-chain", "--set", 'flows.download.bytes="20 kB"', "--json")
    assert live.status == 0, live.err
    assert live.json["flows"][0]["completed"]
    assert [link["packets_in"] > 0 for link in live.json["links"]] == [True] * 6


@POSSIBLE
def test_a_live_run_writes_a_result(lasthop: Lasthop, tmp_path: Path) -> None:
    live = lasthop("live", "quickstart", *SHORT, "--out", "r", "--json")
    summary = json.loads((tmp_path / "r" / "run.json").read_text())["summary"]
    assert {**live.json, **summary} == live.json
    assert live.json["congestion_control"] == "reno"
    compared = {row["measure"]: row for row in live.json["beside_virtual"]}
    assert {"goodput_Bps", "retransmissions", "timeouts", "round_trip_p95_s"} <= set(compared)
    assert len(compared["goodput_Bps"]["real"]) == 1
    # Headers only, of some 80 bytes with those of the block, of each of the segments.
    segments = live.json["flows"][0]["segments_sent"]
    assert (tmp_path / "r" / "capture-lasthop.pcapng").stat().st_size > 80 * segments
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


@POSSIBLE
def test_a_program_runs_in_the_first_host_and_its_output_stays_off_the_object(lasthop: Lasthop) -> None:
    live = lasthop("live", "quickstart", "--json", "--", "sh", "-c", "echo hello")
    assert live.status == 0, live.err
    assert live.json["command"]["status"] == 0
    assert "hello" in live.err


@POSSIBLE
@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("to", ["group", "process"])
def test_nothing_is_left_of_a_run_that_was_stopped(tmp_path: Path, way: signal.Signals, to: str) -> None:
    long = ["--set", "flows.download.bytes=50 MB"]
    command = [sys.executable, "-m", "lasthop", "live", "quickstart", *long, "--out", str(tmp_path / "r")]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    child = _child_of(running.pid)
    if to == "group":
        os.killpg(running.pid, way)  # as a terminal does
    else:
        running.send_signal(way)
    running.wait(timeout=30)
    deadline = time.monotonic() + 30
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < deadline, "the child outlived its parent"
        time.sleep(0.05)
    assert not (tmp_path / "r").exists()


def _child_of(parent: int) -> int:
    """Wait until the process has a child that runs, and return it."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    deadline = time.monotonic() + 30
    while not (found := children.read_text().split()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(1.0)
    return int(found[0])


@pytest.mark.parametrize(
    ("line", "key", "advice"),
    [
        ('sysctl."net.ipv4.tcp_sakc" = 1', "live.sysctl.net.ipv4.tcp_sakc", "net.ipv4.tcp_sack"),
        ('congestion = "renoo"', "live.congestion", "reno"),
    ],
)
def test_what_this_kernel_does_not_have_is_said_with_file_line_key_and_what_it_has(
    lasthop: Lasthop, base: Path, line: str, key: str, advice: str
) -> None:
    right = base.read_text()
    base.write_text(f"{right}\n[live]\n{line}\n")
    refused = lasthop("live", base)
    assert refused.status == 2
    assert f"{base}:{right.count(chr(10)) + 3}: {key}: this kernel has no" in refused.err
    assert advice in refused.err.partition("this kernel has no")[2]


def test_what_this_kernel_does_not_have_is_found_in_an_override_too(lasthop: Lasthop) -> None:
    refused = lasthop("live", "quickstart", "--set", "live.congestion='renoo'")
    assert refused.status == 2
    assert (
        "--set live.congestion='renoo': live.congestion: this kernel has no congestion control 'renoo'" in refused.err
    )


def test_an_unknown_kernel_setting_is_refused_with_a_reason(lasthop: Lasthop) -> None:
    live = lasthop("live", "quickstart", "--set", 'live.sysctl={"kernel.hostname"="x"}')
    assert live.status == 2
    assert "kernel.hostname" in live.err
    assert "Traceback" not in live.err


@POSSIBLE
def test_live_is_called_as_run_is() -> None:
    run = library.live("quickstart", overrides=["flows.download.bytes=200 kB"])
    assert run.summary["clock"] == "real"
    assert run.summary["flows"][0]["completed"]
    assert run.table("flows").num_rows == 1


@POSSIBLE
def test_a_live_run_has_the_kernels_windows_as_the_table_of_virtual_time(lasthop: Lasthop, tmp_path: Path) -> None:
    live = lasthop("live", "quickstart", *SHORT, "--out", "r", "--json")
    assert live.status == 0, live.err
    result = library.open_run(tmp_path / "r")
    tcp = result.table("tcp").to_pylist()
    assert {row["flow"] for row in tcp} == {"download"}
    assert {row["host"] for row in tcp} == {"server"}
    assert len(tcp) > 5
    assert max(row["cwnd"] for row in tcp) >= 10 * 536
    assert tcp[-1]["srtt_ns"] > 100_000_000
    sockets = result.table("sockets").to_pylist()
    assert {row["host"] for row in sockets} == {"server", "mobile"}
    assert max(row["delivery_rate_Bps"] for row in sockets) > 0
    assert lasthop("plot", "r", "cwnd").status == 0


@POSSIBLE
def test_programs_run_in_any_host_and_what_they_write_is_kept(lasthop: Lasthop, tmp_path: Path) -> None:
    serve = f"{sys.executable} -u -m http.server 8477"
    fetch = "import os, urllib.request as r; print(r.urlopen('http://%s:8477' % os.environ['LASTHOP_PEER']).status)"
    live = lasthop("live", "quickstart", "--in", "server", serve, "--out", "r", "--", sys.executable, "-c", fetch)
    assert live.status == 0, live.err
    assert "200" in live.out.split()
    assert "GET / HTTP/1.1" in (tmp_path / "r" / "output-server-1.txt").read_text()
    assert library.open_run(tmp_path / "r").table("sockets").num_rows > 0


def test_a_program_in_a_host_that_is_not_there_is_refused(lasthop: Lasthop) -> None:
    refused = lasthop("live", "quickstart", "--in", "serverr", "true", "--", "true")
    assert refused.status == 2
    assert "there is no host 'serverr'" in refused.err


@POSSIBLE
def test_the_bound_of_a_valid_run_is_the_files(lasthop: Lasthop) -> None:
    live = lasthop("live", "quickstart", *SHORT, "--set", "live.tainted_from=1 us", "--json")
    late = live.json["lateness"]
    assert late["tainted"]
    assert late["bound_ms"] == 0.001
    assert 0 < late["misses"] <= late["releases"] == sum(found["releases"] for found in late["histogram"])


@POSSIBLE
def test_a_calibration_is_kept_and_faster_links_are_warned_of(
    lasthop: Lasthop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "not measured" in lasthop("doctor").out
    assert "packets/s at most" in lasthop("doctor", "--calibrate").out
    assert json.loads((tmp_path / "lasthop" / "calibration.json").read_text())["ceiling_bps"] > 0
    fast = [f"links.lasthop.{heading}.rate=900 Gbit/s" for heading in ("down", "up")]
    warned = lasthop("live", "quickstart", *SHORT, "--set", fast[0], "--set", fast[1])
    assert "link lasthop.down has 900,000 Mbit/s, and this machine was measured" in warned.err
