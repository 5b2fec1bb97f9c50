"""`lasthop convert`: files of earlier versions in the form of this one, with their comments."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import lasthop
from command import Lasthop

OLD: Final = """\
# A download of 2008.
name = "old"                    # its name
[hosts]
server = { profile = "./sender.toml" }
mobile = { profile = "sack-6675", tcp = { ack = { algorithm = "every-segment" } } }

[[flows]]
name = "download"
from = "server"
to = "mobile"
bytes = "60 kB"

[[links]]
name = "lasthop"
between = ["server", "mobile"]
down = { rate = "1 Mbit/s", propagation = "50 ms" }
up = { rate = "1 Mbit/s", propagation = "50 ms" }
"""

OLD_PROFILE: Final = """\
summary = "a sender"
sources = ["these tests"]
extends = "sack-6675"

# growth
[congestion]
algorithm = "window-usage"      # RFC 7661

[congestion.over]
algorithm = "cubic"
beta = 0.6                      # slower

[rto]
algorithm = "linux"
"""

NEW_PROFILE: Final = """\
summary = "a sender"
sources = ["these tests"]
extends = "sack-6675"

# growth
[congestion.window-usage]  # RFC 7661

[congestion.window-usage.over.cubic]
beta = 0.6                      # slower

[rto.linux]
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The folder of a scenario and of its profile, both of an earlier version."""
    (tmp_path / "old.toml").write_text(OLD)
    (tmp_path / "sender.toml").write_text(OLD_PROFILE)
    return tmp_path


def test_converted_files_keep_their_comments_and_mean_the_same(lasthop: Lasthop, old: Path) -> None:
    ended = lasthop("convert", ".", "--in-place")
    assert ended.status == 0, ended.err
    assert (old / "sender.toml").read_text() == NEW_PROFILE
    scenario = (old / "old.toml").read_text()
    assert scenario == OLD.replace('{ algorithm = "every-segment" }', '"every-segment"')
    assert lasthop("run", "old.toml").status == 0


def test_without_in_place_the_file_stays_and_the_new_one_is_beside_it(lasthop: Lasthop, old: Path) -> None:
    assert lasthop("convert", "sender.toml").status == 0
    assert (old / "sender.toml").read_text() == OLD_PROFILE
    assert (old / "sender.converted.toml").read_text() == NEW_PROFILE
    again = lasthop("convert", "sender.toml")
    assert again.status == 2
    assert "is not overwritten" in again.err


def test_check_names_the_files_and_writes_nothing(lasthop: Lasthop, old: Path) -> None:
    (old / "base.toml").write_text(NEW_PROFILE)
    ended = lasthop("convert", ".", "--check")
    assert ended.status == 1
    assert ended.out.split() == ["old.toml", "sender.toml"]
    assert (old / "old.toml").read_text() == OLD
    assert lasthop("convert", "base.toml", "--check").status == 0


def test_nothing_is_written_if_one_file_cannot_be_converted(lasthop: Lasthop, old: Path) -> None:
    (old / "worse.toml").write_text('ack = {\n  # why\n  algorithm = "linux"\n}\n')
    ended = lasthop("convert", ".", "--in-place")
    assert ended.status == 2
    assert "worse.toml: a choice of an earlier version" in ended.err
    assert (old / "old.toml").read_text() == OLD


@pytest.mark.parametrize(
    ("content", "what"),
    [(b"= 1", "this is not TOML"), (b"name = '\xff'", "is no text in UTF-8"), (None, "no such file or folder")],
)
def test_what_is_no_such_file_is_said(lasthop: Lasthop, tmp_path: Path, content: bytes | None, what: str) -> None:
    if content is not None:
        (tmp_path / "mine.toml").write_bytes(content)
    ended = lasthop("convert", "mine.toml")
    assert ended.status == 2
    assert f"mine.toml: {what}" in ended.err or f"mine.toml:1: {what}" in ended.err


def test_what_a_converted_scenario_still_has_wrong_is_reported(lasthop: Lasthop, old: Path) -> None:
    (old / "old.toml").write_text(OLD.replace("ack = {", 'window = { size = "64 kB" }, ack = {'))
    ended = lasthop("convert", ".", "--in-place")
    assert ended.status == 1
    assert "old.toml" in ended.err
    assert "window" in ended.err


def test_files_of_this_version_are_left_as_they_are(lasthop: Lasthop, old: Path) -> None:
    assert lasthop("convert", ".", "--in-place").status == 0
    before = {file: file.stat().st_mtime_ns for file in old.iterdir()}
    ended = lasthop("convert", ".", "--in-place")
    assert ended.status == 0
    assert "2 files read, 0 converted" in ended.err
    assert {file: file.stat().st_mtime_ns for file in old.iterdir()} == before
    assert congestion_control_in(old) == "cubic"


def congestion_control_in(folder: Path) -> str:
    """Return the innermost congestion control of the converted sender, as a run has it."""
    scenario = lasthop.load_scenario(folder / "old.toml")
    (server,) = [host for host in scenario.specification["hosts"] if host["name"] == "server"]
    return str(next(iter(server["tcp"]["congestion"]["window-usage"]["over"])))
