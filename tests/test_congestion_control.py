"""The congestion control of a captured sender, named by the shape of its window."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lasthop
from command import Lasthop
from lasthop import congestion_control
from lasthop.analysis import analyze_to_folder
from lasthop.congestion_control import FARTHEST, FEATURES, SIGNATURES, UNKNOWN, of_sender

SCENARIO = """
name = "transfer"
stop = "60 s"
hosts = {{ server = {{ profile = "{profile}" }}, client = {{ profile = "linux-6"{client} }} }}
flows = [{{ name = "bulk", from = "server", to = "client", until = "60 s" }}]
[[links]]
name = "path"
between = ["server", "client"]
down = {{ rate = "15 Mbit/s", propagation = "30 ms", queue = {{ limit = "75 packets" }} }}
up = {{ rate = "15 Mbit/s", propagation = "30 ms" }}
[record]
captures = ["server", "client"]
tables = []
"""


def captured(folder: Path, profile: str, client: str = "") -> Mapping[str, Path]:
    """Run a transfer over a path over which nothing was learnt; return its captures."""
    file = folder / "transfer.toml"
    file.write_text(SCENARIO.format(profile=profile, client=client))
    return lasthop.run_to_folder(lasthop.load_scenario(file), folder / "out").captures


def control_of(capture: Path) -> dict[str, Any]:
    """Return the statement on the sender of a capture's one connection."""
    (connection,) = lasthop.analyze(capture).connections
    return dict(connection["senders"][connection["bulk_sender"]]["congestion_control"])


@pytest.mark.parametrize(
    ("profile", "control"), [("linux-6", "cubic"), ("bic", "bic"), ("linux-6-bbr", "bbr"), ("hybla", "hybla")]
)
def test_a_control_is_named_by_its_window(profile: str, control: str, tmp_path: Path) -> None:
    found = control_of(captured(tmp_path, profile)["server"])
    assert found["name"] == control
    assert found["probability"] > 0.5


def test_at_the_receiver_nothing_is_named(tmp_path: Path) -> None:
    found = control_of(captured(tmp_path, "linux-6")["client"])
    assert (found["name"], found["probability"]) == (UNKNOWN, 0.0)


def test_a_full_window_of_the_peer_hides_the_control(tmp_path: Path) -> None:
    small = ', tcp = { window = { fixed = { size = "32 KiB" } } }'
    found = control_of(captured(tmp_path, "linux-6", small)["server"])
    assert found["name"] == UNKNOWN
    assert "window was full" in found["reason"]


def test_a_short_connection_shows_nothing() -> None:
    assert of_sender(None, "sender").control == UNKNOWN


def test_a_window_that_met_neither_a_loss_nor_a_queue_shows_nothing() -> None:
    steady = {"variation": 0.0, "flat": 1.0, "dips": 0.0, "cycle": 0.0, "delay": 1.0, "longest_delay": 1.0, "fill": 0.0}
    changes = dict.fromkeys(("at_long_delay", "usual_at_long_delay"))
    steps = {"falls": 0.0, "fall_depth": 0.0, "deep_falls": 0.0, "at_short_delay": 0.0, "usual_at_short_delay": 0.0}
    shape = {"rounds": 30, "reductions": 0, "receiver_limited": 0.0, "growth": None}
    still = {**shape, "steady": steady, "steps": {**steps, **changes}}
    queued = {**still, "steady": {**steady, "longest_delay": 1.1}}
    assert of_sender(still, "sender").control == UNKNOWN
    assert of_sender(queued, "sender").control == "vegas"


def test_explain_states_the_control(tmp_path: Path) -> None:
    capture = captured(tmp_path, "linux-6-bbr")["server"]
    (found,) = lasthop.explain(analyze_to_folder(capture, tmp_path / "r"))
    assert any("congestion control probably bbr" in fact for fact in found.facts)


def test_every_known_control_has_runs_over_every_path() -> None:
    with SIGNATURES.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert set(rows[0]) == {"control", "path", *FEATURES}
    controls, paths = {row["control"] for row in rows}, {row["path"] for row in rows}
    assert len(controls) == 15
    assert len(paths) == 5
    assert {(row["control"], row["path"]) for row in rows} == {(one, path) for one in controls for path in paths}


def test_most_learnt_runs_are_nearer_than_the_bound_to_a_run_over_another_path() -> None:
    with SIGNATURES.open(newline="") as file:
        rows = list(csv.DictReader(file))
    paths = np.array([row["path"] for row in rows])
    nearest = []
    for row in rows:
        _, distances = congestion_control._distances([float(row[name] or "nan") for name in FEATURES])
        nearest.append(distances[paths != row["path"]].min())
    assert np.mean(np.array(nearest) <= FARTHEST) == pytest.approx(0.95, abs=0.015)


def test_no_guess_is_printed_as_certain(lasthop: Lasthop, tmp_path: Path) -> None:
    ended = lasthop("analyze", captured(tmp_path, "linux-6")["server"])
    assert "by the shape of the window: cubic, 1 of 1 connections (probability " in ended.out
    assert "100 %" not in ended.out
