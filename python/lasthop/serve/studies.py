"""Studies: those of the library, their results, and the run of a row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from shlex import join
from typing import Annotated, Any, Final

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field

from lasthop import catalogue
from lasthop.errors import InputError
from lasthop.results.folder import STORE_FILE, STUDY_FILE
from lasthop.serve.jobs import Jobs
from lasthop.serve.places import below
from lasthop.serve.results import folder_of, free_name
from lasthop.serve.settings import Settings
from lasthop.study import load_parts
from lasthop.study.rows import cases_of, names_of

MOST_TABLES: Final = 100
"""Tables of one order."""

Short = Annotated[str, Field(max_length=400)]


class StudyOrder(BaseModel):
    """A study of the library, its tables (none: all), the runs of each case (none: as many as the study has)."""

    model_config = ConfigDict(extra="forbid")
    study: Short
    only: Annotated[list[Short], Field(max_length=MOST_TABLES)] = []
    replications: Annotated[int | None, Field(ge=1, le=1000)] = None
    out: Short


class CaseOrder(BaseModel):
    """A case of a sweep's or a study's result, by its name or its number from 1."""

    model_config = ConfigDict(extra="forbid")
    result: Short
    case: Short


def add_studies(app: FastAPI, settings: Settings, jobs: Jobs) -> None:
    """Add the addresses to a server."""
    folder = settings.folder

    @app.get("/api/studies")
    def all_studies() -> list[dict[str, str]]:
        return [{"name": entry.name, "summary": entry.summary} for entry in catalogue.entries("studies")]

    @app.get("/api/studies/{name}")
    def one_study(name: str) -> dict[str, Any]:
        return described(name)

    @app.get("/api/study")
    def result(name: Short) -> dict[str, Any]:
        return result_of(folder, name)

    @app.post("/api/studies")
    async def run(order: StudyOrder) -> dict[str, Any]:
        described(order.study, tuple(order.only))
        out = order.out if is_begun(folder, order.out) else free_name(folder, order.out)
        if any(job["title"] == out and job["state"] in ("waiting", "running") for job in jobs.all()):
            raise InputError(f"the study into {out!r} runs already", help="wait until it has ended")
        more = {"study": path_of(order.study), "folder": str(folder / out), "cluster": settings.cluster}
        command = command_of(order, out, settings.cluster)
        return jobs.submit("study", out, command, {**order.model_dump(), **more}).shown()

    @app.post("/api/cases")
    async def run_case(order: CaseOrder) -> dict[str, Any]:
        result = folder_of(folder, order.result)
        command = join(["lasthop", "report", order.result, "--case", order.case])
        sent = {"folder": str(result), "root": str(folder), "case": order.case}
        return jobs.submit("case", f"{order.result}: {order.case}", command, sent).shown()


def described(name: str, only: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a study of the library: its title and its tables. Raises InputError if it or a table is not there."""
    path = path_of(name)
    tables = _tables(path)
    if unknown := next((table for table in only if table not in {each["id"] for each in tables}), None):
        raise InputError(f"the study has no table {unknown[:80]!r}", key="only", help="choose one that is listed")
    return {"name": name, "title": _title(path), "tables": tables}


def path_of(name: str) -> str:
    """Return the path of a study of the library: a name alone may also be that of a result in the present folder.

    Raises InputError if there is none.
    """
    found = next((entry.path for entry in catalogue.entries("studies") if entry.name == name), None)
    if found is None:
        raise InputError(f"the library has no study {name[:80]!r}", help="the page of studies lists them")
    return str(found)


def is_begun(folder: Path, name: str) -> bool:
    """Whether a folder has runs of a study, which continues there."""
    return (below(folder, name) / STORE_FILE).is_file()


def result_of(folder: Path, name: str) -> dict[str, Any]:
    """Return a study's result, as `lasthop study --json` prints it, with the case of each row where that can be run."""
    path = folder_of(folder, name) / STUDY_FILE
    if not path.is_file():
        raise InputError(f"{name} is no finished study", help="run it; it continues with the runs that are missing")
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    columns, cases = _cases_of(str(read["study"]))
    for row in read["rows"]:
        row["case"] = cases.get(tuple(str(row.get(column)) for column in columns))
    return {key: read[key] for key in ("study", "title", "rows", "claims", "agreement", "runs", "failures")}


def command_of(order: StudyOrder, out: str, cluster: str | None) -> str:
    """Return the command that does the same, on a cluster if there is one."""
    only = ["--only", ",".join(order.only)] if order.only else []
    replications = ["--replications", str(order.replications)] if order.replications else []
    on = ["--cluster", cluster] if cluster is not None else []
    return join(["lasthop", "study", order.study, *only, *replications, *on, "--out", out])


@lru_cache(maxsize=32)
def _tables(path: str) -> list[dict[str, Any]]:
    return [
        {"id": table.id, "title": table.title, "cases": len(table.cases), "on_request": table.on_request}
        for part in load_parts(path)
        for table in part.tables.values()
    ]


@lru_cache(maxsize=32)
def _title(path: str) -> str:
    return load_parts(path)[0].title


def _cases_of(name: str) -> tuple[Sequence[str], Mapping[Sequence[str], str]]:
    """Return the columns that name a row of a study, and the case of each; none if the library has no such study."""
    try:
        return _rows_with_cases(path_of(name))
    except InputError:
        return (), {}


@lru_cache(maxsize=8)
def _rows_with_cases(path: str) -> tuple[Sequence[str], Mapping[Sequence[str], str]]:
    # The parts of a study have no cases that can be run again.
    study = load_parts(path)[0]
    columns = ("table", *study.columns)
    named = [(names_of(study, row), cases_of(study, row)[0]) for row in study.rows]
    return columns, {tuple(str(names[column]) for column in columns): case for names, case in named}
