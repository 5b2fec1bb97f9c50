"""Output that all commands share: lines, tables, one JSON object, errors and remarks.

Rich takes longer to load than a small run takes. So lines and tables that fit are written here; Rich folds the tables
that are wider than the terminal, and draws what moves (`progress`, `router`).
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO

import click

from lasthop.cli.table import Table

if TYPE_CHECKING:
    from rich.console import Console

Style = Literal["", "bold", "dim", "bold red", "bold yellow"]

NO_WIDTH: Final = 10_000
"""Columns of a file or a pipe, where nothing is folded."""


def a_number(_context: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    """Refuse nan, which no bound of a range excludes."""
    if value is not None and isnan(value):
        raise click.BadParameter("nan is not a number.")
    return value


def complain(message: str) -> None:
    """Print an error on standard error."""
    _write(f"{_styled('error: ', 'bold red', sys.stderr)}{harmless(message)}", sys.stderr)


def warn(message: str) -> None:
    """Print a warning about the result on standard error."""
    _write(f"{_styled('warning: ', 'bold yellow', sys.stderr)}{harmless(message)}", sys.stderr)


def remark(message: str) -> None:
    """Print a line on standard error that is not part of the result."""
    _write(harmless(message), sys.stderr)


def print_line(text: str = "", style: Style = "") -> None:
    """Print a line of the result on standard output; a style is shown on terminals only."""
    _write(_styled(harmless(text), style, sys.stdout), sys.stdout)


def print_json(value: object) -> None:
    """Print one JSON object on standard output, and nothing else."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    _write(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text), sys.stdout)


def print_table(title: str | None, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows below a header line; columns with a number are right-aligned, others left-aligned. None is a dash."""
    cells = [list(row) for row in rows]
    table = Table(title and plain(title), [plain(column) for column in columns], cells, lambda cell: plain(shown(cell)))
    if not table.fits(width()):
        rich_console(sys.stdout).print(table.to_rich())
        return
    for line in table.head():
        print_line(line, "bold")
    for line in table.body():
        print_line(line)


def shown(cell: object) -> str:
    """Return the text of a table cell: two decimals below 1000, none above, and a dash for None."""
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:.2f}" if abs(cell) < 1000 else f"{cell:,.0f}".replace(",", " ")
    return str(cell)


def harmless(text: str) -> str:
    """Return the text with its control characters as escapes (`\\x1b`), except the line feed and the tabulator.

    Names of files, comments of captures and answers of servers are a stranger's, and a terminal obeys what is in them.
    """
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def plain(text: str) -> str:
    """Return the text of one line: as `harmless`, with line feeds and tabulators as escapes, too."""
    return harmless(text).replace("\n", "\\n").replace("\t", "\\t")


def width() -> int:
    """Return the columns of the terminal on standard output; `NO_WIDTH` where that is none."""
    return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else NO_WIDTH


def rich_console(stream: TextIO) -> Console:
    """Return Rich's console on a stream."""
    from rich.console import Console

    columns = None if stream.isatty() else NO_WIDTH
    return Console(file=stream, highlight=False, markup=False, soft_wrap=True, width=columns)


def _write(line: str, stream: TextIO) -> None:
    stream.write(f"{line}\n")
    stream.flush()


def _styled(text: str, style: Style, stream: TextIO) -> str:
    """Return the text with the style's ANSI codes, on a terminal that has them."""
    if not style or not stream.isatty() or os.environ.get("TERM") in {"dumb", "unknown"}:
        return text
    names = [name for name in style.split() if name not in _COLOURS or not os.environ.get("NO_COLOR")]
    return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m" if text else text


_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""C0 and C1 (ECMA-48, 5.2 and 5.3) and DEL."""
_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "yellow": "33"}
"""Parameters of SGR (ECMA-48, 8.3.117)."""
_COLOURS: Final = frozenset({"red", "yellow"})
"""Left out where the environment has NO_COLOR (no-color.org)."""
