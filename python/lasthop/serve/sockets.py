"""WebSockets on which the server alone speaks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from fastapi import WebSocket, WebSocketDisconnect

from lasthop.errors import InputError
from lasthop.serve.scenarios import error_words


async def send_until_gone(socket: WebSocket, send: Callable[[], Awaitable[None]]) -> None:
    """Run `send`, which sends to an accepted socket, and close it; stop when the client is gone.

    An InputError of `send` is sent to the client as a job that has failed.
    """

    async def listen() -> None:
        while True:
            await socket.receive_text()

    sending, listening = asyncio.ensure_future(send()), asyncio.create_task(listen())
    done, pending = await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    failure = next((task.exception() for task in done if task.exception() is not None), None)
    if isinstance(failure, InputError):
        await socket.send_json({"error": error_words(failure), "state": "failed"})
    if not isinstance(failure, WebSocketDisconnect):
        await socket.close()
