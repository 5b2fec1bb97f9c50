"""Settings without effect are refused or reported, and remedies are true."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lasthop as package
from command import Lasthop
from lasthop import catalogue
from lasthop.errors import InputError
from lasthop.real_time.kernel_keys import kernel_keys, with_kernel_settings
from lasthop.real_time.way_out import check_places, default_interfaces
from lasthop.scenario import load_scenario, unread_keys


def test_a_misspelt_host_is_refused_in_an_override_and_in_a_sweep(lasthop: Lasthop) -> None:
    for option in (["--set", "hosts.serve.profile=cubic"], ["--sweep", "hosts.serve.profile=reno,cubic"]):
        shown = lasthop("run", "quickstart", *option)
        assert shown.status == 2
        assert 'there is no host "serve"' in shown.err
        assert 'did you mean "server"?' in shown.err


def test_a_profile_is_refused_for_a_host_whose_stack_has_none(lasthop: Lasthop) -> None:
    shown = lasthop("run", "quic-gprs", "--sweep", "hosts.server.profile=linux-6,reno")
    assert shown.status == 2
    assert 'has the stack "quinn", which does not read this key' in shown.err


def test_two_tcps_between_the_same_hosts_differ(lasthop: Lasthop, tmp_path: Path) -> None:
    scenario = tmp_path / "duel.toml"
    scenario.write_text(DUEL)
    flows = lasthop("run", str(scenario), "--json").json["flows"]
    alike = lasthop("run", str(scenario), "--set", "flows.bbr.profile=linux-6", "--json").json["flows"]
    assert flows[1]["bytes"] != alike[1]["bytes"]


DUEL = """hosts = { a = { profile = "linux-6" }, b = { profile = "linux-6" } }
flows = [{ name = "cubic", from = "a", to = "b", until = "9 s" },
         { name = "bbr", from = "a", to = "b", until = "9 s", profile = "linux-6-bbr" }]
links = [{ name = "l", between = ["a", "b"], down = { rate = "10 Mbit/s", propagation = "20 ms",
    queue = { limit = "50 packets" } }, up = { rate = "10 Mbit/s", propagation = "20 ms" } }]
"""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("live.congestion", "cubic"),
        ("live.sysctl", '{ "net.ipv4.tcp_sack" = 0 }'),
        ("hosts.server.at", "ssh://far"),
    ],
)
def test_a_setting_of_real_time_is_refused_for_a_run_in_virtual_time(lasthop: Lasthop, key: str, value: str) -> None:
    shown = lasthop("run", "quickstart", "--set", f"{key}={value}")
    assert shown.status == 2
    assert "no run in virtual time reads this key — use lasthop live, or leave it out" in shown.err


@pytest.mark.parametrize("text", ["record.payload=true", 'measure.sample="1 s"', "flows.download.class=3"])
def test_an_override_that_no_run_reads_is_refused(lasthop: Lasthop, tmp_path: Path, text: str) -> None:
    scenario = tmp_path / "bare.toml"
    scenario.write_text(BARE)
    for options in (["--set", text], ["--set", text, "--replications", "2"]):
        shown = lasthop("run", str(scenario), *options)
        assert shown.status == 2
        assert f"--set {text}: " in shown.err
        assert "no run in virtual time reads this key" in shown.err
    with pytest.raises(InputError, match="no run in virtual time reads this key"):
        package.run(str(scenario), overrides=[text])


def test_an_axis_that_no_case_reads_is_refused_before_anything_runs(lasthop: Lasthop, tmp_path: Path) -> None:
    scenario = tmp_path / "bare.toml"
    scenario.write_text(BARE)
    unread = lasthop("run", str(scenario), "--sweep", "flows.download.class=0,3")
    assert unread.status == 2
    assert "flows.download.class: no run in virtual time reads this key" in unread.err
    queue = "links.l.down.queue={ limit = '20 packets' },{ limit = '20 packets', discipline = 'priority' }"
    read = lasthop("run", str(scenario), "--sweep", "flows.download.class=0,3", "--sweep", queue)
    assert read.status == 0, read.err


def test_a_key_of_a_file_that_no_run_reads_is_reported_with_its_line(lasthop: Lasthop, tmp_path: Path) -> None:
    scenario = tmp_path / "bare.toml"
    scenario.write_text(BARE + 'live = { congestion = "cubic" }\nmeasure = { sample = "1 s" }\n')
    shown = lasthop("run", str(scenario))
    assert shown.status == 0
    assert "bare.toml:6: measure.sample: no run in virtual time reads this key" in shown.err
    assert "live" not in shown.err


def test_a_profile_beside_a_stack_of_others_is_reported(lasthop: Lasthop, tmp_path: Path) -> None:
    scenario = tmp_path / "bare.toml"
    scenario.write_text(BARE.replace('a = { profile = "linux-6" }', 'a = { profile = "linux-6", stack = "smoltcp" }'))
    shown = lasthop("run", str(scenario))
    assert shown.status == 0
    assert "bare.toml:1: hosts.a.profile: no run in virtual time reads this key" in shown.err


@pytest.mark.parametrize("scenario", [entry.name for entry in catalogue.entries("scenarios")])
def test_shipped_scenarios_have_no_key_without_effect(scenario: str) -> None:
    assert [str(error) for error in unread_keys(load_scenario(scenario))] == []


def test_what_is_recorded_instead_counts() -> None:
    run = package.run("quickstart", overrides={"measure.sample": "1 s"}, record={"tables": ["progress"]})
    assert run.table("progress").num_rows


BARE = """hosts = { a = { profile = "linux-6" }, b = { profile = "linux-6" } }
flows = [{ name = "download", from = "a", to = "b", bytes = "100 kB" }]
links = [{ name = "l", between = ["a", "b"], down = { rate = "10 Mbit/s", propagation = "20 ms",
    queue = { limit = "50 packets" } }, up = { rate = "10 Mbit/s", propagation = "20 ms" } }]
"""


def test_a_path_that_is_wrong_ends_with_status_2_and_leaves_nothing(lasthop: Lasthop, tmp_path: Path) -> None:
    lasthop("run", "quickstart", "--set", 'record.tables=["segments"]', "--out", "run")
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for command in (
        ["import", "nope"],
        ["export", "run", "--format", "csv", "--out", "file"],
        ["report", "run", "--out", "folder"],
    ):
        shown = lasthop(*command)
        assert shown.status == 2, command
        assert " — " in shown.err
    assert not list(tmp_path.glob(".*"))


def test_what_is_no_scenario_no_grid_and_no_record_is_refused_in_words_of_python() -> None:
    number: Any = 5
    text: Any = "hosts.server.profile"
    given: list[tuple[str, Callable[[], object]]] = [
        ("the scenario is 5, of the type int", lambda: package.run(number)),
        ("axes is 'hosts.server.profile', and no", lambda: package.sweep("quickstart", text)),
        ("tables is the text 'tcp', and no list", lambda: package.run("quickstart", record={"tables": "tcp"})),
        ("there is no 'table' to record", lambda: package.run("quickstart", record={"table": ["tcp"]})),
    ]
    for words, call in given:
        with pytest.raises(InputError, match=words):
            call()


def test_a_stack_of_real_time_is_refused_without_words_on_other_keys(lasthop: Lasthop) -> None:
    shown = lasthop("run", "quickstart", "--set", "hosts.server.stack=kernel")
    assert shown.status == 2
    assert "warning" not in shown.err


@pytest.mark.parametrize("text", ["live.congestion=cubic", 'live.sysctl={ "net.ipv4.tcp_sack" = 0 }'])
def test_a_setting_of_kernels_is_refused_where_no_host_has_one(lasthop: Lasthop, text: str) -> None:
    stacks = [option for host in ("server", "mobile") for option in ("--set", f"hosts.{host}.stack=smoltcp")]
    shown = lasthop("live", "quickstart", *stacks, "--set", text)
    assert shown.status == 2
    assert f"--set {text}: " in shown.err
    assert "no host has the kernel's stack, which alone reads this key" in shown.err


def test_the_help_of_list_breaks_no_word(lasthop: Lasthop) -> None:
    assert "[KIND]" in lasthop("list", "--help").out.splitlines()[0]


def test_a_download_against_another_tcp_is_one_option(lasthop: Lasthop) -> None:
    made = lasthop("new", "duel", "--rate", "10 Mbit/s", "--profile", "linux-6", "--against", "linux-6-bbr")
    assert made.status == 0, made.err
    flows = lasthop("run", "duel.toml", "--json").json["flows"]
    assert [flow["flow"] for flow in flows] == ["download", "against"]
    assert flows[0]["elapsed_s"] != flows[1]["elapsed_s"]


def test_a_router_takes_neither_one_place_twice_nor_this_machines_own_way_out(lasthop: Lasthop, tmp_path: Path) -> None:
    routes = tmp_path / "route"
    routes.write_text(
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n"
        "eth7\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\n"
        "eth8\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\n"
    )
    assert default_interfaces(routes, tmp_path / "none") == {"eth7"}
    for between in [("eth8", "eth8"), ("lo", "eth8")]:
        with pytest.raises(InputError):
            check_places(between, way_out=True)
    shown = lasthop("router", "quickstart", "--between", "left", "right", "--every", "0")
    assert shown.status == 2
    assert "0 is no interval" in shown.err


KERNEL = """[hosts]
a = { profile = "linux-6", tcp = { dsack = false, initial_window = "4 segments" } }
b = { profile = "linux-6" }
[[flows]]
name = "f"
from = "a"
to = "b"
bytes = "1 MB"
[[links]]
name = "l"
between = ["a", "b"]
down = {}
up = {}
"""


def test_keys_of_a_kernels_tcp_are_settings_of_its_host_and_others_are_named(tmp_path: Path) -> None:
    scenario = tmp_path / "kernel.toml"
    scenario.write_text(KERNEL)
    found = kernel_keys(load_scenario(scenario, overrides=["hosts.b.tcp.timestamps=false"]))
    assert [str(setting) for setting in found.settings] == [
        "a: net.ipv4.tcp_dsack = 0 (hosts.a.tcp.dsack)",
        "b: net.ipv4.tcp_timestamps = 0 (hosts.b.tcp.timestamps)",
    ]
    (error,) = found.without_effect
    assert (error.line, error.key) == (2, "hosts.a.tcp.initial_window")
    with_settings = with_kernel_settings(load_scenario(scenario)).specification["hosts"]
    assert [host.get("sysctl") for host in with_settings] == [{"net.ipv4.tcp_dsack": "0"}, None]


def test_an_override_that_a_kernel_does_not_have_is_refused(tmp_path: Path) -> None:
    scenario = tmp_path / "kernel.toml"
    scenario.write_text(KERNEL)
    with pytest.raises(InputError, match="has no setting for this key"):
        with_kernel_settings(load_scenario(scenario, overrides=['hosts.b.tcp.initial_window="4 segments"']))
    stack = ['hosts.b.tcp.initial_window="4 segments"', "hosts.a.stack=lasthop", "hosts.b.stack=lasthop"]
    assert kernel_keys(load_scenario(scenario, overrides=stack)).without_effect == ()
