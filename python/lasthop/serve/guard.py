"""The first layer of the server: it refuses requests that no page of this server made.

Checks, in this order: the header Host, against DNS rebinding; Origin and Sec-Fetch-Site, against requests of other
sites; the token; the number of WebSockets; size and pace of the request's body. It is a plain ASGI application, so that
no request and no WebSocket passes it by.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from secrets import compare_digest
from typing import Any, Final
from urllib.parse import parse_qs

from lasthop.serve.settings import Limits, Settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

UPLOADS: Final = "/api/captures/"
"""Requests below this path may have the size of a capture."""

TRY_LATER: Final = 1013
"""The status with which a WebSocket too many is closed (RFC 6455 §7.4, registry of IANA)."""

HEADERS: Final = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer: no content of other sites, no frame around the page, no copy in a cache."""


@dataclass(frozen=True)
class Refusal:
    """The answer to a request that is refused."""

    status: int
    message: str
    help: str


class _TooMuchError(Exception):
    """The body of a request is larger or slower than its bounds."""


class Guard:
    """Passes the requests that a page of this server makes to `inner`."""

    def __init__(self, inner: Application, settings: Settings) -> None:
        self._inner = inner
        self._settings = settings
        self._sockets = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or one WebSocket (ASGI 3)."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self._inner(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        refusal = self._foreign(scope, headers)
        if refusal is None and self._opens(scope):
            await self._welcome(send)
            return
        refusal = refusal or self._stranger(headers) or self._oversized(scope, headers)
        if refusal is not None:
            await _refuse(send, refusal)
            return
        await self._pass(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Give the request to the application, its body bounded and its answer with our headers."""
        body = _Body(receive, self._bound(scope), self._settings.limits)

        async def answer(message: Message) -> None:
            if body.refusal is not None:
                return  # the application's own words about the fault
            if message["type"] == "http.response.start":
                own = {name for name, _ in message.get("headers", [])}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in own]
                message = {**message, "headers": [*message.get("headers", []), *more]}
            await send(message)

        with suppress(_TooMuchError):
            await self._inner(scope, body, answer)
        if body.refusal is not None:
            await _refuse(send, body.refusal)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        refusal = self._foreign(scope, headers) or self._stranger(headers)
        if refusal is None and "origin" not in headers and "authorization" not in headers:
            refusal = _FOREIGN_ORIGIN
        if refusal is not None or self._sockets >= self._settings.limits.sockets:
            await receive()
            await send({"type": "websocket.close", "code": TRY_LATER if refusal is None else 1008})
            return
        self._sockets += 1
        try:
            await self._inner(scope, receive, send)
        finally:
            self._sockets -= 1

    def _foreign(self, scope: Scope, headers: dict[str, str]) -> Refusal | None:
        """Return why a request does not come from a page of this server, or None."""
        if headers.get("host", "").lower() not in self._settings.hosts:
            return _FOREIGN_HOST
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self._settings.hosts}:
            return _FOREIGN_ORIGIN
        site = headers.get("sec-fetch-site", "same-origin")
        # A link on another page may open ours (cross-site GET of the document); it may not read or change anything.
        opens = scope["type"] == "http" and scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        return None if site in ("same-origin", "none") or opens else _FOREIGN_ORIGIN

    def _opens(self, scope: Scope) -> bool:
        """Whether the request is for the page, with the right token in its address."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return scope["method"] == "GET" and scope["path"] == "/" and self._is_token(given)

    def _stranger(self, headers: dict[str, str]) -> Refusal | None:
        """Return a refusal unless the request has the token, in its cookie or as a bearer token (RFC 6750)."""
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        known = self._is_token(bearer) if scheme.lower() == "bearer" else self._is_token(self._cookie(headers))
        return None if known else _NO_TOKEN

    def _cookie(self, headers: dict[str, str]) -> str:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._settings.cookie)
        except CookieError:
            return ""
        return found.value if found is not None else ""

    def _is_token(self, given: str) -> bool:
        return compare_digest(given.encode(), self._settings.token.encode())

    def _oversized(self, scope: Scope, headers: dict[str, str]) -> Refusal | None:
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            return Refusal(400, "Content-Length is no number", "send the number of bytes")
        return _too_large(self._bound(scope)) if int(length) > self._bound(scope) else None

    def _bound(self, scope: Scope) -> int:
        limits = self._settings.limits
        return limits.upload if scope["path"].startswith(UPLOADS) else limits.body

    async def _welcome(self, send: Send) -> None:
        """Put the token into a cookie that scripts cannot read, and remove it from the address."""
        cookie = f"{self._settings.cookie}={self._settings.token}; HttpOnly; SameSite=Strict; Path=/"
        headers = {**HEADERS, "set-cookie": cookie, "location": "/"}
        await _start(send, 303, headers)
        await send({"type": "http.response.body", "body": b""})


class _Body:
    """Receives a request's body, as long as it stays within its bounds."""

    def __init__(self, receive: Receive, most: int, limits: Limits) -> None:
        self._receive = receive
        self._most = most
        self._limits = limits
        self._until: float | None = None
        self._complete = False
        self.refusal: Refusal | None = None
        """Why no more of the body is read."""

    async def __call__(self) -> Message:
        """Return the next message; raise if it does not come in time, or is too much."""
        if self._complete:
            return await self._receive()
        clock = asyncio.get_running_loop()
        self._until = self._until or clock.time() + self._limits.upload_s
        try:
            wait = min(self._limits.silence_s, max(self._until - clock.time(), 0.0))
            message = await asyncio.wait_for(self._receive(), wait)
        except TimeoutError:
            self.refusal = _TOO_SLOW
            raise _TooMuchError(_TOO_SLOW.message) from None
        self._count(message)
        return message

    def _count(self, message: Message) -> None:
        self._most -= len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        if self._most < 0:
            self.refusal = _too_large(None)
            raise _TooMuchError(self.refusal.message)


def _headers(scope: Scope) -> dict[str, str]:
    """Return the request's headers. Of a header that is there twice, both: no value of two passes a check."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


async def _refuse(send: Send, refusal: Refusal) -> None:
    await _start(send, refusal.status, {**HEADERS, "content-type": "application/json", "connection": "close"})
    body = json.dumps({"error": {"message": refusal.message, "help": refusal.help}})
    await send({"type": "http.response.body", "body": body.encode()})


async def _start(send: Send, status: int, headers: dict[str, str]) -> None:
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})


def _too_large(most: int | None) -> Refusal:
    bound = f" than {most} bytes" if most is not None else ""
    return Refusal(413, f"the request is larger{bound}", "use the command for it, which has no bound")


_FOREIGN_HOST: Final = Refusal(421, "this server is not called so", "use the address that `lasthop serve` printed")
_FOREIGN_ORIGIN: Final = Refusal(403, "another site made this request", "open the page of `lasthop serve` itself")
_NO_TOKEN: Final = Refusal(401, "the token is missing or wrong", "open the address that `lasthop serve` printed")
_TOO_SLOW: Final = Refusal(408, "the request came too slowly", "try again, or use the command")
