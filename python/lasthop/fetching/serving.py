"""HTTP of a server of one file, over streams whose bytes our own TCP carries: Python's own."""

from __future__ import annotations

import http.server
import mimetypes
import shutil
import socket
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

SILENCE_S = 60.0
"""How long a client may say nothing."""


def path_of(file: Path) -> str:
    """Return the path of the URL under which a file is served."""
    return f"/{quote(file.name)}"


def answer(descriptor: int, file: Path) -> None:
    """Answer one request for the file on a connected stream socket, which is closed at the end."""

    class Handler(_Handler):
        served = file

    with socket.socket(fileno=descriptor) as stream:
        stream.settimeout(SILENCE_S)
        try:
            # Without a server around it: the handler uses none.
            Handler(stream, ("", 0), None)  # type: ignore[arg-type]
        except OSError:
            # The client went away; what its connection did tells so.
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
            self.send_error(404, "Not Found", f"there is one file here, {path_of(self.served)}")
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
        """Say nothing: each connection is told of when it is over."""
