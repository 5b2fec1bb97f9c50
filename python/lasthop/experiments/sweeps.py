"""A grid of runs: one scenario with some keys varied, each case under one seed or several.

>>> import lasthop
>>> grid = lasthop.sweep("quickstart", {"links.lasthop.down.queue.limit": ["7 packets", "20 packets"]})
>>> [round(case.measures["retransmissions"].mean) for case in grid.cases]  # doctest: +SKIP
[7, 21]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from html import escape
from itertools import product
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lasthop import _native
from lasthop.entry_points import entry_point
from lasthop.errors import InputError, naming
from lasthop.experiments.journal import JOURNAL_FILE, Journal, Order
from lasthop.experiments.sweep_runs import SweepRuns
from lasthop.experiments.totals import NO_RIVALS, Rivals, fairness, rivals_of, throughput
from lasthop.parallel import processors
from lasthop.progress_bar import Tick, reporting
from lasthop.provenance import machine, versions
from lasthop.results.folder import CASES_FOLDER, discard, drawings_in
from lasthop.results.html import table_html
from lasthop.results.summarised import plain_table
from lasthop.scenario import (
    Given,
    Overrides,
    Scenario,
    check_virtual_time,
    scenario_of,
    unread_overrides,
)
from lasthop.scenario.given import override_texts, renaming, toml_value
from lasthop.stats import Spread, are_alike, spread

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FORMAT: Final = "lasthop sweep 1"
INDEX_FILE: Final = "sweep.json"
TABLE_FILE: Final = "sweep.parquet"
PICTURE_FILE: Final = "sweep.svg"

MOST_RUNS: Final = 100_000
"""Largest number of runs of a sweep: a larger grid is most likely a mistake."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A key of the scenario, and the values that it takes, as `--set` reads them."""

    path: str
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """The last part of the key's path."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Case:
    """One point of the grid: the value on each axis, the summaries of its runs, and the flows that compete in them.

    `scenario` is the resolved scenario of its first run.
    """

    values: tuple[str, ...]
    seeds: tuple[int, ...]
    summaries: tuple[Mapping[str, Any], ...] = field(repr=False)
    rivals: Rivals = NO_RIVALS
    scenario: Scenario | None = field(default=None, repr=False)

    @property
    def measures(self) -> dict[str, Spread]:
        """The spread over the seeds of each measure that all runs of the case have."""
        found = [measured(summary, self.rivals) for summary in self.summaries]
        return {key: spread([each[key] for each in found]) for key in found[0] if all(key in each for each in found)}

    @property
    def deterministic(self) -> bool:
        """Whether all runs are equal, so that no random number made a difference."""
        return are_alike(self.summaries)


Ended = Callable[[Case], None]
"""Called with a case after its last run."""


@dataclass(frozen=True, repr=False)
class Sweep:
    """A grid of cases, in the order of the axes with the last axis varying fastest."""

    scenario: str
    axes: tuple[Axis, ...]
    cases: tuple[Case, ...]

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The paths of axes whose values change no number of any run, all else equal."""
        return tuple(axis.path for place, axis in enumerate(self.axes) if self._changes_nothing(place))

    def _changes_nothing(self, place: int) -> bool:
        """Whether the cases that differ only in the value on one axis of several values are alike."""
        alike: dict[tuple[str, ...], list[Case]] = {}
        for case in self.cases:
            alike.setdefault(case.values[:place] + case.values[place + 1 :], []).append(case)
        groups = list(alike.values())
        return len(groups[0]) > 1 and all(case.summaries == group[0].summaries for group in groups for case in group)

    def to_json(self) -> dict[str, Any]:
        """Return the grid as a JSON object."""
        return {
            "scenario": self.scenario,
            "axes": [asdict(axis) for axis in self.axes],
            "without_effect": list(self.without_effect),
            "cases": [
                {
                    "values": dict(zip((axis.path for axis in self.axes), case.values, strict=True)),
                    "seeds": list(case.seeds),
                    "deterministic": case.deterministic,
                    "measures": {key: asdict(found) for key, found in case.measures.items()},
                    "runs": list(case.summaries),
                }
                for case in self.cases
            ],
        }

    def __repr__(self) -> str:
        axes = " x ".join(f"{axis.path} ({len(axis.values)})" for axis in self.axes)
        return f"<Sweep {self.scenario}: {axes}, {sum(len(case.seeds) for case in self.cases)} runs>"

    def _repr_html_(self) -> str:
        measures = dict.fromkeys(key for case in self.cases for key in case.measures)
        columns = {**{axis.path: axis.name for axis in self.axes}, **{key: key for key in measures}}
        rows = [
            {
                **dict(zip((axis.path for axis in self.axes), case.values, strict=True)),
                **{key: found.mean for key, found in case.measures.items()},
            }
            for case in self.cases
        ]
        return f"<p><b>{escape(repr(self).strip('<>'))}</b>; means</p>{table_html(rows, columns)}"

    def to_pandas(self) -> pd.DataFrame:
        """Return `table()` as a frame of pandas, which must be installed.

        >>> import lasthop
        >>> grid = lasthop.sweep("quickstart", {"hosts.server.profile": ["reno", "cubic"]}, replications=2)
        >>> grid.to_pandas().groupby("hosts.server.profile")["retransmissions"].mean().index.tolist()
        ['cubic', 'reno']
        """
        return self.table().to_pandas()

    def table(self) -> pa.Table:
        """Return a table with a row for each flow of each run: the value on each axis, the seed, and the flow's
        measures.

        Measures that no flow has are left out; `lasthop show results` has their units.
        """
        return plain_table(self._rows())

    def write(self, folder: str | PathLike[str]) -> None:
        """Write `sweep.json`, `sweep.parquet` and `sweep.svg` into `folder`, each whole or not at all.

        Runs of cases and drawings that were made of an earlier sweep are removed.
        Raises InputError if the folder has anything but an earlier sweep, or cannot be written.
        """
        folder = Path(folder)
        check_sweep_target(folder)
        with naming(folder):
            folder.mkdir(parents=True, exist_ok=True)
            _discard_what_was_made_of(folder)
        grid = self.to_json()
        for kept, case in zip(grid["cases"], self.cases, strict=True):
            if case.scenario is not None:
                kept["scenario"] = {"hash": case.scenario.hash, "json": case.scenario.json}
        index = {"format": FORMAT, "versions": versions(), "machine": machine(), **grid}
        with _whole(folder / TABLE_FILE) as path:
            _native.write_table(self.table(), path)
        with _whole(folder / PICTURE_FILE) as path:
            entry_point("save-sweep")(self, path)
        with _whole(folder / INDEX_FILE) as path:
            path.write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n", "utf-8", newline="\n")
        with naming(folder):
            (folder / JOURNAL_FILE).unlink(missing_ok=True)

    def _rows(self) -> Iterator[dict[str, Any]]:
        columns = [plain_values(axis.values) for axis in self.axes]
        at = [dict(zip(axis.values, column, strict=True)) for axis, column in zip(self.axes, columns, strict=True)]
        for case in self.cases:
            axes = {axis.path: of[value] for axis, of, value in zip(self.axes, at, case.values, strict=True)}
            for seed, summary in zip(case.seeds, case.summaries, strict=True):
                for flow in summary["flows"]:
                    yield {**axes, "seed": seed, **flow}


def sweep(
    source: Given,
    axes: Mapping[str, object] | Sequence[Axis],
    *,
    replications: int = 1,
    seed: int | None = None,
    overrides: Overrides = (),
    allow_code: bool = False,
    jobs: int | None = None,
    tick: Tick | None = None,
    ended: Ended | None = None,
    progress: bool = False,
    folder: str | PathLike[str] | None = None,
    order: Order | None = None,
) -> Sweep:
    """Run a scenario for every combination of the axes' values, each under `replications` seeds that start at its own.

    `source` is a path, a name, TOML text or a mapping, as `lasthop.run` takes it. `axes` maps keys to lists of values;
    a text or a number alone is one value. `allow_code` is that of `load_scenario`. `progress` shows a bar of finished
    runs, and `tick` is called with their number; `ended` is called with each case after its last run. `jobs` is the
    number of parallel runs (default: the number of processors). All cases are read before the first one runs.

    With a `folder`, each finished run is kept there in a journal, with the `order` that its first line is to have. A
    sweep into the folder of one that was stopped, or in which runs failed, takes the finished runs from it, and runs
    the others. `Sweep.write` removes the journal.

    Raises InputError if a case is wrong, and RunError, with the case and the seed, if a run fails: without a folder at
    once, with one after all other runs.

    >>> import lasthop
    >>> lasthop.sweep("quickstart", {"links.lasthop.down.queue.limit": ["7 packets", "50 packets"]}, replications=3)
    <Sweep quickstart: links.lasthop.down.queue.limit (2), 6 runs>
    """
    if isinstance(source, Scenario):
        help = "give the path, the name, the text or the mapping that it was read from"
        raise InputError("a sweep changes keys of a file, and a resolved scenario has none", help=help)
    grid = _grid(axes)
    fixed = override_texts(overrides)
    _check_overrides(grid, fixed)
    points = list(product(*(axis.values for axis in grid)))
    _check_size(grid, len(points) * replications)
    cases = [_scenario(source, grid, point, seed, fixed, allow_code) for point in points]
    _check_effect(cases)
    seeds = tuple(range(cases[0].seed, cases[0].seed + replications))

    def case_of(place: int, summaries: Sequence[Mapping[str, Any]]) -> Case:
        return Case(points[place], seeds, tuple(summaries), rivals_of(cases[place].specification), cases[place])

    def case_ended(place: int, summaries: Sequence[Mapping[str, Any]]) -> None:
        if ended is not None:
            ended(case_of(place, summaries))

    journal = None if folder is None else _journal(Path(folder), grid, replications, order)
    with reporting(tick, progress=progress) as notify:
        summaries = SweepRuns(cases, seeds, journal, notify, case_ended).run(jobs or processors())
    return Sweep(cases[0].name, grid, tuple(case_of(place, summaries[place]) for place in range(len(cases))))


def _grid(axes: Mapping[str, object] | Sequence[Axis]) -> tuple[Axis, ...]:
    if isinstance(axes, Mapping):
        return tuple(axis_of(path, values) for path, values in axes.items())
    if isinstance(axes, str) or not all(isinstance(axis, Axis) for axis in axes):
        help = 'give a mapping, {"hosts.server.profile": ["reno", "cubic"]}'
        raise InputError(f"axes is {axes!r}, and no mapping of keys to values", key="axes", help=help)
    return tuple(axes)


def _journal(folder: Path, grid: Sequence[Axis], replications: int, order: Order | None) -> Journal:
    check_sweep_target(folder)
    runs = replications
    for axis in grid:
        runs *= len(axis.values)
    return Journal(folder, {"axes": [asdict(axis) for axis in grid], "runs": runs, **(order or {})})


def _check_overrides(grid: Sequence[Axis], overrides: Iterable[str]) -> None:
    """Raise InputError if a key is both set and varied: the value that is set would have no effect."""
    varied = {axis.path for axis in grid}
    for text in overrides:
        path = text.partition("=")[0].strip()
        if path in varied:
            raise InputError(f"{path} is varied by --sweep as well", key="--set", help="give it in one of the two")


def _check_effect(cases: Sequence[Scenario]) -> None:
    """Raise InputError if a case needs real time, or if what is set or varied is read in none of the cases."""
    for case in cases:
        check_virtual_time(case)
    unread = {error.key: error for error in unread_overrides(cases[0])}
    for case in cases[1:]:
        if not unread:
            return
        still = {error.key for error in unread_overrides(case)}
        unread = {key: error for key, error in unread.items() if key in still}
    for error in unread.values():
        raise error


def read_sweep_index(folder: Path) -> Mapping[str, Any]:
    """Read `sweep.json` of a sweep's folder. Raises InputError if it is damaged or has another format."""
    path = folder / INDEX_FILE
    try:
        with naming(path):
            index: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"is damaged: {error}", file=str(path), help="run the sweep again") from error
    if index.get("format") != FORMAT:
        raise InputError(f"is of the format {index.get('format')!r}; this lasthop reads {FORMAT!r}", file=str(path))
    return index


def axis_of(path: str, values: object) -> Axis:
    """Return an axis; values other than strings are written as TOML. A string, or a single value, is one value."""
    several = values if isinstance(values, Iterable) and not isinstance(values, str | Mapping) else (values,)
    texts = tuple(value if isinstance(value, str) else toml_value(value) for value in several)
    if not texts:
        raise InputError(f"the axis {path} has no value", help="give a list of values")
    return Axis(path, texts)


def plain_values(texts: Sequence[str]) -> Sequence[str | int | float | bool]:
    """Return the values of texts that are all booleans or all numbers; else the texts ("2 Mbit/s", "reno")."""
    for read in (_WORDS.__getitem__, int, float):
        try:
            return [read(text) for text in texts]
        except (KeyError, ValueError):
            continue
    return texts


_WORDS: Final = {"true": True, "false": False}


def parse_axis(text: str) -> Axis:
    """Read an axis from "path=value,value". A comma inside brackets, braces or quotes is part of its value."""
    path, equals, rest = text.partition("=")
    values = tuple(value for value in _split(rest) if value)
    if not equals or not path.strip() or not values:
        raise InputError(f"{text!r} is no axis", key="--sweep", help="write PATH=VALUE,VALUE,…")
    if len(set(values)) < len(values):
        raise InputError(f"{text!r} names a value twice", key="--sweep", help="name each value once")
    return Axis(path.strip(), values)


def measured(summary: Mapping[str, Any], rivals: Rivals = NO_RIVALS) -> dict[str, float]:
    """Return the measures of a run over all its flows, without missing measures.

    The throughput is of all flows over one period (`totals.period_of`), the fairness that of `rivals`.
    """
    flows, links = summary["flows"], summary["links"]
    found: dict[str, float | None] = {
        "throughput_Bps": throughput(summary),
        "elapsed_s": max((flow["elapsed_s"] for flow in flows if flow["elapsed_s"] is not None), default=None),
        "fairness": fairness(summary, rivals),
        "retransmissions": sum(flow["retransmissions"] for flow in flows),
        "unnecessary_retransmissions": sum(flow["unnecessary_retransmissions"] for flow in flows),
        "timeouts": sum(flow["timeouts"] for flow in flows),
        "drops": sum(link["queue_drops"] + link["error_drops"] for link in links),
    }
    for key in ("delay_mean_s", "delay_p95_s", "transfer_mean_s", "frame_loss", "stalled_s"):
        found[key] = max((flow[key] for flow in flows if flow.get(key) is not None), default=None)
    found["mos"] = min((flow["mos"] for flow in flows if flow.get("mos") is not None), default=None)
    found["queue_mean"] = max(
        (link["queue_mean"] for link in links if link.get("queue_mean") is not None), default=None
    )
    return {key: float(value) for key, value in found.items() if value is not None}


def _split(text: str) -> Iterator[str]:
    depth, quote, start = 0, "", 0
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        elif letter == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    yield text[start:].strip()


def _check_size(grid: Sequence[Axis], runs: int) -> None:
    if not grid:
        raise InputError("a sweep needs an axis", key="--sweep", help="write PATH=VALUE,VALUE,…")
    paths = [axis.path for axis in grid]
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise InputError(f"{twice} is swept twice", key="--sweep", help="put its values into one axis")
    if runs > MOST_RUNS:
        raise InputError(f"the grid has {runs} runs, and {MOST_RUNS} is the most", help="fewer values or replications")


def _scenario(
    source: Given,
    grid: Sequence[Axis],
    point: Sequence[str],
    seed: int | None,
    overrides: tuple[str, ...],
    allow_code: bool,
) -> Scenario:
    varied = [f"{axis.path}={value}" for axis, value in zip(grid, point, strict=True)]
    with renaming({f"--set {text}": f"axis {text}" for text in varied}):
        return scenario_of(source, overrides=[*overrides, *varied], seed=seed, allow_code=allow_code)


def check_sweep_target(folder: Path) -> None:
    """Raise InputError unless `folder` is free, empty, or holds an earlier sweep."""
    if folder.exists() and not folder.is_dir():
        raise InputError("is a file, not a folder", file=str(folder), help="name a new folder with --out")
    if folder.is_dir() and not {path.name for path in folder.iterdir()} <= _names_of_ours(folder):
        raise InputError(
            "has files that are not a sweep's, so it is left alone",
            file=str(folder),
            help="name a new or empty folder with --out",
        )


def _names_of_ours(folder: Path) -> frozenset[str]:
    """Return the names that a sweep's folder may have: its files, the runs of its cases, and drawings of them."""
    return FILES | PARTIAL | {CASES_FOLDER} | {path.name for path in drawings_in(folder)}


def _discard_what_was_made_of(folder: Path) -> None:
    """Remove the runs of cases, and the drawings, that were made of an earlier sweep."""
    for drawing in drawings_in(folder):
        drawing.unlink()
    for run in (folder / CASES_FOLDER).glob("*/"):
        discard(run)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which is renamed to `path` after the block."""
    partial = path.with_name(f".{path.name}.partial")
    with naming(path):
        yield partial
        partial.replace(path)


FILES: Final = frozenset({INDEX_FILE, TABLE_FILE, PICTURE_FILE, JOURNAL_FILE})
PARTIAL: Final = frozenset(f".{name}.partial" for name in FILES)
"""Files of a sweep, including files that a killed sweep can leave."""
