"""HTTP for one file over streams of lasthop's TCP, by Python's HTTP server."""

from __future__ import annotations

import http.server
import mimetypes
import shutil
import socket
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from lasthop.fetching.limits import LARGEST_REQUEST, LimitedStream, LimitError

SILENCE_S = 60.0
"""Longest wait for a byte of a client's request, and for a slow reader to take 4096 bytes, in seconds."""

LONGEST_S = 86_400.0
"""Longest connection, in seconds: a day."""


def path_of(file: Path) -> str:
    """Return the path of a file's URL."""
    return f"/{quote(file.name)}"


def answer(descriptor: int, file: Path) -> None:
    """Answer one request for the file on the connected stream socket `descriptor`, and close it."""

    class Handler(_Handler):
        served = file

    with socket.socket(fileno=descriptor) as stream:
        limited = LimitedStream(stream, LARGEST_REQUEST, LONGEST_S, SILENCE_S)
        try:
            Handler(limited, ("", 0), None)  # type: ignore[arg-type]  # it uses no server
        except (OSError, LimitError):
            # The client has gone, or its request has no end; the report of its connection says so.
            return


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "lasthop"
    served: Path

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        wanted = unquote(urlsplit(self.path).path)
        self.close_connection = True
        if wanted not in ("/", f"/{self.served.name}"):
            self.send_error(404, "Not Found", f"the only file here is {path_of(self.served)}")
            return
        with self.served.open("rb") as file:
            self.send_response(200)
            self.send_header("Content-Type", mimetypes.guess_type(self.served.name)[0] or "application/octet-stream")
            self.send_header("Content-Length", str(self.served.stat().st_size))
            self.send_header("Connection", "close")
            self.end_headers()
            if with_body:
                shutil.copyfileobj(file, self.wfile)

    def log_message(self, format: str, *_: object) -> None:
        """Log nothing: each connection is reported when it ends."""
