"""`fetch` and `serve-file` before peers that mean harm: each ends within its limits, with an error that says which."""

from __future__ import annotations

import contextlib
import json
import shlex
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from command import Lasthop
from lasthop.errors import RunError
from lasthop.fetching import serving
from lasthop.fetching.conversation import converse
from lasthop.fetching.limits import LimitedStream, Limits
from lasthop.fetching.target import redirected, target_of

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
SMALL = Limits(size=100_000, time_s=2, silence_s=1)


def for_ever(piece: bytes, pause_s: float = 0.0) -> Iterator[bytes]:
    """Send a piece again and again."""
    while True:
        yield piece
        time.sleep(pause_s)


def after(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """Send a first piece, and then the rest."""
    yield first
    yield from rest


def answered(pieces: Iterator[bytes], folder: Path, limits: Limits = SMALL) -> dict[str, object]:
    """Return what a fetch makes of a server that reads the request and sends these pieces."""

    def serve(server: socket.socket) -> None:
        stream, _ = server.accept()
        with stream, contextlib.suppress(OSError):
            stream.recv(65_536)
            for piece in pieces:
                stream.sendall(piece)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=[server])
        thread.start()
        port = server.getsockname()[1]
        descriptor = socket.create_connection(("127.0.0.1", port)).detach()
        converse(descriptor, target_of(f"http://127.0.0.1:{port}/"), limits, folder)
        thread.join()
    answer: dict[str, object] = json.loads((folder / "answer.json").read_text())
    return answer


@pytest.mark.parametrize(
    ("pieces", "what"),
    [
        (lambda: after(OK, for_ever(b"X-More: x\r\n")), "100 headers"),
        (lambda: after(OK, for_ever(b"x" * 10_000)), "header line"),
        (lambda: for_ever(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000), "bytes of header fields"),
        (lambda: after(OK, for_ever(b"X", 0.2)), "not over after 2 s (--max-time)"),
        (lambda: after(OK + b"\r\n", for_ever(b"x", 0.2)), "not over after 2 s (--max-time)"),
        (lambda: after(OK + b"\r\n", for_ever(b"x" * 10_000)), "more than 100000 bytes (--max-size)"),
        (lambda: iter([OK + b"Content-Length: 100001\r\n\r\n"]), "more than 100000 bytes (--max-size)"),
        (lambda: after(CHUNKED, for_ever(b"1\r\nx\r\n" * 5000)), "more than 100000 bytes (--max-size)"),
        (lambda: iter([CHUNKED + b"ffffffffffffffffffff\r\nx"]), "broke off"),
        (lambda: iter([CHUNKED + b"-5\r\nx\r\n"]), "no HTTP"),
        (lambda: iter([CHUNKED + b"five\r\nx\r\n"]), "broke off"),
        (lambda: after(CHUNKED + b"0\r\n", for_ever(b"X-More: x\r\n" * 5000)), "more than 100000 bytes (--max-size)"),
        (lambda: after(CHUNKED + b"1", for_ever(b"1" * 10_000)), "chunk size"),
        (lambda: iter([OK + b"Content-Length: -1\r\n\r\n"]), "no number of bytes"),
        (lambda: iter([OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nfirst"]), "no number of bytes"),
        (lambda: iter([OK + b"Content-Length: 9\r\n\r\nfirst"]), "4 bytes are missing"),
        (lambda: iter([b"\0\1\2\r\n\r\n"]), "\0\1\2"),
        (lambda: iter([]), "without an answer"),
    ],
)
def test_a_hostile_answer_is_an_error_within_the_limits(
    tmp_path: Path, pieces: Callable[[], Iterator[bytes]], what: str
) -> None:
    began = time.monotonic()
    answer = answered(pieces(), tmp_path)
    assert what in str(answer.get("error")), answer
    assert "sha256" not in answer
    assert time.monotonic() - began < 4


def test_a_compressed_body_is_kept_as_it_came(tmp_path: Path) -> None:
    import gzip

    packed = gzip.compress(bytes(10_000_000))
    head = OK + f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n".encode()
    answer = answered(iter([head, packed]), tmp_path)
    assert answer["bytes"] == len(packed) == (tmp_path / "body").stat().st_size


def test_a_body_of_exactly_the_limit_is_taken(tmp_path: Path) -> None:
    answer = answered(iter([OK + b"Content-Length: 100000\r\n\r\n", b"x" * 100_000]), tmp_path)
    assert answer["bytes"] == 100_000, answer


@pytest.mark.parametrize("location", ["http://127.0.0.1/", "http://gateway:80/", "file:///etc/passwd", "http://[::1"])
def test_a_redirection_to_where_a_server_has_no_business_fails(location: str) -> None:
    with pytest.raises(RunError, match="redirects to"):
        redirected(target_of("http://192.0.2.1/"), location)


def test_control_characters_of_a_server_do_not_reach_the_terminal(lasthop: Lasthop) -> None:
    script = (
        "import socket\n"
        "server = socket.create_server(('', 8489))\n"
        "stream, _ = server.accept()\n"
        "stream.recv(65536)\n"
        "stream.sendall(b'HTTP/1.1 302 Found\\r\\nLocation: http://\\x1b[31mred/\\x07\\r\\n')\n"
        "stream.sendall(b'Content-Length: 0\\r\\n\\r\\n')"
    )
    outside = shlex.join([sys.executable, "-c", script])
    got = lasthop("fetch", "http://gateway:8489/", "--against", "none", "--outside", outside)
    assert got.status == 1
    assert not any(character < " " and character != "\n" for character in got.err + got.out), got.err


def served(file: Path) -> tuple[socket.socket, threading.Thread]:
    """Return a client's end of a connection that `serve-file` answers, and the thread that answers."""
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=serving.answer, args=[theirs.detach(), file])
    thread.start()
    return ours, thread


@pytest.mark.parametrize("piece", [b"x" * 10_000, b"X-More: x\r\n"])
def test_a_request_without_an_end_is_given_up(tmp_path: Path, piece: bytes) -> None:
    (tmp_path / "file").write_text("here")
    client, thread = served(tmp_path / "file")
    with client, contextlib.suppress(OSError):
        client.sendall(b"GET / HTTP/1.1\r\n")
        for _ in range(1000):
            client.sendall(piece)
    thread.join(5)
    assert not thread.is_alive()


def test_a_client_that_reads_nothing_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SILENCE_S", 0.3)
    (tmp_path / "file").write_bytes(bytes(5_000_000))
    client, thread = served(tmp_path / "file")
    with client:
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        thread.join(5)
        assert not thread.is_alive()


def test_a_slow_client_gets_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SILENCE_S", 0.5)
    (tmp_path / "file").write_bytes(bytes(1_000_000))
    client, thread = served(tmp_path / "file")
    length = 0
    with client:
        client.sendall(b"GET /file HTTP/1.1\r\n\r\n")
        while piece := client.recv(50_000):
            length += len(piece)
            time.sleep(0.05)
    thread.join(5)
    assert length > 1_000_000


def test_a_request_that_drips_ends_with_the_time_of_its_connection() -> None:
    ours, theirs = socket.socketpair()
    limited = LimitedStream(theirs, 1000, time_s=0.5, silence_s=5)
    reader = limited.makefile()
    ours.sendall(b"GET")
    with pytest.raises(Exception, match=r"not over after 0\.5 s"):
        reader.readline()
    ours.close()
    theirs.close()
