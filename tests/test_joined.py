"""Captures of both ends joined, and of the sender alone: verdicts on retransmissions, held against the run's records.

Some connections of each kind stand for a thousand; LASTHOP_CONNECTIONS=1000 runs as many.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lasthop
from command import Lasthop
from lasthop.joining import Joined, join, views_of
from lasthop.joining.clocks import compare, lower_hull
from lasthop.joining.joined import join_two
from lasthop.joining.views import View, positions
from lasthop.results import Run, open_run
from lasthop.scenario import parse_scenario

CONNECTIONS = int(os.environ.get("LASTHOP_CONNECTIONS", "60"))
PROFILES = ("sack-6675", "linux-6", "newreno", "freebsd-14")


def scenario(number: int) -> str:
    """Return a path with random loss, delay and reordering, from a number."""
    draw = random.Random(number)
    trouble = [
        f'errors = {{ effect = "drop", probability = {draw.choice([0.002, 0.01, 0.03])} }}',
        f'errors = {{ effect = "delay", probability = 0.01, delay = "{draw.randint(100, 2000)} ms" }}',
        f'reordering = {{ probability = 0.02, delay = "{draw.randint(20, 200)} ms" }}',
        f'spikes = {{ interval = "{draw.randint(2, 6)} s", length = "{draw.randint(300, 3000)} ms" }}',
        f'dropper = {{ probability = 0.01 }}\npropagation = {{ uniform = ["20 ms", "{draw.randint(21, 60)} ms"] }}',
    ]
    chosen = trouble[number % len(trouble)]
    propagation = "" if "propagation" in chosen else f'propagation = "{draw.randint(2, 100)} ms"'
    return f"""
name = "case-{number}"
seed = {number}
flows = [{{ name = "download", from = "server", to = "mobile", bytes = "{draw.randint(100, 600)} kB" }}]
[hosts]
server = {{ profile = "{PROFILES[number // len(trouble) % len(PROFILES)]}" }}
mobile = {{ profile = "{PROFILES[number // len(trouble) % len(PROFILES)]}" }}
[[links]]
name = "lasthop"
between = ["server", "mobile"]
[links.up]
rate = "1 Mbit/s"
propagation = "{draw.randint(2, 100)} ms"
dropper = {{ probability = {draw.choice([0.0, 0.01])} }}
[links.down]
rate = "{draw.choice([1, 2, 5])} Mbit/s"
queue = {{ limit = "{draw.randint(8, 60)} packets" }}
{propagation}
{chosen}
[record]
tables = ["segments"]
captures = ["server", "mobile"]
"""


def captures(run: Run, folder: Path) -> tuple[Path, Path]:
    """Write the captures of both ends into files of their own."""
    for point in ("server", "mobile"):
        (folder / f"{point}.pcapng").write_bytes(run.captures[point])
    return folder / "server.pcapng", folder / "mobile.pcapng"


def truth(run: Run) -> dict[tuple[int, int], bool]:
    """Return the records' verdict on each retransmission of the sender, by time and number."""
    rows = run.table("segments").to_pylist()
    first = min(row["time_ns"] for row in rows)
    sent = [row for row in rows if row["retransmission"] and row["direction"] == "sent" and row["len"] > 0]
    return {(row["time_ns"] - first, row["seq"]): row["needless"] for row in sent}


def by_both(joined: Joined) -> dict[tuple[int, int], bool | None]:
    crossing, time = joined.forward, joined.near.time
    place = {int(row): number for number, row in enumerate(crossing.rows)}
    return {
        (int(time[row] - time.min()), int(crossing.position[place[row]])): verdict
        for row, verdict in crossing.needless.items()
    }


def by_sender(joined: Joined) -> dict[tuple[int, int], bool | None]:
    view, rows = joined.near, joined.forward.rows
    position = positions(view.seq[rows])
    return {
        (int(view.time[row] - view.time.min()), int(place - position[0])): view.needless[row]
        for row, place in zip(rows, position, strict=True)
        if view.retransmission[row]
    }


def test_verdicts_of_both_ends_are_the_records_and_the_sender_s_nearly(tmp_path: Path) -> None:
    right: Counter[str] = Counter()
    for number in range(CONNECTIONS):
        run = lasthop.run(parse_scenario(scenario(number)))
        server, mobile = captures(run, tmp_path)
        (joined,) = join([*views_of(server), *views_of(mobile)])
        both, alone = by_both(joined), by_sender(joined)
        for key, needless in truth(run).items():
            right["all"] += 1
            right["both"] += both.get(key) is needless
            right["alone"] += alone.get(key) is needless
    print(dict(right), f"{CONNECTIONS} connections")
    assert right["all"] > CONNECTIONS
    assert right["both"] >= 0.99 * right["all"], right
    assert right["alone"] >= 0.9 * right["all"], right


def as_merged(view: View, within_ns: int) -> View:
    """Return the view of a host whose card cuts and merges segments, so that one packet of several is captured."""
    begun, length, full = 0, view.length.copy(), view.length.max()
    begins = np.ones(len(view.time), dtype=bool)
    for row in range(1, len(view.time)):
        same = ("from_opener", "ack", "timestamp", "retransmission")
        follows = (
            all(getattr(view, name)[row] == getattr(view, name)[begun] for name in same)
            and view.length[row] > 0
            and view.length[row - 1] == full
            and view.seq[row] == view.seq[begun] + length[begun]
            and view.identification[row] == (view.identification[begun] + row - begun) % (1 << 16)
            and view.time[row] - view.time[begun] <= within_ns
        )
        if follows:
            length[begun] += view.length[row]
            begins[row] = False
        else:
            begun = row
    kept = np.flatnonzero(begins)
    changed: dict[str, Any] = {"length": length[kept]}
    changed |= {name: [getattr(view, name)[row] for row in kept] for name in ("sack", "needless")}
    arrays = {name: value[kept] for name, value in vars(view).items() if isinstance(value, np.ndarray)}
    return replace(view, **{**arrays, **changed})


def test_packets_that_cards_cut_and_merge_are_joined_segment_by_segment(tmp_path: Path) -> None:
    right = judged = merged = 0
    for number in range(CONNECTIONS // 3):
        run = lasthop.run(parse_scenario(scenario(number)))
        ((server,), (mobile,)) = (views_of(path) for path in captures(run, tmp_path))
        near, far = as_merged(server, 0), as_merged(mobile, 10_000_000)
        merged += len(server.time) - len(near.time) + len(mobile.time) - len(far.time)
        crossing, records = join_two(near, far).forward, truth(run)
        place = {int(row): number for number, row in enumerate(crossing.rows)}
        for row, verdict in crossing.needless.items():
            at, start = int(near.time[row] - near.time.min()), int(crossing.position[place[row]])
            end = start + int(crossing.length[place[row]])
            whole = [needless for (time, seq), needless in records.items() if time == at and start <= seq < end]
            judged += 1
            right += verdict is all(whole)
    print(right, judged, merged)
    assert merged > CONNECTIONS
    assert right >= 0.99 * judged


def test_losses_are_located_and_counted_as_the_link_counts_them(tmp_path: Path) -> None:
    run = lasthop.run(parse_scenario(scenario(0)))
    (joined,) = join([view for path in captures(run, tmp_path) for view in views_of(path)])
    for crossing, direction in ((joined.forward, "down"), (joined.backward, "up")):
        (link,) = [link for link in run.summary["links"] if link["direction"] == direction]
        assert int(np.count_nonzero(crossing.lost)) == link["packets_in"] - link["packets_out"]


@pytest.mark.parametrize(("offset", "skew"), [(0.25, 0.0), (-3.0, 80e-6), (120.0, -200e-6)])
def test_offset_and_skew_of_a_clock_are_found_under_the_queue_s_delays(offset: float, skew: float) -> None:
    draw = np.random.default_rng(7)
    at = np.sort(draw.uniform(0.0, 60.0, 4000))
    queue = draw.exponential(0.05, 4000) * (draw.random(4000) < 0.95)
    forward = (at, 0.04 + queue + offset + skew * at)
    backward = (at, -(0.04 + draw.exponential(0.001, 4000)) + offset + skew * at)
    found = compare(forward, backward, "auto")
    assert found.skew == pytest.approx(skew, abs=3e-6)
    assert found.offset_s == pytest.approx(offset, abs=0.001)


def test_the_lower_hull_is_what_no_point_lies_below() -> None:
    x, y = np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 0.0, 2.0, 1.0])
    assert lower_hull(x, y).tolist() == [0, 2, 4]


def test_the_command_joins_two_files(lasthop: Lasthop, tmp_path: Path) -> None:
    from lasthop import run

    server, mobile = captures(run(parse_scenario(scenario(5))), tmp_path)
    shown = lasthop("analyze", server, mobile)
    assert shown.status == 0
    assert "Both ends joined" in shown.out
    (joined,) = lasthop("analyze", server, mobile, "--json").json["joined"]
    assert joined["forward"]["lost"] == len(joined["forward"]["losses"]) > 0
    assert "joined" not in lasthop("analyze", server, "--json").json


def test_joined_captures_become_a_result_that_every_command_reads(lasthop: Lasthop, tmp_path: Path) -> None:
    from lasthop import run

    whole = run(parse_scenario(scenario(5)))
    server, mobile = captures(whole, tmp_path)
    ended = lasthop("analyze", server, mobile, "--out", "both")
    assert ended.status == 0, ended.err
    result = open_run(tmp_path / "both")
    (down,) = [link for link in result.summary["links"] if link["direction"] == "down"]
    (known,) = [link for link in whole.summary["links"] if link["direction"] == "down"]
    assert down["packets_in"] - down["packets_out"] == down["lost"] == known["packets_in"] - known["packets_out"]
    for name in ("segments", "packets"):
        assert "path" in result.table("packets")["link"].to_pylist()
        assert not {"null", "uint64"} & {str(field.type) for field in result.table(name).schema}
    verdicts = [row["needless"] for row in result.table("segments").to_pylist() if row["why"] == "both_ends"]
    flow = whole.summary["flows"][0]
    assert len(verdicts) == flow["retransmissions"]
    assert (
        sum(verdicts)
        == flow["unnecessary_retransmissions"]
        == result.summary["flows"][0]["unnecessary_retransmissions"]
    )
    assert "lost" in lasthop("explain", "both").out
    assert lasthop("plot", "both", "time-sequence", "--out", "both.svg").status == 0
    assert lasthop("plot", "both", "delay", "--out", "delay.svg").status == 0
    assert lasthop("report", "both", "--out", "both.html").status == 0
    assert lasthop("compare", "both", "both").status == 0


def test_captures_of_one_end_are_not_joined(lasthop: Lasthop, tmp_path: Path) -> None:
    from lasthop import run

    server, _ = captures(run(parse_scenario(scenario(5))), tmp_path)
    again = tmp_path / "again.pcapng"
    again.write_bytes(server.read_bytes())
    shown = lasthop("analyze", server, again)
    assert "Both ends joined" not in shown.out
    assert "captured at the same end each time, and are not joined: 1" in shown.err
    ended = lasthop("analyze", server, again, "--out", "both")
    assert ended.status == 2
    assert "taken at the same end of each connection that they have in common (1)" in ended.err


def test_captures_of_other_connections_are_no_result(lasthop: Lasthop, tmp_path: Path) -> None:
    from lasthop import run

    server, _ = captures(run(parse_scenario(scenario(5))), tmp_path)
    other = tmp_path / "other.pcapng"
    renamed = scenario(5).replace("mobile", "tablet")
    other.write_bytes(run(parse_scenario(renamed)).captures["tablet"])
    ended = lasthop("analyze", server, other, "--out", "both")
    assert ended.status == 2
    assert "no connection in common" in ended.err
