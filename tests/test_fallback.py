"""Two ends that do not understand each other agree on less, and the record says so."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from command import Lasthop

SCENARIO = """
[hosts]
server = {{ profile = "{server}" }}
mobile = {{ profile = "{mobile}" }}

[[links]]
name = "lasthop"
between = ["server", "mobile"]
down = {{ rate = "2 Mbit/s", propagation = "50 ms" }}
up = {{ rate = "2 Mbit/s", propagation = "50 ms" }}

[[flows]]
name = "download"
from = "server"
to = "mobile"
bytes = "50 kB"

[record]
tables = ["tcp"]
"""


@pytest.mark.parametrize(
    ("server", "mobile", "who", "why"),
    [
        ("2w", "sack-6675", "server", "the peer does not poll: delayed ACKs"),
        ("sack-6675", "2w", "mobile", "the peer does not poll: delayed ACKs"),
        ("sack-ecn", "sack-6675", "server", "the peer does not react to congestion marks: none"),
        ("eifel", "newreno", "server", "the peer gives no timestamps: no detection"),
    ],
)
def test_the_record_says_what_an_end_goes_without(
    lasthop: Lasthop, tmp_path: Path, server: str, mobile: str, who: str, why: str
) -> None:
    file = tmp_path / "run.toml"
    file.write_text(SCENARIO.format(server=server, mobile=mobile))
    assert lasthop("run", str(file), "--out", str(tmp_path / "out")).status == 0
    rows = pq.read_table(tmp_path / "out" / "tcp.parquet").to_pylist()
    fallbacks = {(row["host"], row["reason"]) for row in rows if row["event"] == "fallback"}
    # A peer without SACK makes itself known as well, by another reason.
    assert fallbacks - {("server", "the peer does not permit SACK: NewReno")} == {(who, why)}


def test_two_ends_that_poll_and_answer_need_no_fallback(lasthop: Lasthop, tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(SCENARIO.format(server="4w", mobile="2w"))
    assert lasthop("run", str(file), "--out", str(tmp_path / "out")).status == 0
    rows = pq.read_table(tmp_path / "out" / "tcp.parquet").to_pylist()
    assert not [row for row in rows if row["event"] == "fallback"]
