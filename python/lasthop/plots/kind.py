"""What a kind of picture is, and what a user may say about one picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Final, Literal

from matplotlib.figure import Figure

from lasthop.errors import InputError
from lasthop.plots.source import Source

SequenceUnit = Literal["bytes", "segments"]


@dataclass(frozen=True)
class View:
    """What is to be seen of a result.

    `flow` is a flow's name (none: all of them), `start_s` and `end_s` bound the time axis in seconds,
    `unit` is that of sequence numbers and windows, `width` fits one column of a paper or the whole page.
    `title` replaces the words above the picture; an empty one leaves them away. `links` are links, or
    directions of them like "lasthop.down" (none: those where most was dropped). `table` and `metric` choose among a
    study's rows. `beside` are other runs, each with its words, for pictures of several.
    """

    flow: str | None = None
    start_s: float | None = None
    end_s: float | None = None
    unit: SequenceUnit = "bytes"
    width: Literal["column", "page"] = "page"
    title: str | None = None
    table: str | None = None
    metric: str | None = None
    links: tuple[str, ...] = ()
    beside: tuple[tuple[str, Source], ...] = ()

    def __post_init__(self) -> None:
        if self.start_s is not None and self.end_s is not None and self.start_s >= self.end_s:
            raise InputError(
                f"the picture would end at {self.end_s:g} s, before it starts at {self.start_s:g} s",
                key="to",
                help="give --to a later time than --from",
            )


OPTIONS_OF_ALL: Final = ("width", "title")

OPTION_NAMES: Final = {"start_s": "from", "end_s": "to", "links": "link", "beside": "with"}
"""What fields of a view are called on the command line, where otherwise."""


@dataclass(frozen=True)
class Kind:
    """One kind of picture.

    `needs` are the tables without which it cannot be drawn, unless those `instead` of them are there; `uses` are those
    that add to it where recorded. `options` are the fields of a view that it has, beside those that all have.
    """

    id: str
    summary: str
    needs: tuple[str, ...]
    uses: tuple[str, ...]
    draw: Callable[[Source, View], Figure]
    options: tuple[str, ...]
    instead: tuple[str, ...] = ()

    def check_options(self, view: View) -> None:
        """Raise InputError where the view says something that this picture does not have."""
        default = View()
        for field in fields(View):
            known = field.name in (*OPTIONS_OF_ALL, *self.options)
            if not known and getattr(view, field.name) != getattr(default, field.name):
                has = ", ".join(f"--{OPTION_NAMES.get(name, name)}" for name in (*self.options, *OPTIONS_OF_ALL))
                raise InputError(
                    f"the picture {self.id!r} has no option --{OPTION_NAMES.get(field.name, field.name)}",
                    key=OPTION_NAMES.get(field.name, field.name),
                    help=f"it has {has}",
                )

    def tables(self) -> str:
        """What it needs and uses, in words."""
        needs = " or ".join(" and ".join(each) for each in (self.needs, self.instead) if each)
        return f"needs {needs}" + (f"; shows more with {' and '.join(self.uses)}" if self.uses else "")
