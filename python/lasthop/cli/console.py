"""What every command prints alike: errors, remarks, one JSON object, tables, progress."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

stderr = Console(stderr=True, highlight=False, soft_wrap=True)
stdout = Console(highlight=False, soft_wrap=True)


def complain(message: str) -> None:
    """Say on standard error what went wrong."""
    stderr.print(Text.assemble(("error: ", "bold red"), message))


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
    # A file or a pipe has no width; a table is never cut there.
    width = stdout.width if stdout.is_terminal else 10_000
    stdout.print(table, width=width, no_wrap=True, overflow="ignore", crop=False)


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
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.completed:.0f}/{task.total:.0f} " + unit),
        TimeElapsedColumn(),
        console=stderr,
        disable=not stderr.is_terminal,
        transient=True,
    )
