"""HTTP over a stream of lasthop's TCP, by Python's HTTP client, and its TLS for https."""

from __future__ import annotations

import hashlib
import http.client
import json
import socket
import ssl
from pathlib import Path
from typing import Any

from lasthop.fetching.limits import FRAMING, LARGEST_HEAD, LimitedStream, LimitError, Limits
from lasthop.fetching.target import Target

_PIECE = 65_536


def converse(descriptor: int, target: Target, limits: Limits, folder: Path) -> None:
    """Request the target, and write the body into `folder`, with status and headers, or the error, in `answer.json`.

    `descriptor` is a connected stream socket, which is closed at the end. An answer beyond `limits` is an error. The
    body is written as it came: compressed ones are neither asked for nor unpacked. No exception is raised.
    """
    answer: dict[str, Any] = {}
    try:
        with socket.socket(fileno=descriptor) as plain:
            plain.settimeout(min(limits.silence_s, limits.time_s))
            with _secured(plain, target) as stream:
                _ask(stream, target, limits, folder / "body", answer)
    except TimeoutError:
        answer["error"] = f"no byte arrived for {limits.silence_s:g} s"
    except ssl.SSLCertVerificationError as error:
        answer["error"] = f"the server's certificate is refused: {error.verify_message}"
    except http.client.IncompleteRead as error:
        missing = f"{error.expected} bytes are missing" if error.expected else "its end is missing"
        answer["error"] = f"the answer broke off: {missing}"
    except http.client.RemoteDisconnected:
        answer["error"] = "the server closed the connection without an answer"
    except ValueError as error:
        # The client's library takes a negative length of a chunk or of the body for that of a read.
        answer["error"] = f"the server's answer is no HTTP: a length in it is no number of bytes ({error})"
    except (OSError, http.client.HTTPException) as error:
        answer["error"] = str(error) or type(error).__name__
    (folder / "answer.json").write_text(json.dumps(answer))


def _check_length(response: http.client.HTTPResponse) -> None:
    """Refuse lengths of the body that RFC 9112 §6.3 calls unrecoverable: no number, or several that differ."""
    lengths = {part.strip() for value in response.headers.get_all("Content-Length", []) for part in value.split(",")}
    if len(lengths) > 1 or not all(length.isascii() and length.isdigit() for length in lengths):
        raise http.client.HTTPException(f"the length of the answer is {', '.join(sorted(lengths))}: no number of bytes")


def _secured(plain: socket.socket, target: Target) -> socket.socket:
    if target.scheme == "http":
        return plain
    return ssl.create_default_context().wrap_socket(plain, server_hostname=target.host)


def _ask(stream: socket.socket, target: Target, limits: Limits, body: Path, answer: dict[str, Any]) -> None:
    limited = LimitedStream(stream, LARGEST_HEAD, limits.time_s, limits.silence_s)
    limited.too_long += " (--max-time)"
    connection = http.client.HTTPConnection(target.host, target.port)
    connection.default_port = {"http": 80, "https": 443}[target.scheme]
    # It uses no other methods of a socket than those of a limited stream.
    connection.sock = limited
    # Only the measured connection is used: the client must not open another one.
    connection.auto_open = 0
    headers = {"Accept-Encoding": "identity", "Connection": "close", "User-Agent": "lasthop"}
    connection.request("GET", target.path, headers=headers)
    response = connection.getresponse()
    _check_length(response)
    answer.update(status=response.status, reason=response.reason, location=response.getheader("Location"))
    too_large = f"the body has more than {limits.size} bytes (--max-size)"
    if (response.length or 0) > limits.size:
        raise LimitError(too_large)
    limited.allow(LARGEST_HEAD + FRAMING * limits.size, too_large)
    answer["length_known"] = response.length is not None or response.chunked
    digest, length = hashlib.sha256(), 0
    with body.open("wb") as file:
        while piece := response.read(_PIECE):
            digest.update(piece)
            length += file.write(piece)
            if length > limits.size:
                raise LimitError(too_large)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    answer.update(bytes=length, sha256=digest.hexdigest())
