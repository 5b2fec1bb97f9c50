"""Header compression and octet stuffing: tables, totals, the story, and the cell."""

from __future__ import annotations

from pathlib import Path

import pytest

import lasthop
from lasthop.errors import InputError
from lasthop.explanation import explain


def test_the_table_packets_has_the_size_on_the_wire_and_the_form_of_the_headers(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    result = lasthop.run_to_folder(lasthop.load_scenario("header-compression"), folder)
    rows = [row for row in result.table("packets").to_pylist() if row["direction"] == "down" and row["wire_bytes"]]
    (down,) = (link for link in result.summary["links"] if link["direction"] == "down")
    assert sum(row["wire_bytes"] for row in rows) == down["wire"]["wire_bytes"]
    assert sum(row["headers"] == "compressed" for row in rows) == down["wire"]["compressed"]
    assert sum(row["rule"] == "decompressor" for row in rows) == down["wire"]["decompressor_drops"] > 0
    compressed = [row["wire_bytes"] - row["len"] for row in rows if row["headers"] == "compressed"]
    assert min(compressed) == 8 + 3, "the frame, and three bytes for forty"


def test_without_compression_there_are_no_such_columns(tmp_path: Path) -> None:
    scenario = lasthop.load_scenario("lossy-path", overrides=['record.tables=["packets"]'])
    result = lasthop.run_to_folder(scenario, tmp_path / "run")
    assert "wire_bytes" not in result.table("packets").column_names
    assert all("wire" not in link for link in result.summary["links"])


def test_the_story_reports_since_which_packet_a_decompressor_is_out_of_step(tmp_path: Path) -> None:
    (explained,) = explain(lasthop.run_to_folder(lasthop.load_scenario("header-compression"), tmp_path / "run"))
    assert any("discarded: decompressor out of step since packet #" in event.text for event in explained.events)


@pytest.mark.parametrize(
    ("override", "key", "remedy"),
    [
        ('links.lasthop.down.framing="0 bytes"', "links.lasthop.down.stuffing", "add framing"),
        ("links.lasthop.down.compression.vj.slots=300", "links.lasthop.down.compression.vj.slots", "write 1 to 256"),
        ('links.lasthop.down.stuffing.accm="all"', "links.lasthop.down.stuffing.accm", "0x000a0000"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_key_and_a_remedy(override: str, key: str, remedy: str) -> None:
    with pytest.raises(InputError) as refused:
        lasthop.load_scenario("header-compression", overrides=[override])
    assert refused.value.key == key
    assert remedy in str(refused.value)
