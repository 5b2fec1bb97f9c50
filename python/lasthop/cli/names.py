"""Shell completion of arguments that name files of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from lasthop import catalogue

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def completing(*kinds: catalogue.Kind) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return a completion function that offers the library's names of these kinds, and files."""

    def complete(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [entry.name for kind in kinds for entry in catalogue.entries(kind)]
        items = [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete)]
        return [*items, CompletionItem(incomplete, type="file")]

    return complete
