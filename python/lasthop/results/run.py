"""One run: in memory (`Run`), on disk (`RunResult`), and the conversion between the two."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lasthop import _native
from lasthop.entry_points import entry_point
from lasthop.errors import InputError, naming
from lasthop.provenance import machine, sha256_of, versions
from lasthop.results.folder import check_is_result, whole_folder
from lasthop.results.index import FORMAT, read_index
from lasthop.results.stored_table import StoredTable
from lasthop.results.summarised import Summarised

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure


class ArrowStream(Protocol):
    """An object that exports its rows through the Arrow C stream interface (PyCapsule)."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


@dataclass(frozen=True, repr=False)
class Run(Summarised):
    """The result of one run, in memory.

    `specification` is the resolved scenario with its `hash`, `summary` the object that `lasthop run --json` prints,
    `tables` the recorded tables (`lasthop show results` has columns and units), `captures` pcapng files by observation
    point.
    """

    specification: Mapping[str, Any]
    hash: str
    summary: Mapping[str, Any]
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    captures: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def name(self) -> str:  # type: ignore[override]  # it is only read
        """The scenario's name."""
        return str(self.summary.get("scenario", ""))

    @property
    def table_names(self) -> tuple[str, ...]:  # type: ignore[override]  # it is only read
        """The names of the recorded tables."""
        return tuple(self.tables)

    def table(self, name: str) -> pa.Table:
        """Return a recorded table; `.to_pandas()` or `polars.from_arrow(table)` makes a frame of it.

        Raises InputError, which says how to record it, if the run has no such table.

        >>> import lasthop
        >>> run = lasthop.run("quickstart", overrides={"record.tables": ["tcp"]})
        >>> run.table("tcp").to_pandas()["cwnd"].min().item()
        14480
        """
        if name not in self.tables:
            raise _not_recorded(name, self.table_names, "")
        return self.tables[name]

    def plot(self, kind: str, **view: Any) -> Figure:
        """Draw a picture, as `lasthop plot` does: `kind` is "time-sequence", "cwnd", …

        `view` are the fields of `lasthop.plots.View`. Raises InputError for an unknown kind, flow or option, and if a
        table that the picture needs was not recorded.
        """
        return _draw(self, kind, view)


def arrow_table(stream: ArrowStream) -> pa.Table:
    """Return a table of the native module as one of pyarrow, without copying."""
    import pyarrow as pa

    # `pa.table` imports pandas, where it is installed, to find out whether it has a data frame of it: 0.4 s.
    return pa.RecordBatchReader.from_stream(stream).read_all()


def write_run(run: Run, folder: str | PathLike[str]) -> None:
    """Write `run` to `folder`, whole or not at all. The same run gives the same bytes.

    Raises InputError if the folder exists and is not an earlier result, or cannot be written.

    >>> import lasthop
    >>> lasthop.write_run(lasthop.run("quickstart"), "results/quickstart")
    >>> lasthop.open_run("results/quickstart").name
    'quickstart'
    """
    with whole_folder(Path(folder)) as partial:
        write_files(run, partial)


def write_files(run: Run, partial: Path) -> None:
    """Write the files of `run` into an empty folder; the caller puts that in its place."""
    for name, table in run.tables.items():
        _native.write_table(table, partial / f"{name}.parquet")
    for point, capture in run.captures.items():
        path = partial / f"capture-{point}.pcapng"
        with naming(path):
            path.write_bytes(capture)
    write_index(partial, run.summary, run.hash, run.specification)


def write_index(partial: Path, summary: Mapping[str, Any], hash: str, specification: Mapping[str, Any]) -> None:
    """Write `run.json` into a folder that has all other files of the run."""
    files = {path.name: _fingerprint(path) for path in sorted(partial.iterdir())}
    index = {
        "format": FORMAT,
        "scenario": summary.get("scenario"),
        "seed": summary.get("seed"),
        "clock": summary.get("clock"),
        "hash": hash,
        "versions": versions(),
        "machine": machine(),
        "summary": summary,
        "files": files,
        "specification": specification,
    }
    path = partial / "run.json"
    with naming(path):
        path.write_text(json.dumps(index, indent=2, ensure_ascii=False) + "\n", "utf-8", newline="\n")


def _fingerprint(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": sha256_of(path)}


class RunResult(Summarised):
    """A run's folder, opened for reading. A table is read at each call of `table`."""

    def __init__(self, path: Path, index: Mapping[str, Any]) -> None:
        self.path = path
        self.index = index

    @property
    def name(self) -> str:  # type: ignore[override]  # it is only read
        """The scenario's name."""
        return str(self.index["scenario"])

    @property
    def summary(self) -> Mapping[str, Any]:  # type: ignore[override]  # it is only read
        """The summary of the run, as `lasthop run --json` prints it."""
        summary: Mapping[str, Any] = self.index["summary"]
        return summary

    @property
    def specification(self) -> Mapping[str, Any]:
        """The resolved scenario, with every default written out."""
        specification: Mapping[str, Any] = self.index["specification"]
        return specification

    @cached_property
    def table_names(self) -> tuple[str, ...]:  # type: ignore[override]  # it is only read
        """The names of the recorded tables."""
        return tuple(Path(name).stem for name in self.index["files"] if name.endswith(".parquet"))

    @cached_property
    def captures(self) -> Mapping[str, Path]:
        """The paths of the captures (pcapng), by observation point."""
        names = [name for name in self.index["files"] if name.endswith(".pcapng")]
        return {name.removeprefix("capture-").removesuffix(".pcapng"): self.path / name for name in names}

    def table(self, name: str) -> pa.Table:
        """Read a recorded table.

        Raises InputError, which says how to record it, if the run has no such table, or if its file is damaged.
        """
        return self.stored(name).read()  # read_table() would load pyarrow.dataset, and pandas with it

    def stored(self, name: str) -> StoredTable:
        """Return a recorded table whose columns are read when they are asked for. Raises what `table` does."""
        if name not in self.table_names:
            raise _not_recorded(name, self.table_names, str(self.path))
        return StoredTable(self.path / f"{name}.parquet")

    def plot(self, kind: str, **view: Any) -> Figure:
        """Draw a picture, as `lasthop plot` does: `kind` is "time-sequence", "cwnd", …

        `view` are the fields of `lasthop.plots.View`. Raises InputError for an unknown kind, flow or option, and if a
        table that the picture needs was not recorded.
        """
        return _draw(self, kind, view)


def open_run(path: str | PathLike[str]) -> RunResult:
    """Open a run's folder. Raises InputError if it is no result, is incomplete, or has another format.

    >>> import lasthop
    >>> lasthop.open_run("results/quickstart").flows.num_rows
    1
    """
    path = Path(path)
    check_is_result(path, "run.json")
    index = read_index(path / "run.json")
    for name, fingerprint in index["files"].items():
        _check_file(path / name, fingerprint["bytes"])
    return RunResult(path, index)


def _not_recorded(name: str, recorded: tuple[str, ...], file: str) -> InputError:
    return InputError(
        f"the run recorded no table {name!r} (recorded: {', '.join(recorded) or 'none'})",
        file=file or None,
        help=f"name it under [record] tables, or run again with --set 'record.tables=[\"{name}\"]'",
    )


def _draw(source: Run | RunResult, kind: str, view: Mapping[str, Any]) -> Figure:
    figure: Figure = entry_point("draw")(kind, source, view)
    return figure


def _check_file(path: Path, size: int) -> None:
    found = path.stat().st_size if path.is_file() else None
    if found != size:
        what = "is missing" if found is None else f"has {found} bytes of {size}"
        raise InputError(
            f"an incomplete result: {path.name} {what}",
            file=str(path.parent),
            help="run the scenario again, with --out naming this folder",
        )
