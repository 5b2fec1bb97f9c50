"""A folder that is written whole or not at all.

All files go into a sibling folder `.NAME.partial-PID` first, and one rename puts it in place. So a folder of the right
name is always whole, and a killed run leaves only its `.partial` folder, which the next run to the same place removes.
A folder that is no result is never touched, and files that lasthop did not write (a note, a photograph) are never
deleted: they move to the folder of the new result. What lasthop drew of the old result, pictures and a page, goes with
it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lasthop.errors import InputError
from lasthop.results.drawings import is_drawing
from lasthop.system import is_alive

INDEX_FILE = "run.json"
"""The file that marks a folder as the result of a run, written last."""

STORE_FILE = "runs.jsonl"
"""The file that marks a folder as a study's, which is never replaced."""

STUDY_FILE = "study.json"
SWEEP_FILE = "sweep.json"
"""The files that mark a finished study and a sweep."""

CASES_FOLDER = "cases"
"""The folder in those of studies and sweeps with the results of single cases."""


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder to write into; it becomes `target` on success, and is removed on any exception.

    Folders above `target` that were made for it are removed with it.

    Raises InputError, before anything is written, if `target` exists and is not an earlier result.
    """
    check_target(target)
    partial = _partial_path(target, os.getpid())
    made = [folder for folder in target.parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _clear_abandoned(target)
        partial.mkdir()
    except OSError as error:
        raise InputError(
            f"cannot write here: {error.strerror}", file=str(target), help="choose another folder with --out"
        ) from error
    try:
        yield partial
        _put_in_place(partial, target)
    finally:
        _remove(partial, _parts(partial))
        for folder in made:
            _remove(folder, ())


def check_target(target: Path) -> None:
    """Raise InputError unless `target` is free, empty, or an earlier run's result, which may be replaced."""
    if not target.exists():
        return
    if not target.is_dir():
        raise InputError("is a file, not a folder", file=str(target), help="name a new folder with --out")
    if any(target.iterdir()) and not _own_files(target):
        raise _refusal_to_replace(target)


def check_is_result(path: Path, index: str) -> None:
    """Raise InputError unless `path` is a folder that holds `index` ("run.json" or "study.json")."""
    if not path.exists():
        raise InputError("no such result", file=str(path), help="name a folder that was written by lasthop with --out")
    if not path.is_dir():
        raise InputError("is a file, not a result folder", file=str(path), help="name its folder")
    if ".partial-" in path.name:
        raise InputError(
            "an incomplete result: the run that wrote it did not finish",
            file=str(path),
            help="run again with --out: that writes a whole folder, and clears this one away",
        )
    if not (path / index).is_file():
        raise _refusal_to_read(path)


def results_in(path: Path) -> list[Path]:
    """Return the results of a folder: itself, or the results below it, as `lasthop fetch --out` writes them."""
    return ([] if (path / INDEX_FILE).is_file() else _below(path)) or [path]


def has_cases(path: Path) -> bool:
    """Whether a folder is that of a sweep or of a finished study, and not that of a run."""
    return (path / SWEEP_FILE).is_file() or (path / STUDY_FILE).is_file()


def _below(path: Path) -> list[Path]:
    """Return the results directly below a folder, by name."""
    return sorted(index.parent for index in path.glob(f"*/{INDEX_FILE}") if not index.parent.name.startswith("."))


def drawings_in(folder: Path) -> list[Path]:
    """Return the pictures and pages in a folder that lasthop drew."""
    return [path for path in sorted(folder.iterdir()) if is_drawing(path)]


def discard(folder: Path) -> None:
    """Remove what lasthop wrote of a run's result, and the folder if nothing else is in it."""
    _remove(folder, [*_own_files(folder), *(path.name for path in drawings_in(folder))])


def looks_incomplete(path: Path) -> bool:
    """Whether the folder has the parts of a result but not the index, which is written last."""
    return any(name != INDEX_FILE for name in _parts(path))


def _own_files(folder: Path) -> list[str]:
    """Return the names of the files in a result's folder that lasthop wrote; none if it is no result."""
    try:
        index = json.loads((folder / INDEX_FILE).read_text("utf-8"))
        own = [*index["files"], INDEX_FILE] if str(index["format"]).startswith("lasthop run ") else []
    except (OSError, ValueError, KeyError, TypeError):
        return []
    # lasthop writes no name with a folder in it.
    return [name for name in own if Path(name).name == name]


def _parts(folder: Path) -> list[str]:
    """Return the names of the files in a folder that look like those of a run."""
    return [path.name for pattern in ("*.parquet", "capture-*.pcapng", INDEX_FILE) for path in folder.glob(pattern)]


def _remove(folder: Path, names: Iterable[str]) -> None:
    """Remove some files of a folder, and the folder if it is empty then."""
    try:
        for name in names:
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()
    except OSError:
        # The folder does not exist, or has a file that lasthop did not write.
        return


def _refusal_to_replace(path: Path) -> InputError:
    if (path / STORE_FILE).is_file():
        what = "holds a study, so it is left alone"
    elif (path / INDEX_FILE).is_file():
        what = f"has a {INDEX_FILE} that is damaged or not lasthop's, so it is left alone"
    elif looks_incomplete(path):
        what = "holds an incomplete result: tables or captures, but no run.json"
    else:
        what = "exists and is not the result of a run, so it is left alone"
    return InputError(what, file=str(path), help="name a new or empty folder with --out")


def _refusal_to_read(path: Path) -> InputError:
    if (path / SWEEP_FILE).is_file():
        what = "holds a sweep, which keeps the summaries of its runs and none of their tables"
        remedy = f"name a run of a case, below {CASES_FOLDER}/: lasthop report --case CASE makes it"
    elif (path / STUDY_FILE).is_file():
        what = "holds a study, which keeps the measurements of its runs and none of their tables"
        remedy = f"name a run of a case, below {CASES_FOLDER}/: lasthop report --case CASE makes it"
    elif (path / STORE_FILE).is_file():
        what, remedy = (
            "holds a study that did not finish",
            "start the study again: it continues with the runs that are missing",
        )
    elif looks_incomplete(path):
        what = "holds an incomplete result: tables or captures, but no run.json"
        remedy = "run again with --out into a new folder"
    elif below := _below(path):
        what, remedy = "holds several results", f"name one of them: {', '.join(str(one) for one in below)}"
    else:
        what, remedy = "is no result of lasthop", "name a folder that was written with --out"
    return InputError(what, file=str(path), help=remedy)


def _partial_path(target: Path, pid: int) -> Path:
    return target.parent / f".{target.name}.partial-{pid}"


def _clear_abandoned(target: Path) -> None:
    """Remove the partial folders that killed runs left next to `target`."""
    for partial in target.parent.glob(f".{target.name}.partial-*"):
        pid = partial.name.rpartition("-")[2]
        if pid.isdigit() and (int(pid) == os.getpid() or not is_alive(int(pid))):
            _remove(partial, _parts(partial))


def _put_in_place(partial: Path, target: Path) -> None:
    """Rename `partial` to `target`. An earlier result is renamed first, and renamed back if that fails."""
    replaced = target.parent / f".{target.name}.replaced-{os.getpid()}"
    own = _own_files(target)
    if target.exists():
        target.rename(replaced)
    try:
        partial.rename(target)
    except OSError:
        if replaced.exists():
            replaced.rename(target)
        raise
    if replaced.exists():
        drawn = [path.name for path in drawings_in(replaced)]
        _move_along({path for path in replaced.iterdir() if path.name not in (*own, *drawn)}, target)
        _remove(replaced, (*own, *drawn))


def _move_along(files: Iterable[Path], target: Path) -> None:
    """Move files that lasthop did not write to the new result, except those with the name of a new file."""
    for file in files:
        if not (target / file.name).exists():
            file.rename(target / file.name)
