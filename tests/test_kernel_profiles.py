"""The profiles that a kernel is in a real-time run, and how many runs are compared."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from lasthop.experiments.real_against_virtual import Measured, untainted_runs
from lasthop.real_time.kernel_profiles import Beside, beside
from lasthop.scenario import parse_scenario


def compared(server: str, ran: str, **live: object) -> Beside:
    """What a run is compared with in which the server has a profile and its kernel ran a congestion control."""
    hosts = {"server": {"profile": server}, "mobile": {"profile": "linux-6"}}
    links = [{"name": "l", "between": ["server", "mobile"], "down": {}, "up": {}}]
    flows = [{"name": "f", "from": "server", "to": "mobile", "bytes": "1 MB"}]
    given = parse_scenario({"name": "t", "hosts": hosts, "links": links, "flows": flows, "live": live})
    return beside(given, [{"flow": "f", "congestion": ran}])


def tcp_of(other: Beside, host: str) -> dict[str, object]:
    return next(dict(one["tcp"]) for one in other.scenario.specification["hosts"] if one["name"] == host)


@pytest.mark.parametrize(("profile", "ran"), [("linux-6", "cubic"), ("linux-6-reno", "reno"), ("linux-6-bbr", "bbr")])
def test_a_kernels_profile_with_its_own_congestion_control_stays(profile: str, ran: str) -> None:
    other = compared(profile, ran)
    assert other.remarks == ()
    assert other.profiles == tuple(dict.fromkeys([profile, "linux-6"]))


def test_a_profile_that_is_no_kernels_is_compared_with_the_kernel_that_ran_and_said() -> None:
    other = compared("sack-6675", "reno")
    (remark,) = other.remarks
    assert remark.startswith("server: sack-6675 is no Linux kernel's profile")
    assert other.profiles == ("linux-6-reno", "linux-6")
    assert tcp_of(other, "server") == tcp_of(compared("linux-6-reno", "reno"), "server")


def test_a_kernels_profile_with_another_congestion_control_is_said() -> None:
    other = compared("linux-6", "bbr", congestion="bbr")
    (remark,) = other.remarks
    assert "linux-6 has cubic; the kernel ran bbr" in remark
    assert "bbr" in json.dumps(tcp_of(other, "server")["congestion"])


def test_another_congestion_control_of_linux_stands_in_the_kernels_profile() -> None:
    other = compared("linux-6", "westwood")
    assert other.profiles[0] == "linux-6 with westwood-plus"
    written = json.dumps(tcp_of(other, "server")["congestion"])
    assert "westwood-plus" in written
    assert "byte-counting" in written
    assert "hystart" not in written


def test_a_key_of_tcp_that_the_kernel_has_stands_in_the_profile_too() -> None:
    hosts = {"server": {"profile": "sack-6675", "tcp": {"timestamps": True}}, "mobile": {"profile": "linux-6"}}
    links = [{"name": "l", "between": ["server", "mobile"], "down": {}, "up": {}}]
    flows = [{"name": "f", "from": "server", "to": "mobile", "bytes": "1 MB"}]
    given = parse_scenario(
        {"name": "t", "hosts": hosts, "links": links, "flows": flows}, overrides=["hosts.mobile.tcp.dsack=false"]
    )
    other = beside(given, [{"flow": "f", "congestion": "reno"}])
    assert other.profiles[0] == "linux-6-reno"
    assert tcp_of(other, "server")["timestamps"] is True
    assert tcp_of(other, "mobile")["dsack"] is False


def test_settings_of_the_kernel_alone_are_said() -> None:
    other = compared("linux-6", "cubic", sysctl={"net.ipv4.tcp_sack": 0})
    assert "net.ipv4.tcp_sack" in other.remarks[0]


def runs_of(*tainted: bool) -> Iterator[Measured]:
    yield from (Measured({"run": float(number)}, ("late",) if one else ()) for number, one in enumerate(tainted))


def test_tainted_runs_are_made_again_and_left_out() -> None:
    runs = runs_of(True, False, True, False, False)
    found = untainted_runs(next(runs), lambda: next(runs), 3)
    assert [run["run"] for run in found.measures] == [1, 3, 4]
    assert found.to_json() == {"made": 5, "untainted": 3, "tainted_by": ["late", "late"]}
    assert not found.are_tainted


def test_a_machine_that_taints_every_run_ends_it_all_the_same() -> None:
    runs = runs_of(*[True] * 100)
    found = untainted_runs(next(runs), lambda: next(runs), 2)
    assert (found.made, len(found.measures), found.are_tainted) == (6, 6, True)


def test_one_run_is_one_run() -> None:
    assert untainted_runs(next(runs_of(True)), pytest.fail, 1).made == 1
