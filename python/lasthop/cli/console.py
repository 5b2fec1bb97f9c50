"""What every command prints alike: errors, remarks, one JSON object, tables, progress."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from math import isnan
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

stderr = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
# A file or a pipe has no width: nothing is cut or wrapped there.
stdout = Console(highlight=False, markup=False, soft_wrap=True, width=None if sys.stdout.isatty() else 10_000)


def a_number(_context: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    """Refuse nan, which lies in every range as far as comparisons tell."""
    if value is not None and isnan(value):
        raise click.BadParameter("nan is not a number.")
    return value


def complain(message: str) -> None:
    """Say on standard error what went wrong."""
    stderr.print(Text.assemble(("error: ", "bold red"), message))


def warn(message: str) -> None:
    """Say on standard error what a reader of the result should know."""
    stderr.print(Text.assemble(("warning: ", "bold yellow"), message))


def remark(message: str) -> None:
    """Say something on standard error that is not a result."""
    stderr.print(Text(message))


def print_json(value: object) -> None:
    """Print one JSON object on standard output, and nothing else."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()


def print_table(title: str | None, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows under a head line; numbers stand right, words left. None is shown as a dash."""
    held = [list(row) for row in rows]
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False)
    for place, column in enumerate(columns):
        numeric = any(isinstance(row[place], int | float) for row in held)
        table.add_column(column, justify="right" if numeric else "left")
    for row in held:
        table.add_row(*(Text(shown(cell)) for cell in row))
    stdout.print(table)


def shown(cell: object) -> str:
    """Return a table cell's text. Figures carry as many digits as their size can use."""
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:.2f}" if abs(cell) < 1000 else f"{cell:,.0f}".replace(",", " ")
    return str(cell)


def progress_bar(unit: str) -> Progress:
    """Return a progress bar on standard error; silent where that is not a terminal."""
    return _progress(BarColumn(bar_width=30), TextColumn("{task.completed:.0f}/{task.total:.0f} " + unit))


def progress_line() -> Progress:
    """Return the same for a run, whose end nobody knows: how much of its time has passed."""
    return _progress(TextColumn("{task.completed:.0f} s of the run"))


def _progress(*columns: ProgressColumn) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        *columns,
        TimeElapsedColumn(),
        console=stderr,
        disable=not stderr.is_terminal,
        transient=True,
    )
