"""What runs on another machine of a real-time run, started there by ssh: `lasthop live-part`.

Its standard streams are the control connection, and nothing else may write there: what programs in hosts write goes to
standard error. Like `process`, this loads nothing but the engine until the run is over. When the connection ends,
so does the process, and whatever it made is gone with it.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

from lasthop import _native
from lasthop.errors import LasthopError
from lasthop.real_time.process import PREFIX, described, run_request, write_result

PIECE = 1 << 20
"""Bytes of a file that go into one line."""


def main(*, emulator: bool) -> int:
    """Say our version and sources, and do what the other end says; return the exit status."""
    streams = _take_streams()
    _say(streams[1], {"lasthop": _native.__version__, "sources": _native.SOURCES})
    if emulator:
        return _emulate(streams)
    # The engine does not return to Python before the end, and whatever ends the process takes its namespaces with it.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    try:
        _native.live_part(streams)
    except LasthopError:
        # The other end was told why, if it is there.
        return 1
    return 0


def _take_streams() -> tuple[int, int]:
    """Return the standard streams under other numbers; programs read nothing and write to standard error."""
    streams = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return streams


def _emulate(streams: tuple[int, int]) -> int:
    """Run the emulator, and send its result."""
    line = _read_line(streams[0])
    if not line:
        return 1
    request = json.loads(line)
    output = os.dup(streams[1])
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as folder:
        error: dict[str, Any] | None = None
        try:
            run = run_request({**request, "folder": folder}, streams, None)
            write_result(run, {**request, "folder": folder})
            _send_files(output, Path(folder))
        except LasthopError as failed:
            error = described(failed)
        _say(output, {"end": error})
    return 0 if error is None else 1


def _read_line(stream: int) -> bytes:
    """Read one line, and nothing behind it, which is for the engine."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(stream, 1)
        if not byte:
            return b""
        line += byte
    return bytes(line)


def _send_files(output: int, folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            _say(output, {"file": path.name, "data": ""})
            while piece := file.read(PIECE):
                _say(output, {"file": path.name, "data": base64.b64encode(piece).decode()})


def _say(output: int, value: object) -> None:
    line = json.dumps(value).encode() + b"\n"
    while line:
        line = line[os.write(output, line) :]
