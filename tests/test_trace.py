"""`lasthop trace`: a link's capacity in Mahimahi's format, and back into a link."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Lasthop

SCENARIO = """
hosts = { server = { profile = "sack-6675" }, mobile = { profile = "sack-6675" } }
flows = [{ name = "download", from = "server", to = "mobile", bytes = "10 kB" }]
[[links]]
name = "lasthop"
between = ["server", "mobile"]
up = {}
[links.down]
propagation = "25 ms"
"""
SCHEDULE = """capacity = { schedule = { repeat = "4 s", steps = [
    { at = "0 s", rate = "12 Mbit/s" }, { at = "1 s", rate = "0 bit/s" }, { at = "2 s", rate = "1 Mbit/s" }] } }
"""


def test_a_trace_that_a_link_replays_is_the_same_trace_again(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "first.toml").write_text(SCENARIO + SCHEDULE)
    written = lasthop("trace", "first.toml", "lasthop.down", "--for", "20", "--out", "capacity.trace")
    assert (written.status, written.out) == (0, "")
    text = (tmp_path / "capacity.trace").read_text()
    times = [int(line) for line in text.splitlines()]
    assert times == sorted(times)
    # In each round of 4 s: a thousand packets in the first second, none in the second, 1 Mbit/s in the others.
    assert [sum(start <= time < start + 1000 for time in times) for start in (0, 1000, 2000)] == pytest.approx(
        [1000, 0, 83], abs=2
    )
    (tmp_path / "second.toml").write_text(SCENARIO + 'capacity = { trace = { path = "capacity.trace" } }\n')
    again = lasthop("trace", "second.toml", "lasthop.down", "--for", f"{times[-1] / 1000}")
    assert again.out == text


def test_a_random_link_gives_the_trace_of_its_seed(lasthop: Lasthop) -> None:
    def trace(seed: int) -> str:
        return lasthop("trace", "spikes", "lasthop.down", "--for", "30", "--seed", seed).out

    assert trace(1) == trace(1) != trace(2)


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("lasthop", "no direction of a link"),
        ("lashop.down", 'did you mean "lasthop"'),
        ("lasthop.up", "without a rate"),
    ],
)
def test_a_link_that_has_no_trace_is_said(lasthop: Lasthop, tmp_path: Path, link: str, said: str) -> None:
    (tmp_path / "first.toml").write_text(SCENARIO + SCHEDULE)
    ended = lasthop("trace", "first.toml", link)
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err


def test_a_trace_shorter_than_a_packet_is_said(lasthop: Lasthop) -> None:
    ended = lasthop("trace", "quickstart", "lasthop.down", "--for", "0.001")
    assert ended.status == 2
    assert "--for" in ended.err
