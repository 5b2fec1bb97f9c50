"""`lasthop new` and `lasthop show`: the first quarter of an hour."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Lasthop
from lasthop.catalogue import entries
from lasthop.scenario import load_scenario


def test_a_new_file_runs_as_it_is(lasthop: Lasthop, tmp_path: Path) -> None:
    written = lasthop("new", "my-lte", "--link", "lte")
    assert written.status == 0
    assert 'preset = "lte"' in (tmp_path / "my-lte.toml").read_text()
    ran = lasthop("run", "my-lte.toml", "--out", "result", "--set", "flows.download.bytes=100 kB")
    assert ran.status == 0
    assert lasthop("explain", "result").status == 0


@pytest.mark.parametrize("preset", [entry.name for entry in entries("presets")])
def test_every_link_makes_a_file(preset: str, tmp_path: Path, lasthop: Lasthop) -> None:
    del tmp_path
    assert lasthop("new", "mine", "--link", preset).status == 0


def test_a_link_of_ones_own_is_described_by_flags(lasthop: Lasthop, tmp_path: Path) -> None:
    flags = ["--rate", "2 Mbit/s", "--delay", "100 ms", "--queue", "20 packets", "--profile", "reno", "--flows", "3"]
    assert lasthop("new", "slow", *flags).status == 0
    text = (tmp_path / "slow.toml").read_text()
    assert 'rate = "2 Mbit/s", propagation = "100 ms", queue = { limit = "20 packets" }' in text
    assert "count = 3" in text


def test_a_limit_in_time_is_written_as_said_and_holds_over_a_presets(lasthop: Lasthop, tmp_path: Path) -> None:
    assert lasthop("new", "mine", "--rate", "2 Mbit/s", "--queue", "500 ms").status == 0
    assert lasthop("new", "other", "--link", "lte", "--queue", "500 ms").status == 0
    assert 'down = { queue = { limit = "500 ms" } }' in (tmp_path / "other.toml").read_text()
    assert load_scenario(tmp_path / "mine.toml").specification["links"][0]["down"]["queue"]["limit"] == "125 kB"


@pytest.mark.parametrize("options", [("--rate", "2 Mbit/s"), ("--delay", "9 ms")])
def test_a_preset_and_ones_own_rate_or_delay_exclude_each_other(lasthop: Lasthop, options: tuple[str, str]) -> None:
    ended = lasthop("new", "mine", "--link", "lte", *options)
    assert ended.status == 2
    assert "leave out --link" in ended.err


def test_nothing_is_overwritten_and_nothing_wrong_is_written(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("keep me")
    assert lasthop("new", "mine", "--link", "lte").status == 2
    assert (tmp_path / "mine.toml").read_text() == "keep me"
    wrong = lasthop("new", "other", "--rate", "fast")
    assert wrong.status == 2
    assert "fast" in wrong.err
    assert not (tmp_path / "other.toml").exists()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lte", "TS 36.321"),
        ("cubic", "RFC 9438"),
        ("codel", "RFC 8289"),
        ("web", "reads it"),
        ("sarolahti2000", "[[tables]]"),
    ],
)
def test_a_name_is_shown_with_its_source(name: str, says: str, lasthop: Lasthop) -> None:
    shown = lasthop("show", name)
    assert shown.status == 0
    assert says in shown.out


def test_a_name_of_several_things_shows_each(lasthop: Lasthop) -> None:
    shown = lasthop("show", "cubic").out
    assert "profile cubic" in shown
    assert "algorithm of congestion cubic" in shown


@pytest.mark.parametrize(
    ("name", "kind", "key", "value", "default"),
    [
        ("codel", "queues", "target", 'a duration like "200 ms"', '"5 ms"'),
        ("gilbert-elliott", "errors", "to_bad", "", None),
        ("square-wave", "capacities", "high", "", None),
        ("uniform", "distributions", "", "list of two", None),
        ("web", "workloads", "think", "see DurationDistribution", None),
        ("dumbbell", "topologies", "pairs", "whole number", None),
        ("proportional-fair", "schedulers", "", "", None),
        ("cubic", "algorithm of congestion", "beta", "", "0.7"),
        ("rack-tlp", "algorithm of recovery", "reduction", '"at-once"', None),
    ],
)
def test_a_member_of_a_registry_is_shown_with_its_keys(
    name: str, kind: str, key: str, value: str, default: str | None, lasthop: Lasthop
) -> None:
    found = {shown["kind"]: shown for shown in lasthop("show", name, "--json").json["found"]}
    parameters = {each["key"]: each for each in found[kind]["parameters"]}
    if key or value:
        assert value in parameters[key]["value"]
        assert default is None or parameters[key]["default"] == default
    assert all(each["meaning"] for each in parameters.values() if each["key"])


def test_the_keys_of_a_queue_are_printed_with_units_and_defaults(lasthop: Lasthop) -> None:
    shown = lasthop("show", "codel").out
    assert "interval" in shown
    assert '"100 ms"' in shown
    assert "RFC 8289" in shown


def test_every_name_of_every_list_is_shown() -> None:
    from lasthop import _native

    for each in (*json.loads(_native.algorithms()), *json.loads(_native.registries())):
        for entry in each["entries"]:
            parameters = json.loads(_native.parameters(entry["definition"]))
            assert all(parameter["value"] for parameter in parameters), entry["definition"]


def test_an_unknown_name_is_answered_with_the_nearest(lasthop: Lasthop) -> None:
    shown = lasthop("show", "cubik")
    assert shown.status == 2
    assert "cubic" in shown.err


def test_the_shell_completes_names_of_the_library() -> None:
    from click.shell_completion import ShellComplete

    from lasthop.cli import cli

    def completed(words: list[str], incomplete: str) -> list[str]:
        return [item.value for item in ShellComplete(cli, {}, "lasthop", "").get_completions(words, incomplete)]

    assert set(completed([], "exp")) == {"explain", "export"}
    assert "quickstart" in completed(["run"], "quick")
    assert "lte" in completed(["show"], "lt")
    assert "sarolahti2000" in completed(["study"], "sar")
