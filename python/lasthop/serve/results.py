"""Contents of a server's folders: runs, sweeps and captures, listed and read for the page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lasthop.errors import InputError
from lasthop.experiments.comparison import compare
from lasthop.experiments.journal import JOURNAL_FILE, read_failures, read_order, read_runs
from lasthop.experiments.sweeps import TABLE_FILE, read_sweep_index
from lasthop.report.page import report_data, report_page
from lasthop.results import RunResult, open_run
from lasthop.results.folder import INDEX_FILE, STUDY_FILE, SWEEP_FILE
from lasthop.serve.places import below

DEPTH: Final = 3
"""Levels of folders that are searched for results."""

MOST: Final = 2000
"""Results that are listed."""

CAPTURES: Final = (".pcap", ".pcapng", ".cap")
MOST_COMPARED: Final = 8


def listed(folder: Path) -> list[dict[str, Any]]:
    """Return the runs and sweeps below the folder, the newest first; damaged results have an error."""
    found = [_entry(folder, index) for index in _indices(folder)]
    return sorted(found, key=lambda entry: -entry["changed"])[:MOST]


def captures(folder: Path) -> list[dict[str, Any]]:
    """Return the captures directly in the folder: name and size in bytes."""
    files = [path for path in sorted(folder.iterdir()) if path.suffix in CAPTURES and path.is_file()]
    return [{"name": path.name, "bytes": path.stat().st_size} for path in files]


def folder_of(folder: Path, name: str) -> Path:
    """Return the folder of a result from its name, which has "/" between levels."""
    parts = name.split("/")
    if len(parts) > DEPTH:
        raise InputError(f"there is no result {name[:100]!r}", help="the page of results lists them")
    path = below(folder, *parts)
    if not path.is_dir():
        raise InputError(f"there is no result {name[:100]!r}", help="the page of results lists them")
    return path


def free_name(folder: Path, wanted: str) -> str:
    """Return `wanted`, or `wanted-2`, …: the first that no file or folder has."""
    below(folder, wanted)
    names = [wanted, *(f"{wanted}-{number}" for number in range(2, 10_000))]
    return next(name for name in names if not (folder / name).exists())


def view(folder: Path, names: Sequence[str]) -> bytes:
    """Return the data of the viewer for these runs: a line with the index as JSON, and the packed columns.

    They are not deflated: on the way within a machine that takes longer than to send them as they are.
    """
    index, columns = report_data(_runs(folder, names))
    return json.dumps(index, separators=(",", ":")).encode() + b"\n" + columns


def page(folder: Path, names: Sequence[str]) -> str:
    """Return one self-contained page of these runs."""
    return report_page(_runs(folder, names))


def differences(folder: Path, names: Sequence[str]) -> dict[str, Any]:
    """Return the differences between results, as `lasthop compare --json` prints them."""
    _check_number(names)
    return {**compare([folder_of(folder, name) for name in names]).to_json(), "results": list(names)}


def summary_of(folder: Path, name: str) -> Mapping[str, Any]:
    """Return the summary of a run, as `lasthop run --json` prints it."""
    return open_run(folder_of(folder, name)).summary


def sweep_of(folder: Path, name: str) -> dict[str, Any]:
    """Return a sweep's index: axes, and cases with their measures; and the name of its table."""
    return {**read_sweep_index(folder_of(folder, name)), "table": f"{name}/{TABLE_FILE}"}


def sweep_order(folder: Path, name: str) -> dict[str, Any]:
    """Return the order of a sweep of the page that was stopped, as the page gave it.

    Raises InputError if nothing is to be continued, or a command began the sweep.
    """
    order = read_order(folder_of(folder, name))
    if "text" not in order:
        raise InputError(f"{name} was begun by a command", help="give the same command again; it continues")
    axes = [{"key": axis["path"], "values": list(axis["values"])} for axis in order["axes"]]
    return {"out": name, "axes": axes, **{key: value for key, value in order.items() if key not in ("axes", "runs")}}


def _runs(folder: Path, names: Sequence[str]) -> list[RunResult]:
    _check_number(names)
    return [open_run(folder_of(folder, name)) for name in names]


def _check_number(names: Sequence[str]) -> None:
    if not 1 <= len(names) <= MOST_COMPARED:
        raise InputError(f"{len(names)} results are named", help=f"name 1 to {MOST_COMPARED}")


def _indices(folder: Path) -> Iterator[Path]:
    """Yield the files that mark results. Folders with a leading dot are parts of results that are not whole."""
    root = folder.resolve()
    for depth in range(1, DEPTH + 1):
        for path in folder.glob("/".join(["*"] * depth)):
            hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
            if hidden or not path.is_dir() or not path.resolve().is_relative_to(root):
                continue
            names = [name for name in MARKS if (path / name).is_file()]
            yield from (path / name for name in names[:1])


def _entry(folder: Path, index: Path) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": str(index.parent.relative_to(folder)),
        "kind": KINDS[index.name],
        "changed": index.stat().st_mtime,
        "problem": None,
    }
    try:
        return entry | MARKS[index.name](index)
    except (InputError, OSError, ValueError, KeyError, TypeError) as error:
        return entry | {"problem": str(error)}


def _run_entry(index: Path) -> dict[str, Any]:
    read = json.loads(index.read_text(encoding="utf-8"))
    flows = read["summary"]["flows"]
    return {
        "scenario": read["scenario"],
        "seed": read["seed"],
        "clock": read["clock"],
        "stopped_s": read["summary"]["stopped_s"],
        "flows": len(flows),
        "bytes": sum(flow.get("bytes") or 0 for flow in flows),
        "retransmissions": sum(flow.get("retransmissions") or 0 for flow in flows),
        "has_view": "segments.parquet" in read["files"],
    }


def _sweep_entry(index: Path) -> dict[str, Any]:
    read = read_sweep_index(index.parent)
    return {"scenario": read["scenario"], "axes": [axis["path"] for axis in read["axes"]], "cases": len(read["cases"])}


def _stopped_entry(index: Path) -> dict[str, Any]:
    order = read_order(index.parent)
    axes = [axis["path"] for axis in order["axes"]]
    failures = read_failures(index.parent)
    stopped = {"done": len(read_runs(index.parent)), "of": order["runs"], "failed": len(failures)}
    return {"scenario": order.get("name", ""), "axes": axes, "stopped": stopped, "failures": failures[:MOST_FAILURES]}


def _study_entry(index: Path) -> dict[str, Any]:
    read = json.loads(index.read_text(encoding="utf-8"))
    claims = [claim["holds"] for claim in read["claims"]]
    return {"scenario": read["study"], "rows": len(read["rows"]), "claims": len(claims), "hold": claims.count(True)}


MOST_FAILURES: Final = 10
"""Failed runs of a sweep that are listed."""

MARKS: Final = {
    INDEX_FILE: _run_entry,
    SWEEP_FILE: _sweep_entry,
    STUDY_FILE: _study_entry,
    JOURNAL_FILE: _stopped_entry,
}
"""The files that mark results, and how each is read."""

KINDS: Final = {INDEX_FILE: "run", SWEEP_FILE: "sweep", STUDY_FILE: "study", JOURNAL_FILE: "sweep"}
