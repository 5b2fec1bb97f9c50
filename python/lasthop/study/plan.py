"""The plan of a study: its cases and rows, as Python objects of the study that the engine has resolved.

A *case* is one value for each variable of the study, run once for each seed; where the document leaves a detail open,
a case has *variants*, one for each step of a span. A *row* is one number of one of the document's tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from lasthop import _native, catalogue
from lasthop.chart import Chart
from lasthop.errors import InputError
from lasthop.scenario.virtual_time import IN_REAL_TIME_ONLY
from lasthop.study.agreement import Agreement

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Fold = Literal["sum", "min", "max", "mean", "jain", "max-min", "product"]


@dataclass(frozen=True)
class Variant:
    """A case's scenario at one step of its span (0: as in the document), under the study's first seed."""

    span: int
    hash: str
    scenario: str
    """The resolved scenario as JSON text; objects of hundreds of cases with hundreds of hosts would take gigabytes."""

    def under(self, seed: int) -> str:
        """Return the resolved scenario under a seed, as JSON."""
        return json.dumps({**json.loads(self.scenario), "seed": seed})

    @property
    def is_in_virtual_time(self) -> bool:
        """Whether no host has a stack that cannot run in virtual time."""
        # Most scenarios have neither word in their text, and parsing hundreds of hosts takes long.
        if not any(f'"{stack}"' in self.scenario for stack in IN_REAL_TIME_ONLY):
            return True
        return all(host.get("stack") not in IN_REAL_TIME_ONLY for host in json.loads(self.scenario)["hosts"])


@dataclass(frozen=True)
class Case:
    """What is run: every variant under every seed. All cases share their seeds (common random numbers). A case of which
    nothing was wanted as the study was loaded has no variants."""

    id: str
    values: Mapping[str, Any]
    tables: tuple[str, ...]
    record: tuple[str, ...]
    seeds: tuple[int, ...]
    variants: tuple[Variant, ...]

    @property
    def is_in_virtual_time(self) -> bool:
        """Whether it can run in virtual time, which a host with the kernel or a program as its stack cannot."""
        return all(variant.is_in_virtual_time for variant in self.variants)

    def variant(self, span: int = 0) -> Variant:
        """Return the variant at a step of the span."""
        return next(variant for variant in self.variants if variant.span == span)


@dataclass(frozen=True)
class Metric:
    """Metric of a run: from its flows, from a link, or by a named check."""

    says: str
    flow: str | None = None
    fold: Fold = "sum"
    less_s: float = 0.0
    """Seconds subtracted from a flow's time before its throughput is computed, for documents that leave out the
    opening.
    """
    divided_by: float = 1.0
    link: str | None = None
    window: str | None = None
    flows: str | None = None
    """Pattern of the flows' names, in which `*` matches any text; None for all flows."""
    check: str | None = None
    line: int | None = None
    """Line of the check in the study's file."""
    tables: Sequence[str] = ()


@dataclass(frozen=True)
class Table:
    """One table of the document."""

    id: str
    title: str
    cases: Sequence[str]
    on_request: bool = False
    """Whether it runs only if it is chosen by name, because its runs take long."""


@dataclass(frozen=True)
class Smallest:
    """The numbers tried in ascending order, each with the index of its row, and the level to be reached."""

    tried: Sequence[tuple[float, int]]
    reaches: float


@dataclass(frozen=True)
class Row:
    """One reported number; `columns` name it."""

    table: str
    case: str
    scope: str | None
    metric: str
    measure: str
    columns: Mapping[str, str]
    quotient: Sequence[int] | None = None
    """Indices of the dividend's and the divisor's row, for a row that is a quotient."""
    smallest: Smallest | None = None


@dataclass(frozen=True)
class Figure:
    """One picture of the document, from a run of one case."""

    id: str
    kind: str
    title: str
    case: str
    seed: int
    span: int
    flow: str | None
    from_s: float | None
    to_s: float | None


@dataclass(frozen=True)
class Claim:
    """One statement of the document, judged by an expression over rows (`holds`) or by a named `check`."""

    id: str
    says: str
    place: str
    values: Mapping[str, Mapping[str, Any]]
    holds: str | None
    check: str | None
    line: int | None
    """Line of the expression or the check in the study's file."""
    setup: bool
    """Whether it only restates the set-up of the study."""
    cases: Sequence[str]
    about: Sequence[str]
    """Tables of the study whose rows its check gets."""
    tables: Sequence[str]


@dataclass(frozen=True)
class PublishedFile:
    """The published values: a CSV file, and its columns of value, statistic and uncertainty."""

    file: Path
    value: str
    statistic: str
    uncertain: str


@dataclass(frozen=True)
class Oracle:
    """Another program that computes the study's numbers in every run: the check that calls it, and its name."""

    ask: str
    program: str
    install: str


@dataclass(frozen=True, repr=False)
class Study:
    """A resolved study. `selected` are the tables to run: all except those on request, unless `only` has chosen."""

    name: str
    title: str
    folder: Path
    columns: Sequence[str]
    published: PublishedFile | Oracle | None
    scopes: Mapping[str, int | None]
    metrics: Mapping[str, Metric]
    tables: Mapping[str, Table]
    cases: Mapping[str, Case]
    rows: Sequence[Row]
    figures: Sequence[Figure]
    claims: Sequence[Claim]
    selected: Sequence[str]
    charts: Sequence[Chart] = ()
    agreement: Sequence[Agreement] = ()
    file: Path = Path("study.toml")

    def __repr__(self) -> str:
        return f"<Study {self.name}: {len(self.tables)} tables, {len(self.cases)} cases, {len(self.claims)} claims>"

    def only(self, table_ids: Iterable[str]) -> Study:
        """Return the study with these tables selected. Raises InputError if it has no such table."""
        wanted = list(dict.fromkeys(table_ids))
        for table_id in wanted:
            if table_id not in self.tables:
                known = f"its tables are {', '.join(self.tables)}"
                raise InputError(f"study {self.name} has no table {table_id!r}", key="--only", help=known)
        return replace(self, selected=wanted)

    def with_seeds(self, numbers: Mapping[str, int]) -> Study:
        """Return the study with these numbers of seeds for cases, by id; seeds are consecutive from the first."""
        cases = dict(self.cases)
        for case_id, number in numbers.items():
            case = cases[case_id]
            cases[case_id] = replace(case, seeds=tuple(range(case.seeds[0], case.seeds[0] + number)))
        return replace(self, cases=cases)

    def replicated(self, replications: int) -> Study:
        """Return the study with `replications` consecutive seeds for every case."""
        cases = {
            case.id: replace(case, seeds=tuple(range(case.seeds[0], case.seeds[0] + replications)))
            for case in self.cases.values()
        }
        return replace(self, cases=cases)

    @property
    def selected_cases(self) -> list[Case]:
        """The cases of the selected tables."""
        wanted = {case for table in self.selected for case in self.tables[table].cases}
        return [case for case in self.cases.values() if case.id in wanted]

    @property
    def is_whole(self) -> bool:
        """Whether all tables except those on request are selected, and all cases are resolved.

        Cases that are in no table, and run for a claim or a figure, count, too.
        """
        always = {table.id for table in self.tables.values() if not table.on_request}
        return set(self.selected) >= always and all(case.variants for case in self.cases.values())

    @property
    def left_out(self) -> list[str]:
        """The tables on request that are not selected."""
        return [table.id for table in self.tables.values() if table.on_request and table.id not in self.selected]


def load_study(source: str | PathLike[str], wanted: Iterable[str] = ()) -> Study:
    """Read a study by name, folder or file. Raises InputError with file, line, key and the remedy.

    With `wanted` tables, only the scenarios of their cases are resolved. The parts of the study are not read.

    >>> import lasthop
    >>> lasthop.load_study("sarolahti2000", ["14"])
    <Study sarolahti2000: ... tables, ... cases, ... claims>
    """
    return _study(json.loads(_native.load_study(fspath(source), str(catalogue.LIBRARY), list(wanted))))


def load_parts(source: str | Path, only: Iterable[str] = ()) -> list[Study]:
    """Read a study and its parts; with `only`, those parts that have one of these tables, with the tables selected.

    Raises InputError with file, line, key and the remedy, also if there is no such table.
    """
    outlines = _native.study_parts(str(source), str(catalogue.LIBRARY))
    wanted = list(dict.fromkeys(only))
    known = [table for _, tables in outlines for table in tables]
    unknown = next((table for table in wanted if table not in known), None)
    if unknown is not None:
        name = outlines[0][0].parent.name
        raise InputError(
            f"study {name} has no table {unknown!r}", key="--only", help=f"its tables are {', '.join(known)}"
        )
    return [
        _selected(file, [table for table in wanted if table in tables], tables)
        for file, tables in outlines
        if not wanted or not set(wanted).isdisjoint(tables)
    ]


def _selected(file: Path, wanted: Sequence[str], tables: Sequence[str]) -> Study:
    if not wanted:
        return load_study(file)
    return load_study(file, () if set(wanted) == set(tables) else wanted).only(wanted)


def _study(resolved: Mapping[str, Any]) -> Study:
    tables = [_made(Table, table) for table in resolved["tables"]]
    return Study(
        name=resolved["name"],
        title=resolved["title"],
        folder=Path(resolved["folder"]),
        columns=resolved["columns"],
        published=_published(resolved["published"]),
        scopes=resolved["scopes"],
        metrics={name: _made(Metric, metric) for name, metric in resolved["metrics"].items()},
        tables={table.id: table for table in tables},
        cases={case["id"]: _case(case) for case in resolved["cases"]},
        rows=[_row(row) for row in resolved["rows"]],
        figures=[_made(Figure, figure) for figure in resolved["figures"]],
        claims=[_made(Claim, claim) for claim in resolved["claims"]],
        selected=[table.id for table in tables if not table.on_request],
        charts=[_made(Chart, chart) for chart in resolved["charts"]],
        agreement=[_made(Agreement, {**kind, "or_": kind["or"]}) for kind in resolved["agreement"]],
        file=Path(resolved["file"]),
    )


def _published(published: Mapping[str, Any] | None) -> PublishedFile | Oracle | None:
    if published is None:
        return None
    if "oracle" in published:
        return _made(Oracle, published["oracle"])
    file = published["file"]
    return _made(PublishedFile, file | {"file": Path(file["file"])})


def _row(row: Mapping[str, Any]) -> Row:
    smallest = row["smallest"]
    return _made(Row, {**row, "smallest": None if smallest is None else _made(Smallest, smallest)})


def _case(case: Mapping[str, Any]) -> Case:
    return Case(
        id=case["id"],
        values=case["values"],
        tables=tuple(case["tables"]),
        record=tuple(case["record"]),
        seeds=tuple(case["seeds"]),
        variants=tuple(_made(Variant, variant) for variant in case["variants"]),
    )


_T = TypeVar("_T", bound="DataclassInstance")


def _made(kind: type[_T], keys: Mapping[str, Any]) -> _T:
    """Return a dataclass from the keys that it has fields for; the engine's JSON can have more."""
    names = {each.name for each in fields(kind)}
    return kind(**{name: value for name, value in keys.items() if name in names})
