"""`lasthop live` of every workload: the programs of virtual time over sockets of two kernels.

Counts that the programs decide alone are equal in both clocks. Times have wide bounds: the machine may be busy, and the
kernel's TCP is another.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import lasthop as library
from command import Lasthop
from lasthop.doctor import checks

OBSTACLES = [check for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]]
pytestmark = pytest.mark.live
POSSIBLE = pytest.mark.skipif(bool(OBSTACLES), reason=f"NOT TESTED: this machine does not allow it: {OBSTACLES}")

SCENARIO: dict[str, Any] = {
    "name": "both-clocks",
    "stop": "20 s",
    "hosts": {"server": {"profile": "sack-6675"}, "mobile": {"profile": "sack-6675"}},
    "links": [
        {
            "name": "lasthop",
            "between": ["server", "mobile"],
            "down": {"rate": "4 Mbit/s", "propagation": "20 ms", "queue": {"limit": "100 packets"}},
            "up": {"rate": "4 Mbit/s", "propagation": "20 ms", "queue": {"limit": "100 packets"}},
        }
    ],
    "record": {"tables": ["packets", "segments", "transfers", "tcp"]},
    "live": {"congestion": "reno"},
}


def both(*flows: dict[str, Any], **more: Any) -> tuple[library.Run, library.Run]:
    """Run flows from the server to the mobile host between kernels, and in virtual time."""
    given = {"from": "server", "to": "mobile", "until": "2 s"}
    scenario = {**SCENARIO, **more, "flows": [{**given, **flow} for flow in flows]}
    return library.live(scenario), library.run(scenario)


def summaries(runs: tuple[library.Run, library.Run]) -> list[dict[str, Any]]:
    return [run.summary["flows"][0] for run in runs]


@POSSIBLE
@pytest.mark.parametrize("connection", ["new", "persistent"])
def test_pages_are_those_of_virtual_time(connection: str) -> None:
    web = {"web": {"connection": connection, "think": "100 ms", "size": {"uniform": ["2 kB", "20 kB"]}}}
    runs = both({"name": "page", "workload": web})
    real, virtual = (run.table("transfers").to_pylist() for run in runs)
    # How many there are depends on how long they take; what is asked for does not.
    least = min(len(real), len(virtual))
    assert least >= 3
    assert [page["bytes"] for page in real[:least]] == [page["bytes"] for page in virtual[:least]]
    assert abs(len(real) - len(virtual)) <= 0.5 * len(virtual)
    for page in real:
        assert 40e6 < page["end_ns"] - page["start_ns"] < 2e9
    flow, other = summaries(runs)
    assert flow["completed"]
    assert flow["received"] == flow["bytes"] == sum(page["bytes"] for page in real)
    assert flow["transfers"] == len(real)
    assert flow["connections"] == (len(real) if connection == "new" else 1)
    assert 0.3 < flow["transfer_mean_s"] / other["transfer_mean_s"] < 3
    assert runs[0].summary["stopped_by"] == runs[1].summary["stopped_by"] == "every flow closed"
    packets = runs[0].table("packets").to_pylist()
    assert {packet["flow"] for packet in packets} == {"page"}
    assert {packet["connection"] for packet in packets} == set(range(1, flow["connections"] + 1))
    windows = [run.table("tcp").to_pylist() for run in runs]
    for rows in windows:
        # The server's end, which has accepted them: its SYN is counted.
        assert {(row["flow"], row["host"]) for row in rows} == {("page", "server")}
        assert min(row["seq"] for row in rows) == 1
        assert all(row["cwnd"] > 0 for row in rows)
    assert {row["connection"] for row in windows[0]} == set(range(1, flow["connections"] + 1))
    assert runs[0].plot("cwnd").axes


@POSSIBLE
def test_a_call_has_as_many_frames_and_they_take_as_long() -> None:
    runs = both({"name": "call", "workload": {"voip": {"talk": "500 ms", "silence": "200 ms", "budget": "300 ms"}}})
    real, virtual = summaries(runs)
    assert real["segments_sent"] == virtual["segments_sent"] > 50
    assert real["bytes"] == virtual["bytes"]
    assert (real["packets_lost"], real["completed"], real["connections"]) == (0, True, 0)
    assert virtual["delay_mean_s"] <= real["delay_mean_s"] < virtual["delay_mean_s"] + 0.1
    down = [row for row in runs[0].table("packets").to_pylist() if row["kind"] == "datagram"]
    assert {row["flow"] for row in down} == {"call"}
    assert [row["seq"] for row in down] == list(range(real["segments_sent"]))
    assert {row["bytes"] for row in down} == {71}
    (kernel,) = runs[0].summary["kernel"]["flows"]
    assert (kernel["flow"], kernel["received"]) == ("call", real["bytes"])


@POSSIBLE
def test_lost_and_late_frames_are_counted() -> None:
    down = {"rate": "4 Mbit/s", "propagation": "20 ms", "errors": {"probability": 0.2, "effect": "drop"}}
    link = {**SCENARIO["links"][0], "down": down}
    voice = {"voip": {"talk": "10 s", "budget": "10 ms"}}
    runs = both({"name": "call", "workload": voice}, links=[link])
    real, virtual = summaries(runs)
    assert real["segments_sent"] == virtual["segments_sent"] == 100
    # The link draws the same numbers for the same packets.
    assert real["packets_lost"] == virtual["packets_lost"] > 5
    assert real["packets_late"] == real["segments_sent"] - real["packets_lost"]
    assert real["frame_loss"] == 1


@POSSIBLE
def test_keystrokes_are_struck_as_often_and_echoed() -> None:
    typing = {"interactive": {"gap": {"exponential": {"mean": "50 ms"}}}}
    runs = both({"name": "shell", "workload": typing})
    real, virtual = summaries(runs)
    assert real["received"] == virtual["received"] > 10
    assert real["completed"]
    assert 0.04 < real["transfer_p50_s"] < virtual["transfer_p50_s"] + 0.3


@POSSIBLE
def test_others_connect_both_ways_as_often() -> None:
    others = {"background": {"share": 0.3, "of": "lasthop.down", "reverse": 0.3, "short": "8 kB", "medium": "30 kB"}}
    runs = both({"name": "others", "workload": others})
    real, virtual = summaries(runs)
    assert real["connections"] == virtual["connections"] > 5
    assert real["transfers"] == virtual["transfers"] == real["connections"]
    assert real["completed"]
    assert real["received"] == virtual["received"]
    assert real["bytes"] == virtual["bytes"]
    sizes = [sorted(row["bytes"] for row in run.table("transfers").to_pylist()) for run in runs]
    assert sizes[0] == sizes[1]


@POSSIBLE
@pytest.mark.parametrize(
    "workload",
    [
        {"constant-rate": {"rate": "400 kbit/s", "packet": "500 bytes"}},
        {"poisson": {"rate": "400 kbit/s", "packet": "500 bytes"}},
        {"on-off": {"rate": "800 kbit/s", "packet": "500 bytes", "on": "200 ms", "off": "200 ms"}},
    ],
    ids=lambda workload: next(iter(workload)),
)
def test_datagrams_are_as_many_as_in_virtual_time(workload: dict[str, Any]) -> None:
    real, virtual = summaries(both({"name": "data", "workload": workload}))
    assert real["segments_sent"] == virtual["segments_sent"] > 50
    assert real["bytes"] == virtual["bytes"]


@POSSIBLE
def test_datagrams_too_long_for_a_link_are_lost_in_both_clocks() -> None:
    workload = {"constant-rate": {"rate": "400 kbit/s", "packet": "1600 bytes"}}
    real, virtual = summaries(both({"name": "data", "workload": workload}))
    assert real["packets_lost"] == virtual["packets_lost"] == real["segments_sent"] > 10


@POSSIBLE
def test_tfrc_is_fed_back_and_arrivals_end() -> None:
    runs = both(
        {"name": "film", "workload": {"tfrc": {"packet": "1000 bytes"}}},
        {"name": "files", "workload": {"arrivals": {"size": "20 kB", "gap": "300 ms"}}},
        {"name": "spurts", "workload": {"on-off": {"rate": "200 kbit/s", "transport": "tcp"}}},
        {"name": "download"},
    )
    real, virtual = ({flow["flow"]: flow for flow in run.summary["flows"]} for run in runs)
    assert real["film"]["segments_sent"] > 50
    assert real["files"]["transfers"] == virtual["files"]["transfers"] == 6
    assert real["spurts"]["received"] == virtual["spurts"]["received"]
    assert real["download"]["completed"]


@POSSIBLE
def test_a_bulk_transfer_is_a_transfer_too() -> None:
    scenario = {**SCENARIO, "flows": [{"name": "file", "from": "server", "to": "mobile", "bytes": "50 kB"}]}
    real = library.live(scenario)
    (row,) = real.table("transfers").to_pylist()
    assert (row["flow"], row["bytes"], row["start_ns"]) == ("file", 50_000, 0)
    assert 0.1 < row["end_ns"] / 1e9 < 5
    assert real.summary["flows"][0]["transfers"] == 1


@POSSIBLE
def test_the_stop_time_ends_programs_that_are_not_done() -> None:
    scenario = {
        **SCENARIO,
        "stop": "1 s",
        "flows": [
            {"name": "call", "from": "server", "to": "mobile", "workload": {"voip": {"talk": "10 s"}}},
            {"name": "page", "from": "server", "to": "mobile", "workload": {"web": {"connection": "persistent"}}},
        ],
    }
    run = library.live(scenario)
    assert run.summary["stopped_by"] == "stop time"
    call, page = run.summary["flows"]
    assert (call["completed"], page["completed"]) == (False, False)
    assert 45 <= call["segments_sent"] <= 60
    assert call["packets_lost"] == 0


@POSSIBLE
def test_the_scenario_of_the_library_runs_and_is_held_against_virtual_time(lasthop: Lasthop, tmp_path: Path) -> None:
    live = lasthop("live", "live-workloads", "--out", "real", "--json")
    assert live.status == 0, live.err
    compared = {row["measure"] for row in live.json["beside_virtual"]}
    assert {"transfers", "transfer_mean_s", "frame_loss", "delay_mean_s"} <= compared
    assert lasthop("run", "live-workloads", "--out", "virtual").status == 0
    assert lasthop("compare", "real", "virtual").status == 0
    assert lasthop("plot", "real", "delay").status == 0
    real, virtual = (library.open_run(tmp_path / name).summary["flows"] for name in ("real", "virtual"))
    counted = [{flow["flow"]: flow["segments_sent"] for flow in flows}["call"] for flows in (real, virtual)]
    assert counted[0] == counted[1]


@POSSIBLE
def test_what_a_command_writes_is_shown_and_kept(lasthop: Lasthop, tmp_path: Path) -> None:
    live = lasthop("live", "quickstart", "--out", "r", "--", "sh", "-c", "echo printed; echo warned >&2")
    assert live.status == 0, live.err
    assert "printed" in live.out.split()
    assert "warned" in live.err
    kept = (tmp_path / "r" / "output-command.txt").read_text()
    assert sorted(kept.split()) == ["printed", "warned"]
    files = json.loads((tmp_path / "r" / "run.json").read_text())["files"]
    assert "output-command.txt" in json.dumps(files)


FLOOD = """
import os, socket, time
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
receiver.bind(("127.0.0.1", 9))
for _ in range(50):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(bytes(1000), ("127.0.0.1", 9))
"""


@POSSIBLE
def test_drops_that_no_link_made_taint_the_run(lasthop: Lasthop) -> None:
    flood = ("--json", "--", sys.executable, "-c", FLOOD)
    tainted = lasthop("live", "quickstart", *flood).json
    assert tainted["outside"]["socket_drops"] > 10
    assert tainted["outside"]["tainted"]
    assert any("found no room at a socket" in reason for reason in tainted["tainted_by"])
    allowed = lasthop("live", "quickstart", "--set", "live.tainted_from_drops=1000", *flood).json
    assert not allowed["outside"]["tainted"]
    assert not any("found no room" in reason for reason in allowed["tainted_by"])


def test_a_kernel_under_virtual_time_is_refused_where_it_is_written(lasthop: Lasthop, base: Path) -> None:
    base.write_text(base.read_text().replace("[hosts.server]", '[hosts.server]\nstack = "kernel"', 1))
    line = next(n for n, text in enumerate(base.read_text().splitlines(), 1) if "kernel" in text)
    for command in (("run", base), ("run", base, "--out", "r"), ("run", base, "--replications", "2")):
        refused = lasthop(*command)
        assert refused.status == 2, refused.out
        assert f'{base}:{line}: hosts.server.stack: host server has the stack "kernel"' in refused.err
        assert "use lasthop live" in refused.err
