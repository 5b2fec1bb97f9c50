"""Addresses of runs in real time: their states as a stream, and changes of their links."""

from __future__ import annotations

import asyncio
import secrets
from shlex import join
from typing import Annotated, Any, Final

from fastapi import FastAPI, WebSocket
from pydantic import BaseModel, ConfigDict, Field

from lasthop.errors import InputError
from lasthop.real_time.watching import set_links
from lasthop.serve.jobs import Jobs
from lasthop.serve.scenarios import check_override
from lasthop.serve.settings import Settings
from lasthop.serve.sockets import send_until_gone

NAMED_AFTER: Final = 40
"""Characters of a result's name in the name of its run: names of sockets have about 100 (unix(7))."""


class LinkOrder(BaseModel):
    """Keys of links with their new values: "links.lasthop.down.rate=1 Mbit/s"."""

    model_config = ConfigDict(extra="forbid")
    set: Annotated[list[Annotated[str, Field(max_length=400)]], Field(min_length=1, max_length=20)]


def run_name(out: str) -> str:
    """Return a name for a run that writes to `out`, which no other run has."""
    return f"{out[:NAMED_AFTER].replace(' ', '-')}-{secrets.token_hex(3)}"


def add_live_runs(app: FastAPI, settings: Settings, jobs: Jobs) -> None:
    """Add the addresses to a server."""

    @app.post("/api/jobs/{number}/links")
    async def change(number: int, order: LinkOrder) -> dict[str, Any]:
        name = jobs.live(number).run_name
        assert name is not None
        for override in order.set:
            check_override(override, settings.folder)
            if not override.startswith("links.") or "=" not in override:
                help = "name a key of a link, and its value: links.NAME.down.rate=1 Mbit/s"
                raise InputError(
                    "only keys of links can be set during a run", key=override.partition("=")[0], help=help
                )
        answer = await asyncio.to_thread(set_links, name, order.set)
        return {**answer, "command": join(["lasthop", "set", name, *order.set])}

    @app.websocket("/api/jobs/{number}/states")
    async def states(socket: WebSocket, number: int) -> None:
        await socket.accept()

        async def send() -> None:
            async for state in jobs.states(number).follow():
                await socket.send_text(state)

        await send_until_gone(socket, send)
