"""A bar of finished runs: in a notebook as its own output, elsewhere by Rich on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

Tick = Callable[[int, int], None]
"""Called with the number of finished runs, and the number of all runs."""


@contextmanager
def reporting(tick: Tick | None, *, progress: bool, words: str = "runs") -> Iterator[Tick]:
    """Yield the function to call after each run: the caller's; with `progress`, a function that also moves a bar."""
    own = tick or (lambda _done, _all: None)
    if not progress:
        yield own
        return
    with _in_notebook(words) if _is_notebook() else _in_terminal(words) as move:

        def both(done: int, of: int) -> None:
            move(done, of)
            own(done, of)

        yield both


def _is_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which IPython then has made."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")


@contextmanager
def _in_notebook(words: str) -> Iterator[Tick]:
    from IPython.display import display

    shown = display(_Bar(words, 0, 0), display_id=True)  # type: ignore[no-untyped-call]  # IPython's

    def move(done: int, of: int) -> None:
        shown.update(_Bar(words, done, of))

    yield move


class _Bar:
    """The bar as a notebook shows it, and as text."""

    def __init__(self, words: str, done: int, of: int) -> None:
        self._words = words
        self._done = done
        self._of = of

    def __repr__(self) -> str:
        return f"{self._words}: {self._done} of {self._of}"

    def _repr_html_(self) -> str:
        bar = f'<progress value="{self._done}" max="{max(self._of, 1)}" style="width: 20em"></progress>'
        return f"{bar} {escape(repr(self))}"


@contextmanager
def _in_terminal(words: str) -> Iterator[Tick]:
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    columns: tuple[Any, ...] = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(words, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)
