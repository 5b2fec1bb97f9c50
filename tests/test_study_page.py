"""`lasthop study all`: every study, and one page over them that needs no other file."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lasthop import catalogue
from lasthop.cli import study as command
from lasthop.errors import InputError
from lasthop.report.study_page import Chapter, page
from lasthop.report.study_pictures import draw_all_rows, draw_published
from lasthop.study import Study, load_study, run_study


def test_a_page_has_rows_claims_and_pictures_in_one_file(small_study: Path, tmp_path: Path) -> None:
    result = run_study(load_study(small_study), tmp_path / "r")
    assert [*draw_all_rows(result), *draw_published(result)]
    text = page([Chapter("small", result), Chapter("missing", None, "the program <ns> is not here")])
    assert text.count("<img ") == text.count('src="data:image/svg+xml;base64,') >= 2
    assert "the program &lt;ns&gt; is not here" in text
    assert "A delay takes time." in text
    assert '<a href="#small">' in text
    assert "http" not in text.replace("http://www.w3.org", "")


def test_study_all_goes_on_past_a_study_that_cannot_be_run(
    small_study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> list[Study]:
        if name == "broken":
            raise InputError("no such program")
        return [load_study(small_study)]

    entries = [catalogue.Entry(name, small_study, "") for name in ("broken", "small")]
    monkeypatch.setattr(catalogue, "entries", lambda _kind: entries)
    monkeypatch.setattr(command, "load_parts", load)
    ended = CliRunner().invoke(command.command, ["all", "--out", str(tmp_path / "all"), "--jobs", "1"])
    assert "not complete: broken" in str(ended.exception)
    text = (tmp_path / "all" / "index.html").read_text()
    assert "no such program" in text
    assert "A delay takes time." in text
    assert (tmp_path / "all" / "small" / "study.json").is_file()
