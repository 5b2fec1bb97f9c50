"""Placement of the parts of a scenario, and the calls of ssh, as far as they need no machine."""

from __future__ import annotations

import pytest

from lasthop.real_time.machines import SSH, Machine, placement_of
from lasthop.scenario import load_scenario


def at(**places: str) -> list[str]:
    return [f'{"links.lasthop" if name == "links" else f"hosts.{name}"}.at="{text}"' for name, text in places.items()]


def test_a_machine_is_called_as_ssh_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SSH, raising=False)
    machine = Machine("ssh://me@lab.example.org:2222?lasthop=/opt/c++/lasthop&udp=192.0.2.7:4000")
    assert machine.ssh == ["ssh", "-T", "-o", "BatchMode=yes", "-l", "me", "-p", "2222", "lab.example.org"]
    assert machine.program == "/opt/c++/lasthop"
    assert machine.datagrams() == ("192.0.2.7", 4000)
    monkeypatch.setenv(SSH, "ssh -F 'my config'")
    assert Machine("ssh://b").ssh == ["ssh", "-F", "my config", "-T", "-o", "BatchMode=yes", "b"]
    assert Machine("ssh://b").program == "lasthop"


def test_datagrams_go_where_ssh_would_unless_the_scenario_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SSH, "sh -c 'echo hostname 203.0.113.5'")
    assert Machine("ssh://alias").datagrams() == ("203.0.113.5", None)
    assert Machine("ssh://alias?udp=:4000").datagrams() == ("203.0.113.5", 4000)
    assert Machine("ssh://alias?udp=[2001:db8::1]:4000").datagrams() == ("2001:db8::1", 4000)
    monkeypatch.setenv(SSH, "false")
    assert Machine("ssh://alias").datagrams() == ("alias", None)


def test_hosts_are_grouped_by_their_machines() -> None:
    both = placement_of(load_scenario("quickstart", overrides=at(server="ssh://b", mobile="ssh://b")))
    assert both.emulator is None
    assert both.hosts == {Machine("ssh://b"): ["server", "mobile"]}
    assert not both.is_here
    assert both.key_of(Machine("ssh://b")) == "hosts.server.at"


def test_a_host_at_the_links_is_in_their_process() -> None:
    placement = placement_of(
        load_scenario("quickstart", overrides=at(server="ssh://b", mobile="ssh://c", links="ssh://c"))
    )
    assert placement.emulator == Machine("ssh://c")
    assert placement.hosts == {Machine("ssh://b"): ["server"]}
    assert [machine.text for machine in placement.machines] == ["ssh://b", "ssh://c"]
    assert placement.key_of(Machine("ssh://c")) == "links.at"


def test_a_scenario_without_machines_is_here() -> None:
    placement = placement_of(load_scenario("quickstart"))
    assert placement.is_here
    assert not list(placement.machines)
