"""A finished study: its rows and claims, and their files (`study.json`, `study.parquet`)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lasthop.errors import InputError, naming
from lasthop.provenance import machine, versions
from lasthop.results.folder import check_is_result
from lasthop.results.html import table_html
from lasthop.stats import QUANTILE_RULE
from lasthop.study.agreement import counted
from lasthop.study.plan import Study
from lasthop.study.rows import Outcomes
from lasthop.study.store import Outcome

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FORMAT = "lasthop study 1"


@dataclass(frozen=True, slots=True)
class Reached:
    """The result of replicating for precision: the goal, and the names of the rows that are still wider."""

    within: float
    at_most: int
    wide: Sequence[Mapping[str, Any]]


@dataclass(repr=False)
class StudyResult:
    """The result of a study. `failures` maps the id of a failed case to its error."""

    study: str
    title: str
    folder: Path
    rows: list[dict[str, Any]]
    claims: list[dict[str, Any]]
    runs: int
    reused: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    failures: Mapping[str, str] = field(default_factory=dict)
    damaged: Sequence[int] = ()
    """Numbers of the store's lines that could not be read."""
    precision: Reached | None = None
    unmatched: Sequence[Mapping[str, Any]] = ()
    """Published rows without an experiment in the study, by its columns."""

    def __repr__(self) -> str:
        counts = f"{len(self.rows)} rows, {self.runs} runs, {len(self.failures)} failures"
        return f"<StudyResult {self.study}: {counts}>"

    def _repr_html_(self) -> str:
        columns = {key: key for row in self.rows for key, value in row.items() if not isinstance(value, list | dict)}
        return f"<p><b>{escape(repr(self).strip('<>'))}</b></p>{table_html(self.rows, columns)}"

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a frame of pandas, which must be installed.

        >>> import lasthop
        >>> lasthop.open_study("results/table-14").to_pandas()["table"].unique().tolist()
        [14]
        """
        return self.table("rows").to_pandas()

    @property
    def name(self) -> str:
        """The study's name, for titles of pictures."""
        return self.study

    @property
    def agreement(self) -> dict[str, list[dict[str, Any]]]:
        """The number of judged rows that agree with the published values, by kind and by table."""
        return counted(self.rows)

    @property
    def table_names(self) -> tuple[str, ...]:
        """The names of the tables for pictures."""
        return ("rows",)

    def table(self, name: str) -> pa.Table:
        """Return `rows` as a table. Raises InputError for any other."""
        if name != "rows":
            raise InputError(
                f"a study has no table {name!r}",
                file=str(self.folder),
                help="draw it from one run: lasthop run … --out, then lasthop plot",
            )
        import pyarrow as pa

        # pyarrow takes the columns from the first row only, and only some rows have a span.
        columns = dict.fromkeys(key for row in self.rows for key in row)
        return pa.table({key: _column([row.get(key) for row in self.rows]) for key in columns})

    def to_json(self) -> dict[str, Any]:
        """Return the object that `lasthop study --json` prints."""
        return {
            "study": self.study,
            "title": self.title,
            "wall_s": round(self.wall_s, 3),
            "cpu_s": round(self.cpu_s, 3),
            "runs": self.runs,
            "reused": self.reused,
            "quantiles": QUANTILE_RULE,
            "rows": self.rows,
            "claims": self.claims,
            "agreement": self.agreement,
            "unmatched": list(self.unmatched),
            "failures": dict(self.failures),
            "precision": None if self.precision is None else asdict(self.precision),
        }


def joined(results: Sequence[StudyResult]) -> StudyResult:
    """Return the results of a study and its parts as one, with the name of the first."""
    first, *others = results
    reached = [result.precision for result in results if result.precision is not None]
    return replace(
        first,
        rows=[row for result in results for row in result.rows],
        claims=[claim for result in results for claim in result.claims],
        runs=sum(result.runs for result in results),
        reused=sum(result.reused for result in results),
        failures={case: what for result in results for case, what in result.failures.items()},
        unmatched=[row for result in results for row in result.unmatched],
        precision=replace(reached[0], wide=[row for one in reached for row in one.wide])
        if others and reached
        else first.precision,
    )


def write_study(result: StudyResult, parts: Sequence[tuple[Study, Outcomes]]) -> None:
    """Write `study.parquet` and `study.json` next to the store, each whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = [flows_table(study, outcomes) for study, outcomes in parts]
    table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="default")
    _replace(result.folder / "study.parquet", lambda path: pq.write_table(table, path))
    file = str(parts[0][0].file)
    index = {"format": FORMAT, "versions": versions(), "machine": machine(), "file": file, **result.to_json()}
    text = json.dumps(index, indent=1, ensure_ascii=False) + "\n"
    _replace(result.folder / "study.json", lambda path: path.write_text(text, "utf-8", newline="\n"))


def flows_table(study: Study, outcomes: Outcomes) -> pa.Table:
    """Return a table with a row for each flow of each run: case, variables, span, seed, and the flow's measures."""
    import pyarrow as pa

    lines = list(_lines(study, outcomes))
    # A key that only some flows have is a column, too. Most lines have the same keys.
    columns = dict.fromkeys(chain.from_iterable(dict.fromkeys(map(tuple, lines))))
    return pa.table({key: _column([line.get(key) for line in lines]) for key in columns})


def _lines(study: Study, outcomes: Outcomes) -> Iterator[dict[str, Any]]:
    for (case_id, span), runs in outcomes.items():
        values = {name: _plain(value) for name, value in study.cases[case_id].values.items()}
        for outcome in runs:
            for measured in _of_run(span, outcome):
                yield _of_case(case_id, values, measured)


def _of_run(span: int, outcome: Outcome) -> list[dict[str, Any]]:
    return [
        {
            "span": span,
            "seed": outcome["seed"],
            **flow,
            "causes": _SORTED.encode(causes) if (causes := flow.get("causes")) else "{}",
            "queue_drops": sum(link["queue_drops"] for link in outcome["links"]),
        }
        # Runs that only checks measure are kept without flows.
        for flow in outcome.get("flows", ())
    ]


_SORTED: Final = json.JSONEncoder(sort_keys=True)


def _of_case(case_id: str, values: Mapping[str, object], measured: dict[str, Any]) -> dict[str, Any]:
    """Return a line with its case before its measures; a variable with the name of a measure becomes `case_NAME`."""
    named = {f"case_{name}" if name in measured else name: value for name, value in values.items()}
    return {"case": case_id, **named, **measured}


def _plain(value: object) -> object:
    """Return a number or a text unchanged, anything else as JSON."""
    return value if isinstance(value, bool | int | float | str) else json.dumps(value)


def open_study(folder: str | PathLike[str]) -> StudyResult:
    """Open a study's folder. Raises InputError if it is none, is damaged, or was not finished.

    >>> import lasthop
    >>> lasthop.open_study("results/table-14")
    <StudyResult sarolahti2000: ... rows, ... runs, 0 failures>
    """
    folder = Path(folder)
    check_is_result(folder, "study.json")
    try:
        index = json.loads((folder / "study.json").read_text("utf-8"))
        kept = ("study", "title", "rows", "claims", "runs", "reused", "wall_s", "cpu_s", "failures")
        unmatched = index.get("unmatched", ())
        return StudyResult(folder=folder, unmatched=unmatched, **{key: index[key] for key in kept})
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError) as error:
        raise InputError(
            f"is damaged: {error}",
            file=str(folder / "study.json"),
            help="run the study again; it continues from its store",
        ) from error


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        with naming(path):
            write(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _column(values: list[Any]) -> pa.Array:
    """Return a column; of texts if its values have no type in common ("4/5" next to 7, or true next to 1)."""
    import pyarrow as pa

    types = set(map(type, values)) - {type(None)}
    # Integers share a column with floats; booleans do not.
    sorts = {float if kind is int else kind for kind in types}
    if not sorts:
        # A measure that no flow has: a column of type null could not be joined with that of another study.
        return pa.array(values, pa.float64())
    mixed = len(sorts) > 1
    return pa.array([None if value is None else str(value) for value in values] if mixed else values)
