"""A finished study: its rows and claims, and the files that hold them (`study.json`, `study.parquet`)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasthop.errors import InputError, naming
from lasthop.provenance import machine, versions
from lasthop.results.folder import check_is_result
from lasthop.stats import QUANTILE_RULE
from lasthop.study.plan import Study
from lasthop.study.rows import Outcomes
from lasthop.study.store import Outcome

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "lasthop study 1"


@dataclass(frozen=True, slots=True)
class Reached:
    """What came of replicating until narrow: the goal, and the rows that are still wider, by what tells them apart."""

    within: float
    at_most: int
    wide: Sequence[Mapping[str, Any]]


@dataclass
class StudyResult:
    """What a study found. `failures` maps the id of a case that failed to what went wrong."""

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
    """The lines of the store that could not be read."""
    precision: Reached | None = None

    @property
    def name(self) -> str:
        """What its pictures are of."""
        return self.study

    @property
    def table_names(self) -> tuple[str, ...]:
        """The tables that pictures are drawn from."""
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

        # pyarrow takes the columns from the first row alone, and only some rows have a span.
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
            "failures": dict(self.failures),
            "precision": None if self.precision is None else asdict(self.precision),
        }


def write_study(result: StudyResult, study: Study, outcomes: Outcomes) -> None:
    """Write `study.parquet` and `study.json` beside the store, each whole or not at all."""
    import pyarrow.parquet as pq

    _replace(result.folder / "study.parquet", lambda path: pq.write_table(flows_table(study, outcomes), path))
    index = {"format": FORMAT, "versions": versions(), "machine": machine(), **result.to_json()}
    text = json.dumps(index, indent=1, ensure_ascii=False) + "\n"
    _replace(result.folder / "study.json", lambda path: path.write_text(text))


def flows_table(study: Study, outcomes: Outcomes) -> pa.Table:
    """Return the whole set as one table: a line per flow of each run, led by what its case is."""
    import pyarrow as pa

    lines = [
        _of_case(case_id, study.cases[case_id].values, measured)
        for (case_id, span), runs in outcomes.items()
        for outcome in runs
        for measured in _of_run(span, outcome)
    ]
    return pa.Table.from_pylist(lines)


def _of_run(span: int, outcome: Outcome) -> list[dict[str, Any]]:
    return [
        {
            "span": span,
            "seed": outcome["seed"],
            **flow,
            "causes": json.dumps(causes, sort_keys=True) if (causes := flow.get("causes")) else "{}",
            "queue_drops": sum(link["queue_drops"] for link in outcome["links"]),
        }
        for flow in outcome["flows"]
    ]


def _of_case(case_id: str, values: Mapping[str, object], measured: dict[str, Any]) -> dict[str, Any]:
    """Lead a line by its case. A variable that is called as something measured is `case_…`."""
    named = {f"case_{name}" if name in measured else name: str(value) for name, value in values.items()}
    return {"case": case_id, **named, **measured}


def open_study(folder: Path) -> StudyResult:
    """Open a study's folder. Raises InputError where it is none, or was not finished."""
    check_is_result(folder, "study.json")
    try:
        index = json.loads((folder / "study.json").read_text())
        kept = ("study", "title", "rows", "claims", "runs", "reused", "wall_s", "cpu_s", "failures")
        return StudyResult(folder=folder, **{key: index[key] for key in kept})
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError) as error:
        raise InputError(
            f"is damaged: {error}",
            file=str(folder / "study.json"),
            help="run the study again; it goes on from its store",
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
    """Return a column; as texts where only some of its values are numbers ("4/5" beside 7)."""
    import pyarrow as pa

    mixed = len({isinstance(value, str) for value in values if value is not None}) > 1
    return pa.array([None if value is None else str(value) for value in values] if mixed else values)
