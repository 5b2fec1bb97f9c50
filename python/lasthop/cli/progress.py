"""Progress of longer work, on standard error if that is a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from lasthop.cli.console import harmless, rich_console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOWN_AFTER_S: Final = 0.3
"""Seconds of work before anything is shown, and Rich is loaded."""


class ProgressLine:
    """A context manager that shows the progress of some work, as a bar or as the amount done."""

    def __init__(self, description: str, unit: str, total: float | None = None, *, has_bar: bool = True) -> None:
        self._description = description
        self._unit = unit
        self._total = total
        self._has_bar = has_bar
        self._shown: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        self._begun = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown[0].stop()

    def update(self, done: float, total: float | None = None) -> None:
        """Show the amount done; `total` replaces the total if it is known only now."""
        self._total = self._total if total is None else total
        if self._shown is None and sys.stderr.isatty() and time.monotonic() - self._begun > SHOWN_AFTER_S:
            self._shown = self._start()
        if self._shown is not None:
            progress, task = self._shown
            progress.update(task, completed=done, total=self._total)

    def _start(self) -> tuple[Progress, TaskID]:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        amount = "{task.completed:.0f}/{task.total:.0f} " if self._has_bar else "{task.completed:.0f} "
        columns = [BarColumn(bar_width=30)] if self._has_bar else []
        progress = Progress(
            TextColumn("{task.description}", markup=False),
            *columns,
            TextColumn(amount + self._unit, markup=False),
            TimeElapsedColumn(),
            console=rich_console(sys.stderr),
            transient=True,
        )
        progress.start()
        return progress, progress.add_task(harmless(self._description), total=self._total)
