"""A grid of runs: one scenario with some keys varied, each case under one seed or several.

>>> import lasthop
>>> grid = lasthop.sweep("quickstart", {"links.lasthop.down.queue.limit": ["7 packets", "20 packets"]})
>>> [round(case.measures["retransmissions"].mean) for case in grid.cases]  # doctest: +SKIP
[55, 21]
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from html import escape
from itertools import product
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lasthop import _native
from lasthop.entry_points import entry_point
from lasthop.errors import InputError, RunError, naming
from lasthop.experiments.totals import NO_RIVALS, Rivals, fairness, rivals_of, throughput
from lasthop.parallel import processors
from lasthop.progress_bar import Tick, telling
from lasthop.provenance import machine, versions
from lasthop.results.html import table_html
from lasthop.results.summarised import plain_table
from lasthop.scenario import RECORD_NOTHING, Given, Overrides, Scenario, check_virtual_time, scenario_of
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
    """One point of the grid: the value on each axis, the summaries of its runs, and the flows that compete in them."""

    values: tuple[str, ...]
    seeds: tuple[int, ...]
    summaries: tuple[Mapping[str, Any], ...] = field(repr=False)
    rivals: Rivals = NO_RIVALS

    @property
    def measures(self) -> dict[str, Spread]:
        """The spread over the seeds of each measure that all runs of the case have."""
        found = [measured(summary, self.rivals) for summary in self.summaries]
        return {key: spread([each[key] for each in found]) for key in found[0] if all(key in each for each in found)}

    @property
    def deterministic(self) -> bool:
        """Whether all runs are equal, so that no random number made a difference."""
        return are_alike(self.summaries)


@dataclass(frozen=True, repr=False)
class Sweep:
    """A grid of cases, in the order of the axes with the last axis varying fastest."""

    scenario: str
    axes: tuple[Axis, ...]
    cases: tuple[Case, ...]

    @property
    def alike(self) -> list[list[Case]]:
        """The groups of several cases whose runs are the same to the last bit, so that their keys changed nothing."""
        groups: dict[str, list[Case]] = {}
        for case in self.cases:
            groups.setdefault(json.dumps(case.summaries, sort_keys=True, default=str), []).append(case)
        return [group for group in groups.values() if len(group) > 1]

    def to_json(self) -> dict[str, Any]:
        """Return the grid as a JSON object."""
        return {
            "scenario": self.scenario,
            "axes": [asdict(axis) for axis in self.axes],
            "alike": [[list(case.values) for case in cases] for cases in self.alike],
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

        Raises InputError if the folder has anything but an earlier sweep, or cannot be written.
        """
        folder = Path(folder)
        check_sweep_target(folder)
        with naming(folder):
            folder.mkdir(parents=True, exist_ok=True)
        index = {"format": FORMAT, "versions": versions(), "machine": machine(), **self.to_json()}
        with _whole(folder / TABLE_FILE) as path:
            _native.write_table(self.table(), path)
        with _whole(folder / PICTURE_FILE) as path:
            entry_point("save-sweep")(self, path)
        with _whole(folder / INDEX_FILE) as path:
            path.write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n")

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
    jobs: int | None = None,
    tick: Tick | None = None,
    progress: bool = False,
) -> Sweep:
    """Run a scenario for every combination of the axes' values, each under `replications` seeds that start at its own.

    `source` is a path, a name, TOML text or a mapping, as `lasthop.run` takes it. `axes` maps keys to lists of values;
    a text or a number alone is one value. `progress` shows a bar of finished runs, and `tick` is called with their
    number. `jobs` is the number of parallel runs (default: the number of processors). All cases are read before the
    first one runs. Raises InputError if one is wrong, and RunError, with the case and the seed, if a run fails.

    >>> import lasthop
    >>> lasthop.sweep("quickstart", {"links.lasthop.down.queue.limit": ["7 packets", "50 packets"]}, replications=3)
    <Sweep quickstart: links.lasthop.down.queue.limit (2), 6 runs>
    """
    if isinstance(source, Scenario):
        help = "give the path, the name, the text or the mapping that it was read from"
        raise InputError("a sweep changes keys of a file, and a resolved scenario has none", help=help)
    grid = tuple(axes) if isinstance(axes, Sequence) else tuple(axis_of(path, values) for path, values in axes.items())
    points = list(product(*(axis.values for axis in grid)))
    _check_size(grid, len(points) * replications)
    fixed = override_texts(overrides)
    _check_set_once(grid, fixed)
    cases = [_scenario(source, grid, point, seed, fixed) for point in points]
    seeds = tuple(range(cases[0].seed, cases[0].seed + replications))
    with telling(tick, progress=progress) as tell:
        summaries = _run_all(cases, seeds, jobs or processors(), tell)
    made = (
        Case(
            point,
            seeds,
            tuple(summaries[place * replications : (place + 1) * replications]),
            rivals_of(case.specification),
        )
        for place, (point, case) in enumerate(zip(points, cases, strict=True))
    )
    return Sweep(cases[0].name, grid, tuple(made))


def read_sweep_index(folder: Path) -> Mapping[str, Any]:
    """Read `sweep.json` of a sweep's folder. Raises InputError if it is damaged or has another format."""
    path = folder / INDEX_FILE
    try:
        with naming(path):
            index: Mapping[str, Any] = json.loads(path.read_text())
    except ValueError as error:
        raise InputError(f"is damaged: {error}", file=str(path), help="run the sweep again") from error
    if index.get("format") != FORMAT:
        raise InputError(f"is of the format {index.get('format')!r}; this lasthop reads {FORMAT!r}", file=str(path))
    return index


def axis_of(path: str, values: object) -> Axis:
    """Return an axis; values that are not strings are written as TOML. A string, or what is not iterable, is one."""
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
    """Return the measures of a run over all its flows, without those that it does not have.

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
    for key in ("delay_mean_s", "delay_p95_s", "transfer_mean_s", "frame_loss"):
        found[key] = max((flow[key] for flow in flows if flow.get(key) is not None), default=None)
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


def _check_set_once(grid: Sequence[Axis], overrides: Sequence[str]) -> None:
    """Raise InputError if an axis replaces what an override sets."""
    swept = {axis.path for axis in grid}
    if both := next((text for text in overrides if text.partition("=")[0].strip() in swept), None):
        key = both.partition("=")[0].strip()
        raise InputError(f"{key} is swept, so this changes nothing", key=f"--set {both}", help="keep one of the two")


def _scenario(
    source: Given, grid: Sequence[Axis], point: Sequence[str], seed: int | None, overrides: tuple[str, ...]
) -> Scenario:
    varied = [f"{axis.path}={value}" for axis, value in zip(grid, point, strict=True)]
    with renaming({f"--set {text}": f"axis {text}" for text in varied}):
        return scenario_of(source, overrides=[*overrides, *varied], seed=seed)


def _run_all(cases: Sequence[Scenario], seeds: Sequence[int], jobs: int, tick: Tick) -> list[Mapping[str, Any]]:
    for case in cases:
        check_virtual_time(case)
    runs = [(place, seed) for place in range(len(cases)) for seed in seeds]
    summaries: dict[int, Mapping[str, Any]] = {}

    def finished(ended: Sequence[tuple[int, _native.Run | Exception | None]]) -> list[int]:
        for place, result in ended:
            if isinstance(result, Exception):
                case, seed = runs[place]
                raise RunError(f"{', '.join(cases[case].overrides)}, seed {seed}: {result}") from result
            if result is not None:
                summaries[place] = json.loads(result.summary_json)
        tick(len(summaries), len(runs))
        return []

    _native.run_batch([(case.json, RECORD_NOTHING) for case in cases], runs, jobs, finished)
    return [summaries[place] for place in range(len(runs))]


def check_sweep_target(folder: Path) -> None:
    """Raise InputError unless `folder` is free, empty, or holds an earlier sweep."""
    if folder.exists() and not folder.is_dir():
        raise InputError("is a file, not a folder", file=str(folder), help="name a new folder with --out")
    if folder.is_dir() and not {path.name for path in folder.iterdir()} <= FILES | PARTIAL:
        raise InputError(
            "has files that are not a sweep's, so it is left alone",
            file=str(folder),
            help="name a new or empty folder with --out",
        )


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which is renamed to `path` after the block."""
    partial = path.with_name(f".{path.name}.partial")
    with naming(path):
        yield partial
        partial.replace(path)


FILES: Final = frozenset({INDEX_FILE, TABLE_FILE, PICTURE_FILE})
PARTIAL: Final = frozenset(f".{name}.partial" for name in FILES)
"""Files of a sweep, and those that a killed sweep can leave."""
