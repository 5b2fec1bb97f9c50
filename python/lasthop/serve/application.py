"""The server's addresses, each a few lines over the modules next to this one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from fastapi import FastAPI, Query, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from lasthop import catalogue
from lasthop.errors import InputError, LasthopError
from lasthop.serve import commands, lessons, results, scenarios
from lasthop.serve.guard import Application, Guard
from lasthop.serve.jobs import Job, Jobs
from lasthop.serve.library import library, schema
from lasthop.serve.live_runs import add_live_runs, run_name
from lasthop.serve.places import below
from lasthop.serve.settings import Settings
from lasthop.serve.sockets import send_until_gone
from lasthop.serve.studies import add_studies
from lasthop.serve.uploads import receive_capture

ASSETS: Final = {"laboratory.js": "text/javascript", "laboratory.css": "text/css", "icon.svg": "image/svg+xml"}
"""Files of the page next to this module, with their types."""

Text = Annotated[str, Field(max_length=scenarios.LONGEST)]
Short = Annotated[str, Field(max_length=400)]
Names = Annotated[list[Short], Query(min_length=1, max_length=results.MOST_COMPARED)]
Overrides = Annotated[list[Short], Field(max_length=100)]
Seed = Annotated[int | None, Field(ge=0, lt=2**64)]


class Body(BaseModel):
    """A request's body; a key that is not known is an error."""

    model_config = ConfigDict(extra="forbid")


class Given(Body):
    """A scenario's text."""

    text: Text


class Change(Given):
    """One key of a text, and its new value; null removes it."""

    path: Annotated[list[Short | int], Field(min_length=1, max_length=20)]
    value: Any = None


class Saved(Given):
    """A text to save, and the fingerprint of the text that it replaces."""

    replaces: Short | None = None


class RunOrder(Given):
    """A run: the text, what is set in addition, and the name of the result's folder."""

    name: Short
    out: Short
    overrides: Overrides = []
    seed: Seed = None
    clock: Literal["virtual", "live"] = "virtual"


class AxisOrder(Body):
    """A key, and the values that it takes, as TOML or text."""

    key: Short
    values: Annotated[list[Short], Field(min_length=1, max_length=100)]


class SweepOrder(Given):
    """A sweep: the text, its axes and replications, and the name of the result's folder."""

    name: Short
    out: Short
    axes: Annotated[list[AxisOrder], Field(min_length=1, max_length=6)]
    replications: Annotated[int, Field(ge=1, le=1000)] = 1
    overrides: Overrides = []
    seed: Seed = None


class Stopped(Body):
    """A sweep that was stopped, or in which runs failed: the name of its folder."""

    result: Short


class Ends(Body):
    """Captures of both ends of the same connections, or of further points: their names."""

    captures: Annotated[list[Short], Field(min_length=2, max_length=results.MOST_COMPARED)]


class Measured(Body):
    """The measures that a lesson asks for of a result."""

    result: Short
    measures: Annotated[list[Short], Field(max_length=50)]


def application(settings: Settings) -> Application:
    """Return the server as an ASGI application, the guard in front of it."""
    jobs = Jobs(settings.limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await jobs.close()

    app = FastAPI(title="lasthop", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json", lifespan=lifespan)
    app.add_exception_handler(LasthopError, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    _add_page(app)
    _add_texts(app, settings)
    _add_lessons(app, settings)
    _add_runs(app, settings, jobs)
    _add_jobs(app, jobs)
    add_live_runs(app, settings, jobs)
    _add_sweeps(app, settings, jobs)
    add_studies(app, settings, jobs)
    _add_results(app, settings)
    return Guard(app, settings)


def _add_page(app: FastAPI) -> None:
    @app.get("/")
    def page() -> HTMLResponse:
        return HTMLResponse(_asset("laboratory.html"))

    @app.get("/assets/{name}")
    def asset(name: str) -> Response:
        if name not in ASSETS:
            raise InputError(f"the page has no file {name[:80]!r}")
        return Response(_asset(name), media_type=ASSETS[name])


def _add_texts(app: FastAPI, settings: Settings) -> None:
    folder = settings.folder

    @app.get("/api/library")
    def names() -> dict[str, Any]:
        about = {
            "folder": str(folder.resolve()),
            "live": settings.live,
            "installed": True,
            "cluster": settings.cluster,
            "largest_capture": settings.limits.upload,
        }
        return {**library(), "saved": scenarios.saved(folder), "server": about}

    @app.get("/api/schema")
    def scenario_schema() -> dict[str, Any]:
        return schema()

    @app.get("/api/shown/{kind}/{name}")
    def shown(kind: Literal["profiles", "presets"], name: str) -> dict[str, str]:
        found = {entry.name: entry.path for entry in catalogue.entries(kind)}
        if name not in found:
            raise InputError(f"the library has no {name[:80]!r}", help=f"`lasthop list` has the {kind}")
        return {"text": found[name].read_text(encoding="utf-8")}

    @app.get("/api/scenarios/{origin}/{name}")
    def text(origin: Literal["library", "folder", "preset"], name: str) -> dict[str, Any]:
        read = scenarios.text_of(folder, origin, name)
        return {"text": read, "fingerprint": scenarios.fingerprint(read) if origin == "folder" else None}

    @app.put("/api/scenarios/folder/{name}")
    def save(name: str, saved: Saved) -> dict[str, str]:
        return {"fingerprint": scenarios.save(folder, name, saved.text, saved.replaces)}

    @app.post("/api/check")
    def check(given: Given) -> dict[str, Any]:
        return scenarios.checked(given.text, folder)

    @app.post("/api/change")
    def change(given: Change) -> dict[str, Any]:
        text = scenarios.changed(given.text, given.path, given.value)
        return {"text": text, **scenarios.checked(text, folder)}


def _add_lessons(app: FastAPI, settings: Settings) -> None:
    folder = settings.folder

    @app.get("/api/lessons")
    def all_lessons() -> list[dict[str, str]]:
        return lessons.listed(folder)

    @app.get("/api/lessons/{name}")
    def one_lesson(name: str) -> dict[str, Any]:
        return lessons.lesson(folder, name)


def _add_runs(app: FastAPI, settings: Settings, jobs: Jobs) -> None:
    folder = settings.folder

    @app.post("/api/runs")
    async def run(order: RunOrder) -> dict[str, Any]:
        live = order.clock == "live"
        if live and not settings.live:
            raise InputError("this server runs nothing in real time", help="start it with `lasthop serve --live`")
        scenarios.resolved(order.text, folder, order.overrides, order.seed)
        out = results.free_name(folder, order.out)
        file = below(folder, order.name + scenarios.SUFFIX).name
        name = run_name(out) if live else None
        command = commands.run(file, out, order.overrides, order.seed, live_name=name)
        more = {"run_name": name} if live else {}
        job = jobs.submit("live" if live else "run", out, command, {**_order(settings, order, file, out), **more})
        return job.shown()

    @app.put("/api/captures/{name}")
    async def upload(name: str, request: Request) -> dict[str, Any]:
        capture = await receive_capture(folder, name, request.stream())
        return _analyze(jobs, settings, capture.name).shown()

    @app.post("/api/captures/{name}/analysis")
    async def analyze(name: str) -> dict[str, Any]:
        _check_capture(folder, name)
        return _analyze(jobs, settings, name).shown()

    @app.post("/api/joined-captures")
    async def join(ends: Ends) -> dict[str, Any]:
        for name in ends.captures:
            _check_capture(folder, name)
        out = results.free_name(folder, f"{ends.captures[0].rpartition('.')[0]}-joined")
        order = {"captures": [str(folder / name) for name in ends.captures], "folder": str(folder / out)}
        return jobs.submit("join", out, commands.analyze(ends.captures, out), order).shown()


def _add_jobs(app: FastAPI, jobs: Jobs) -> None:
    @app.get("/api/jobs")
    async def all_jobs() -> list[dict[str, Any]]:
        return jobs.all()

    @app.delete("/api/jobs/{number}")
    async def cancel(number: int) -> dict[str, Any]:
        return jobs.cancel(number).shown()

    @app.websocket("/api/jobs/{number}/progress")
    async def progress(socket: WebSocket, number: int) -> None:
        await socket.accept()

        async def send() -> None:
            async for shown in jobs.watch(number):
                await socket.send_json(shown)

        await send_until_gone(socket, send)


def _add_sweeps(app: FastAPI, settings: Settings, jobs: Jobs) -> None:
    folder = settings.folder

    @app.post("/api/sweeps")
    async def sweep(order: SweepOrder) -> dict[str, Any]:
        return _sweep(jobs, settings, order, results.free_name(folder, order.out)).shown()

    @app.post("/api/sweeps/continue")
    async def continue_sweep(stopped: Stopped) -> dict[str, Any]:
        order = SweepOrder.model_validate(results.sweep_order(folder, stopped.result))
        if any(job["title"] == stopped.result and job["state"] in ("waiting", "running") for job in jobs.all()):
            raise InputError(f"the sweep {stopped.result!r} runs already", help="wait until it has ended")
        return _sweep(jobs, settings, order, stopped.result).shown()


def _add_results(app: FastAPI, settings: Settings) -> None:
    folder = settings.folder

    @app.get("/api/results")
    def all_results() -> dict[str, Any]:
        return {"results": results.listed(folder), "captures": results.captures(folder)}

    @app.get("/api/view")
    def view(run: Names) -> Response:
        return Response(results.view(folder, run), media_type="application/octet-stream")

    @app.get("/api/comparison")
    def comparison(run: Names) -> dict[str, Any]:
        return results.differences(folder, run)

    @app.get("/api/sweep")
    def sweep(name: Short) -> dict[str, Any]:
        return results.sweep_of(folder, name)

    @app.get("/api/report.html")
    def report(run: Names) -> Response:
        headers = {"content-disposition": 'attachment; filename="report.html"'}
        return HTMLResponse(results.page(folder, run), headers=headers)

    @app.post("/api/answers")
    def answers(asked: Measured) -> dict[str, Any]:
        summary = results.summary_of(folder, asked.result)
        return {measure: lessons.answer(summary, measure) for measure in asked.measures}


def _order(settings: Settings, order: RunOrder | SweepOrder, file: str, out: str) -> dict[str, Any]:
    """Return the message to the process of a run or a sweep."""
    return {
        "text": order.text,
        "source": str(settings.folder / file),
        "folder": str(settings.folder / out),
        "overrides": order.overrides,
        "seed": order.seed,
    }


def _sweep(jobs: Jobs, settings: Settings, order: SweepOrder, out: str) -> Job:
    """Start a sweep into a folder, which has the journal of the runs that are done already, if any are."""
    _check_sweep(order, settings)
    file = below(settings.folder, order.name + scenarios.SUFFIX).name
    axes = [(axis.key, axis.values) for axis in order.axes]
    command = commands.sweep(file, out, axes, order.replications, order.overrides, order.seed)
    more = {"name": order.name, "axes": [axis.model_dump() for axis in order.axes], "replications": order.replications}
    return jobs.submit("sweep", out, command, {**_order(settings, order, file, out), **more})


def _check_sweep(order: SweepOrder, settings: Settings) -> None:
    """Raise InputError if the grid is too large, or a value of it names a file outside of the folder."""
    runs = order.replications
    for axis in order.axes:
        runs *= len(axis.values)
        for value in axis.values:
            scenarios.check_override(f"{axis.key}={value}", settings.folder)
    if runs > settings.limits.sweep_runs:
        help = f"{settings.limits.sweep_runs} is the most; use the command for more"
        raise InputError(f"the grid has {runs} runs", key="axes", help=help)
    scenarios.resolved(order.text, settings.folder, order.overrides, order.seed)


def _check_capture(folder: Path, name: str) -> None:
    if not name.endswith(results.CAPTURES) or not below(folder, name).is_file():
        raise InputError(f"there is no capture {name[:80]!r}", help="drop the file on the page")


def _analyze(jobs: Jobs, settings: Settings, capture: str) -> Job:
    out = results.free_name(settings.folder, f"{capture.rpartition('.')[0]}-analysis")
    order = {"capture": str(settings.folder / capture), "folder": str(settings.folder / out)}
    return jobs.submit("analyze", out, commands.analyze([capture], out), order)


async def _refused(_request: Request, error: Exception) -> JSONResponse:
    """Answer an error of ours: 400 where the input is wrong, else 500."""
    if isinstance(error, InputError):
        return JSONResponse({"error": scenarios.error_words(error)}, status_code=400)
    return JSONResponse({"error": {"message": str(error), "help": None}}, status_code=500)


async def _malformed(_request: Request, error: Exception) -> JSONResponse:
    """Answer a malformed request; its contents are not repeated."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"][1:])
    found = {"message": first["msg"], "help": "reload the page", "key": key, "line": None}
    return JSONResponse({"error": found}, status_code=422)


def _asset(name: str) -> str:
    part = files("lasthop.serve").joinpath("page", name)
    if not part.is_file():
        help = "build it with `make viewer`, which needs Node.js"
        raise InputError(f"this installation lacks the page's {name}", help=help)
    return part.read_text(encoding="utf-8")
