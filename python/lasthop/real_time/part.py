"""A machine's part of a real-time run: `lasthop live-part`, started there by ssh.

Its standard streams are the control connection, so the output of programs in hosts goes to standard error. Like
`process`, it loads no library that starts threads until the run is over. When the connection ends, so does the process,
and its namespaces with it.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from lasthop import _native
from lasthop.errors import LasthopError
from lasthop.real_time.frames import json_frame, read_json
from lasthop.real_time.process import PREFIX, described, run_request, write_result

PIECE = 1 << 20
"""Number of bytes of a file in one frame."""


def main(*, emulator: bool) -> int:
    """Send version and sources, and run the part that the other end asks for; return the exit status."""
    streams = _take_streams()
    _write(streams[1], json.dumps({"lasthop": _native.__version__, "sources": _native.SOURCES}).encode() + b"\n")
    if emulator:
        return _emulate(streams)
    # The engine does not return to Python before the end, and the namespaces end with the process in any case.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    output = os.dup(streams[1])
    try:
        _native.live_part(streams)
    except LasthopError:
        # The engine has sent the reason, if the other end still listens.
        return 1
    finally:
        with suppress(OSError):
            _write(output, json_frame({"end": None}))
    return 0


def _take_streams() -> tuple[int, int]:
    """Return copies of standard input and output; afterwards programs read nothing and write to standard error."""
    streams = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return streams


def _emulate(streams: tuple[int, int]) -> int:
    """Run the emulator as requested, and send its result."""
    request = read_json(lambda length: os.read(streams[0], length))
    if request is None:
        return 1
    output = os.dup(streams[1])
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as folder:
        error: dict[str, Any] | None = None
        try:
            run = run_request({**request, "folder": folder}, streams, None)
            write_result(run, {**request, "folder": folder})
            _send_files(output, Path(folder))
        except LasthopError as failed:
            error = described(failed)
        _write(output, json_frame({"end": error}))
    return 0 if error is None else 1


def _send_files(output: int, folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            _write(output, json_frame({"file": path.name, "data": ""}))
            while piece := file.read(PIECE):
                _write(output, json_frame({"file": path.name, "data": base64.b64encode(piece).decode()}))


def _write(output: int, data: bytes) -> None:
    while data:
        data = data[os.write(output, data) :]
