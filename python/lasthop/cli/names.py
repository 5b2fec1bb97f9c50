"""Names of the library as arguments, which the shell completes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from lasthop import catalogue

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def completing(*kinds: catalogue.Kind) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return what completes an argument by the library's names of these kinds, and by files."""

    def complete(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [entry.name for kind in kinds for entry in catalogue.entries(kind)]
        items = [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete)]
        return [*items, CompletionItem(incomplete, type="file")]

    return complete
