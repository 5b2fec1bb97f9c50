"""Limits on what a stranger at the other end of a connection may send, in bytes and in time."""

from __future__ import annotations

import http.client
import io
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MIB = 1_048_576

LARGEST_HEAD = MIB
"""Bytes of status lines and header fields: many times what servers send (Apache and nginx read 8 kB of a request)."""

LARGEST_REQUEST = 65_536
"""Bytes of a request's line and header fields."""

FRAMING = 8
"""Bytes on the wire for each byte of a body: a chunk of one byte has five of framing (RFC 9112 §7.1)."""


@dataclass(frozen=True)
class Limits:
    """The largest body in bytes, the longest fetch and the longest wait for a byte in seconds."""

    size: int = 10**9
    time_s: float = 600.0
    silence_s: float = 60.0


DEFAULT_LIMITS = Limits()


class LimitError(http.client.HTTPException):
    """The peer went beyond a limit; the message says which, and the option that moves it."""


class LimitedStream:
    """A connected stream whose reads end at a number of bytes and at a time.

    It has the methods of a socket that Python's HTTP client and server use. `allowed` is the number of bytes that may
    still be read; `too_large` and `too_long` are the messages of the LimitError that reads beyond raise.
    """

    def __init__(self, stream: socket.socket, allowed: int, time_s: float, silence_s: float) -> None:
        self.stream = stream
        self.allowed = allowed
        self.silence_s = silence_s
        self.deadline = time.monotonic() + time_s
        self.too_large = f"more than {allowed} bytes of header fields"
        self.too_long = f"not over after {time_s:g} s"

    def allow(self, allowed: int, too_large: str) -> None:
        """Allow a number of bytes from now on."""
        self.allowed, self.too_large = allowed, too_large

    def makefile(self, mode: str = "rb", _buffering: int = -1) -> BinaryIO:
        """Return a buffered reader of the stream; `mode` is "rb", the only mode in use."""
        if mode != "rb":
            raise ValueError(mode)
        return cast(BinaryIO, io.BufferedReader(_Reader(self)))

    def sendall(self, data: bytes) -> None:
        """Send all of `data`; each piece has the longest silence to be taken."""
        view = memoryview(data)
        while view:
            self._set_timeout()
            view = view[self.stream.send(view[:_PIECE]) :]

    def close(self) -> None:
        """Do nothing: the owner of the stream closes it. Python's client closes it before it has read the body."""

    def receive_into(self, buffer: memoryview) -> int:
        """Read into `buffer`; return the number of bytes, 0 at the end. Raises LimitError and OSError."""
        if self.allowed <= 0:
            raise LimitError(self.too_large)
        self._set_timeout()
        try:
            count = self.stream.recv_into(buffer[: min(len(buffer), self.allowed)])
        except TimeoutError:
            self._check_time()
            raise
        self.allowed -= count
        return count

    def _set_timeout(self) -> None:
        self._check_time()
        self.stream.settimeout(min(self.silence_s, max(self.deadline - time.monotonic(), 0.001)))

    def _check_time(self) -> None:
        if time.monotonic() >= self.deadline:
            raise LimitError(self.too_long)


class _Reader(io.RawIOBase):
    def __init__(self, limited: LimitedStream) -> None:
        self._limited = limited

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        return self._limited.receive_into(memoryview(buffer))


_PIECE = 4096
"""Bytes for each of which a slow reader has the longest silence."""
