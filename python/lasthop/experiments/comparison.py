"""Differences between results: runs in virtual or real time, sweeps, studies.

Each measure that at least two results have is compared with the first result. With replications, a difference counts
only if the 95 % intervals of the means do not overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final

from lasthop.errors import InputError
from lasthop.experiments.sweeps import INDEX_FILE as SWEEP_FILE
from lasthop.experiments.sweeps import read_sweep_index
from lasthop.experiments.totals import Rivals, fairness, rivals_of, throughput
from lasthop.results import open_run
from lasthop.results.folder import INDEX_FILE, check_is_result
from lasthop.study import StudyResult, open_study

STUDY_FILE: Final = "study.json"
ALL_FLOWS: Final = "all flows"

FLOW_MEASURES: Final = (
    "throughput_Bps",
    "elapsed_s",
    "segments_sent",
    "retransmissions",
    "unnecessary_retransmissions",
    "timeouts",
    "spurious_timeouts",
    "fast_retransmits",
    "delay_mean_s",
    "delay_p95_s",
    "transfer_mean_s",
    "frame_loss",
    "mos",
    "stalled_s",
    "media_bit_rate",
)
LINK_MEASURES: Final = ("queue_drops", "error_drops", "utilisation", "queue_mean", "queue_p95")
STUDY_MEASURES: Final = ("measured",)


@dataclass(frozen=True, slots=True)
class Value:
    """A measure of one result, with the 95 % interval of its mean if there are replications."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure of a flow, a link or a case in every result; None for a result without it."""

    of: str
    measure: str
    values: tuple[Value | None, ...]

    @property
    def changes(self) -> tuple[float | None, ...]:
        """The relative difference of each later result from the first; None if either is missing, or the first is 0."""
        first = self.values[0]
        return tuple(_change(first, other) for other in self.values[1:])

    @property
    def differs(self) -> bool:
        """Whether some result differs from the first, by more than their intervals if both have one."""
        first = self.values[0]
        return any(_apart(first, other) for other in self.values[1:])


@dataclass(frozen=True)
class Comparison:
    """Results side by side. `names` are their names, in the order of the values of each difference."""

    kind: str
    names: tuple[str, ...]
    differences: tuple[Difference, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as one object."""
        rows = [{**asdict(row), "changes": row.changes, "differs": row.differs} for row in self.differences]
        return {"kind": self.kind, "results": list(self.names), "differences": rows}


Measures = Mapping[tuple[str, str], Value]
"""The measures of a result: values by flow, link or case, and measure."""


def compare(folders: Sequence[str | PathLike[str]]) -> Comparison:
    """Compare the results in two or more folders with the first of them.

    Raises InputError if a folder is no result, or the results are of different kinds or have no measure in common.

    >>> import lasthop
    >>> _ = lasthop.run_to_folder("quickstart", "results/seed-2", overrides={"flows.download.bytes": "500 kB"})
    >>> [row.measure for row in lasthop.compare(["results/quickstart", "results/seed-2"]).differences][:2]
    ['throughput_Bps', 'elapsed_s']
    """
    if len(folders) < 2:
        raise InputError("a comparison takes two results", help="name another folder")
    results = [Path(folder) for folder in folders]
    kinds = [_kind_of(path) for path in results]
    if len(set(kinds)) > 1:
        described = ", ".join(f"{path} is a {kind}" for path, kind in zip(results, kinds, strict=True))
        raise InputError(
            f"results of different kinds have no measures in common: {described}",
            help="compare runs with runs, sweeps with sweeps, studies with studies",
        )
    read = _READERS[kinds[0]]
    found = [read(path) for path in results]
    rows = [
        Difference(of, measure, tuple(measures.get((of, measure)) for measures in found))
        for of, measure in dict.fromkeys(key for measures in found for key in measures)
        if sum((of, measure) in measures for measures in found) > 1
    ]
    if not rows:
        contents = "; ".join(
            f"{path}: {', '.join(_things(each)) or 'nothing'}" for path, each in zip(results, found, strict=True)
        )
        raise InputError(
            f"the results have nothing of the same name: {contents}", help="compare runs with the same flows"
        )
    return Comparison(kinds[0], _names(results), tuple(rows))


def _kind_of(path: Path) -> str:
    for kind, index in (("study", STUDY_FILE), ("sweep", SWEEP_FILE)):
        if (path / index).is_file():
            return kind
    check_is_result(path, INDEX_FILE)
    return "run"


def _read_run(path: Path) -> Measures:
    run = open_run(path)
    return dict(_of_summary(run.summary, rivals_of(run.specification)))


def _of_summary(summary: Mapping[str, Any], rivals: Rivals) -> Iterator[tuple[tuple[str, str], Value]]:
    for flow in summary["flows"]:
        yield from _of(str(flow["flow"]), flow, FLOW_MEASURES)
    if len(summary["flows"]) > 1:
        totals = {"throughput_Bps": throughput(summary), "fairness": fairness(summary, rivals)}
        yield from _of(ALL_FLOWS, totals, tuple(totals))
    for link in summary["links"]:
        yield from _of(f"{link['link']}.{link['direction']}", link, LINK_MEASURES)


def _of(name: str, entry: Mapping[str, Any], measures: Sequence[str]) -> Iterator[tuple[tuple[str, str], Value]]:
    for measure in measures:
        if (value := entry.get(measure)) is not None:
            yield (name, measure), Value(float(value))


def _read_sweep(path: Path) -> Measures:
    found = {}
    for case in read_sweep_index(path)["cases"]:
        name = ", ".join(f"{key}={value}" for key, value in case["values"].items())
        for measure, spread in case["measures"].items():
            low, high = spread["mean_ci95"] or (None, None)
            found[name, measure] = Value(spread["mean"], low, high)
    return found


def _read_study(path: Path) -> Measures:
    study: StudyResult = open_study(path)
    found = {}
    for row in study.rows:
        if row["measured"] is not None:
            low, high = row["ci95"] or (None, None)
            found[_row_name(row), str(row["metric"])] = Value(float(row["measured"]), low, high)
    return found


def _row_name(row: Mapping[str, Any]) -> str:
    """Return the name of a study's row: its table, and the columns before the measured ones."""
    own = []
    for key, value in row.items():
        if key in ("published", "measured"):
            break
        if key not in ("table", "metric"):
            own.append(str(value))
    return f"table {row['table']}: {', '.join(own)}"


_READERS: Final[Mapping[str, Callable[[Path], Measures]]] = {
    "run": _read_run,
    "sweep": _read_sweep,
    "study": _read_study,
}


def _change(first: Value | None, other: Value | None) -> float | None:
    if first is None or other is None or first.value == 0:
        return None
    return other.value / first.value - 1


def _apart(first: Value | None, other: Value | None) -> bool:
    if first is None or other is None:
        return first is not other
    (low, high), (other_low, other_high) = _ends(first), _ends(other)
    return other_low > high or other_high < low


def _ends(value: Value) -> tuple[float, float]:
    """Return the interval of a value; without one, as for a deterministic run, the value twice."""
    return (value.value, value.value) if value.low is None or value.high is None else (value.low, value.high)


def _things(measures: Measures) -> list[str]:
    return list(dict.fromkeys(of for of, _ in measures))


def _names(results: Sequence[Path]) -> tuple[str, ...]:
    """Return the last part of each folder's path, or the whole path if two folders share that part."""
    short = [path.resolve().name for path in results]
    return tuple(name if short.count(name) == 1 else str(path) for name, path in zip(short, results, strict=True))
