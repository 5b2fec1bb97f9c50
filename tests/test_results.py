"""Result folders: written whole or not at all, and only over what may be replaced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import Lasthop
from lasthop import load_scenario, run, run_to_folder
from lasthop.errors import InputError
from lasthop.plots import KINDS
from lasthop.results import Run, open_run, write_run
from lasthop.results.drawings import PICTURES
from lasthop.results.folder import whole_folder


def a_run(seed: int = 1) -> Run:
    summary = {"scenario": "small", "seed": seed, "clock": "virtual", "stopped_s": 1.0, "flows": [], "links": []}
    table = pa.table({"time_ns": [1, 2, 3], "host": ["a", "b", "a"]})
    return Run({"name": "small"}, "abc", summary, {"tcp": table}, {"lasthop": b"pcapng"})


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    write_run(a_run(), tmp_path / "result")
    result = open_run(tmp_path / "result")
    assert result.name == "small"
    assert result.table_names == ("tcp",)
    assert result.table("tcp")["host"].to_pylist() == ["a", "b", "a"]
    assert result.captures["lasthop"].read_bytes() == b"pcapng"
    assert result.specification == {"name": "small"}


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    contents = []
    for name in ("one", "two"):
        write_run(a_run(), tmp_path / name)
        contents.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert contents[0] == contents[1]


def test_an_earlier_result_is_replaced_whole(tmp_path: Path) -> None:
    write_run(a_run(1), tmp_path / "result")
    second = a_run(2)
    write_run(replace(second, tables={}), tmp_path / "result")
    assert open_run(tmp_path / "result").summary["seed"] == 2
    assert not (tmp_path / "result" / "tcp.parquet").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "result").mkdir()
    write_run(a_run(), tmp_path / "result")
    assert open_run(tmp_path / "result").name == "small"


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="not the result of a run") as raised:
        write_run(a_run(), tmp_path)
    assert "--out" in str(raised.value)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_incomplete_folder_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "tcp.parquet").write_bytes(b"half")
    for attempt in (lambda: write_run(a_run(), tmp_path), lambda: open_run(tmp_path)):
        with pytest.raises(InputError, match="incomplete"):
            attempt()


def test_a_result_that_lost_a_file_is_said_to_be_incomplete(tmp_path: Path) -> None:
    write_run(a_run(), tmp_path / "result")
    (tmp_path / "result" / "tcp.parquet").unlink()
    with pytest.raises(InputError, match=r"incomplete.*tcp\.parquet is missing"):
        open_run(tmp_path / "result")


def test_a_result_with_a_cut_file_is_said_to_be_incomplete(tmp_path: Path) -> None:
    write_run(a_run(), tmp_path / "result")
    path = tmp_path / "result" / "capture-lasthop.pcapng"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="has 5 bytes of 6"):
        open_run(tmp_path / "result")


def test_a_damaged_index_is_said_to_be_damaged(tmp_path: Path) -> None:
    write_run(a_run(), tmp_path / "result")
    (tmp_path / "result" / "run.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        open_run(tmp_path / "result")


def test_a_write_that_fails_leaves_the_earlier_result(tmp_path: Path) -> None:
    write_run(a_run(1), tmp_path / "result")
    with pytest.raises(ZeroDivisionError), whole_folder(tmp_path / "result") as partial:  # noqa: PT012
        (partial / "tcp.parquet").write_bytes(b"half")
        raise ZeroDivisionError
    assert open_run(tmp_path / "result").summary["seed"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


KILLED = """
import os, sys
from pathlib import Path
from lasthop.results.folder import whole_folder
with whole_folder(Path(sys.argv[1])) as partial:
    (partial / "tcp.parquet").write_bytes(b"half")
    os.kill(os.getpid(), 9)
"""


def test_a_write_that_fails_leaves_no_folder_above_it(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    target = tmp_path / "kept" / "above" / "result"
    with pytest.raises(ZeroDivisionError), whole_folder(target):
        raise ZeroDivisionError
    assert list(tmp_path.rglob("*")) == [tmp_path / "kept"]
    with whole_folder(target):
        pass
    assert target.is_dir()


def test_a_killed_writer_leaves_no_result_and_the_next_one_clears_up(tmp_path: Path) -> None:
    target = tmp_path / "result"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert killed.returncode == -9
    assert not target.exists()
    (left,) = tmp_path.iterdir()
    assert ".partial-" in left.name
    with pytest.raises(InputError, match="incomplete"):
        open_run(left)
    write_run(a_run(), target)
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


def test_a_living_writer_is_not_disturbed(tmp_path: Path) -> None:
    other = tmp_path / f".result.partial-{os.getppid()}"
    other.mkdir()
    write_run(a_run(), tmp_path / "result")
    assert other.is_dir()


def test_an_unknown_table_says_how_to_record_it(tmp_path: Path) -> None:
    write_run(a_run(), tmp_path / "result")
    with pytest.raises(InputError, match=r"record\.tables"):
        open_run(tmp_path / "result").table("packets")


def test_the_index_holds_what_made_the_result(tmp_path: Path) -> None:
    write_run(a_run(), tmp_path / "result")
    index = json.loads((tmp_path / "result" / "run.json").read_text())
    assert {"specification", "hash", "seed", "versions", "machine", "summary", "files"} <= index.keys()
    assert index["files"]["capture-lasthop.pcapng"]["bytes"] == 6


def test_what_lasthop_did_not_write_survives_a_new_result(lasthop: Lasthop, tmp_path: Path) -> None:
    assert lasthop("run", "quickstart", "--out", "r").status == 0
    (tmp_path / "r" / "note.txt").write_text("mine")
    (tmp_path / "r" / "pictures").mkdir()
    (tmp_path / "r" / "pictures" / "cwnd.svg").write_text("<svg/>")
    assert lasthop("run", "lossy-path", "--out", "r").status == 0
    assert (tmp_path / "r" / "note.txt").read_text() == "mine"
    assert (tmp_path / "r" / "pictures" / "cwnd.svg").read_text() == "<svg/>"
    assert json.loads((tmp_path / "r" / "run.json").read_text())["scenario"] == "lossy-path"
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_a_run_json_of_another_program_is_left_alone(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "run.json").write_text('{"format": "another", "files": {}}')
    ended = lasthop("run", "quickstart", "--out", "r")
    assert ended.status == 2
    assert "left alone" in ended.err
    assert "another" in (tmp_path / "r" / "run.json").read_text()


def test_a_run_that_is_written_as_it_goes_has_the_bytes_of_one_that_is_written_at_the_end(tmp_path: Path) -> None:
    overrides = ["flows.download.bytes=30 MB", "links.lasthop.down.rate=50 Mbit/s", 'record.captures=["lasthop"]']
    scenario = load_scenario("quickstart", overrides=overrides)
    run_to_folder(scenario, tmp_path / "going")
    write_run(run(scenario), tmp_path / "end")
    for written in (tmp_path / "going").iterdir():
        assert written.read_bytes() == (tmp_path / "end" / written.name).read_bytes(), written.name
    parts = pq.ParquetFile(tmp_path / "going" / "packets.parquet")
    assert parts.num_row_groups > 1


def test_a_table_in_parquet_is_the_table_in_memory(tmp_path: Path) -> None:
    scenario = load_scenario("lossy-path", overrides=['record.tables=["packets", "tcp", "queue", "segments"]'])
    kept = run(scenario)
    write_run(kept, tmp_path / "r")
    for name, table in kept.tables.items():
        assert pq.read_table(tmp_path / "r" / f"{name}.parquet").equals(table), name


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    write_run(run(load_scenario("quickstart")), tmp_path / "r")
    table = tmp_path / "r" / "packets.parquet"
    table.write_bytes(b"x" * table.stat().st_size)
    with pytest.raises(InputError, match=r"packets\.parquet: is damaged"):
        open_run(tmp_path / "r").table("packets")


def test_a_result_of_a_newer_format_is_refused_by_name(tmp_path: Path) -> None:
    write_run(run(load_scenario("quickstart")), tmp_path / "r")
    index = tmp_path / "r" / "run.json"
    index.write_text(index.read_text().replace("lasthop run 1", "lasthop run 9"))
    with pytest.raises(InputError, match=r"run\.json: is of the format 'lasthop run 9'"):
        open_run(tmp_path / "r")


def test_a_full_disk_is_reported_with_the_file(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "full.csv").symlink_to("/dev/full")
    ended = lasthop("trace", "rate-schedule", "lasthop.down", "--out", "full.csv")
    assert ended.status == 1
    assert "full.csv: No space left on device" in ended.err


def test_pictures_and_pages_of_the_old_result_go_with_it(lasthop: Lasthop, tmp_path: Path) -> None:
    assert lasthop("run", "quickstart", "--out", "r").status == 0
    for picture in (["cwnd"], ["rtt", "--format", "pdf"], ["box", "--format", "png"]):
        assert lasthop("plot", "r", *picture).status == 0
    assert lasthop("plot", "r", "delay", "--out", "r/kept.svg").status == 0
    assert lasthop("report", "r").status == 0
    (tmp_path / "r" / "queue.svg").write_text("<svg>drawn by hand</svg>")
    assert lasthop("run", "quickstart", "--seed", "2", "--out", "r").status == 0
    there = {path.name for path in (tmp_path / "r").iterdir()}
    assert not {"cwnd.svg", "rtt.pdf", "box.png", "report.html"} & there
    assert {"queue.svg", "kept.svg"} <= there


def test_every_kind_of_picture_of_a_run_is_known_by_name() -> None:
    assert set(PICTURES) == {kind.id for kind in KINDS if "rows" not in kind.needs}
