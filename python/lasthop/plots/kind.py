"""The description of a kind of picture, and the options of one picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Literal

from lasthop.errors import InputError
from lasthop.plots.source import Source

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SequenceUnit = Literal["bytes", "segments"]


@dataclass(frozen=True)
class View:
    """The options of one picture.

    `flow` is a flow's name (default: all flows), `start_s` and `end_s` bound the time axis in seconds, `unit` is that
    of sequence numbers and windows, `width` fits one column of a paper or the whole page. `title` replaces the title;
    an empty one removes it. `links` are links, or directions of them like "lasthop.down" (default: those with most
    drops). `table` and `metric` choose among a study's rows. `beside` are other runs, each with its label, for pictures
    of several runs.
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
"""Options of the command line whose names differ from the field of the view."""


@dataclass(frozen=True)
class Kind:
    """One kind of picture.

    `needs` are the tables that it is drawn from, or `instead` of them these; `uses` are tables that add to it if they
    are recorded. `options` are the fields of a view that it has, besides those of all kinds.
    """

    id: str
    summary: str
    needs: tuple[str, ...]
    uses: tuple[str, ...]
    draw: Callable[[Source, View], Figure]
    options: tuple[str, ...]
    instead: tuple[str, ...] = ()

    def check_options(self, view: View) -> None:
        """Raise InputError if the view sets an option that this kind does not have."""
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
        """Return the tables that it needs and uses, in words."""
        needs = " or ".join(" and ".join(each) for each in (self.needs, self.instead) if each)
        return f"needs {needs}" + (f"; shows more with {' and '.join(self.uses)}" if self.uses else "")
