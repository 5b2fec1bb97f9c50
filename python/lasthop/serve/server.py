"""Starts the server: its socket, its names, and uvicorn."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from lasthop.errors import InputError
from lasthop.serve.application import application
from lasthop.serve.settings import Settings

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
USUAL_PORT: Final = 8750
MESSAGE: Final = 65536
"""Largest message of a WebSocket, in bytes: clients send none of any length."""


REQUEST_S = 10.0
"""Time that a connection has for the head of its first request, in seconds."""


class ImpatientProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, on connections that are closed if no request comes: idle ones use up the limit."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # TCP's
        """Accept a connection (asyncio.Protocol)."""
        super().connection_made(transport)
        self.loop.call_later(REQUEST_S, self._close_if_silent)

    def _close_if_silent(self) -> None:
        # After an upgrade the transport belongs to the WebSocket.
        if self.cycle is None and self.transport.get_protocol() is self:
            self.transport.close()


def listen(address: str, port: int | None) -> socket.socket:
    """Return a listening socket; without a port, on the usual one, or on a free one if that is taken.

    Raises InputError if the address is not of this machine, or the port is taken.
    """
    if port is not None:
        return _bound(address, port)
    try:
        return _bound(address, USUAL_PORT)
    except InputError:
        return _bound(address, 0)


def _bound(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((address, port))
        made.listen()
    except (OSError, UnicodeError) as error:
        made.close()
        help = "choose another with --port (0 takes a free one)" if port else "choose another with --host"
        raise InputError(f"cannot listen on {address} port {port}: {error}", key="--port", help=help) from error
    return made


def settings_of(
    folder: Path,
    bound: socket.socket,
    names: Iterable[str],
    token: str,
    *,
    live: bool,
    cluster: str | None = None,
) -> Settings:
    """Return the settings of a server on a socket: the names by which it may be called follow from its address."""
    address, port = bound.getsockname()[:2]
    own = f"[{address}]" if ":" in address else str(address)
    called = [own, *LOOPBACK, *names] if own in ("0.0.0.0", "[::]") or own in LOOPBACK else [own, *names]
    hosts = frozenset(f"{name.lower()}:{port}" for name in called)
    shown = f"{next(iter(names), '127.0.0.1' if own == '0.0.0.0' else own)}:{port}"
    return Settings(folder=folder, token=token, hosts=hosts, port=port, shown_host=shown, live=live, cluster=cluster)


def serve(bound: socket.socket, settings: Settings, announce: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; `announce` is called once the address can be opened."""
    config = config_of(settings)
    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again after it has ended in order
        announce()
        uvicorn.Server(config).run(sockets=[bound])


def config_of(settings: Settings) -> uvicorn.Config:
    """Return how uvicorn serves the application."""
    return uvicorn.Config(
        application(settings),
        http=ImpatientProtocol,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=settings.limits.connections,
        ws_max_size=MESSAGE,
        ws_per_message_deflate=False,  # compressing each state for each client costs more than sending it
        timeout_keep_alive=10,
        timeout_graceful_shutdown=3,
    )
