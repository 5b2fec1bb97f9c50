"""The web server of the scratch network, over HTTP and HTTPS: any path has the same 120,000 bytes."""

from __future__ import annotations

import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BODY = bytes(range(240)) * 500


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer with the body."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


def _serve(folder: Path) -> None:
    plain, secure = (ThreadingHTTPServer(("", port), _Answer) for port in (80, 443))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    threading.Thread(target=secure.serve_forever, daemon=True).start()
    (folder / "listening").touch()
    plain.serve_forever()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
