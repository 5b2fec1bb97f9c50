"""Output of commands: tables written here equal Rich's, and Rich folds wider tables."""

from __future__ import annotations

import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasthop.cli import console
from lasthop.cli.console import print_json, print_line, print_table, rich_console, shown
from lasthop.cli.table import Table

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.floats(-1e6, 1e6),
    st.text("abc ±–é漢", max_size=12).map(str.strip),
)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    count = draw(st.integers(1, 5))
    columns = draw(st.lists(st.text("abcXYZ", min_size=1, max_size=9), min_size=count, max_size=count))
    rows = draw(st.lists(st.lists(CELLS, min_size=count, max_size=count), max_size=6))
    title = draw(st.one_of(st.none(), st.text("Table1", min_size=1, max_size=4)))
    return Table(title, columns, rows, shown)


@given(tables())
def test_a_table_that_fits_is_written_as_rich_would(table: Table) -> None:
    if not table.fits(console.NO_WIDTH):
        return
    drawn = io.StringIO()
    rich_console(drawn).print(table.to_rich())
    ours = [*table.head(), *table.body()]
    assert ours == [line.rstrip() for line in drawn.getvalue().splitlines()]


def test_a_table_wider_than_the_terminal_is_folded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "width", lambda: 30)
    monkeypatch.setattr(console, "NO_WIDTH", 30)
    print_table(None, ["name", "summary"], [["queue", "a summary of more than thirty columns"]])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 30


def test_styles_are_for_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    print_line("head", "bold")
    assert capsys.readouterr().out == "head\n"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_line("head", "bold")
    assert capsys.readouterr().out == "\x1b[1mhead\x1b[0m\n"


HOSTILE = "\x1b[31mred\x9b2J\n[bold]up\x07"
"""A name that a stranger chose: an escape sequence of C0 and one of C1, a line feed, Rich's markup, a bell."""


@pytest.mark.parametrize("columns", [30, 200])
def test_a_strangers_text_does_not_reach_the_terminal_raw(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    monkeypatch.setattr(console, "width", lambda: columns)
    monkeypatch.setattr(console, "NO_WIDTH", columns)
    print_table(HOSTILE, [HOSTILE, "n"], [[HOSTILE, 1]])
    print_line(HOSTILE.replace("\n", ""))
    print_json({HOSTILE: HOSTILE})
    out = capsys.readouterr().out
    assert not {letter for letter in out if not letter.isprintable()} - {"\n"}
    assert "[bold]" in out


def test_json_with_escaped_controls_is_read_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": HOSTILE})
    assert json.loads(capsys.readouterr().out) == {"name": HOSTILE}
