"""Frames of the streams between the processes of a real-time run on several machines.

A frame is the length of its message (4 bytes), an address (2 bytes), both in network byte order, and the message. In
frames between the emulator and this process the address is the place of a machine, and the message is the engine's: it
is passed on without being read. A frame with the address `LAUNCHER` holds JSON, for or from the Python process at
either end.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from struct import Struct
from typing import Any, Final

LAUNCHER: Final = 0xFFFF
"""The address of the Python process at the other end."""
_HEADER: Final = Struct(">IH")


def frame(address: int, message: bytes) -> bytes:
    """Return the bytes of a frame."""
    return _HEADER.pack(len(message), address) + message


def json_frame(value: object) -> bytes:
    """Return a frame with a value for the Python process at the other end."""
    return frame(LAUNCHER, json.dumps(value).encode())


def read_frame(read: Callable[[int], bytes]) -> tuple[int, bytes] | None:
    """Read the next frame: its address and its message; None at the end of the stream, even within a frame.

    `read` returns at most as many bytes as it is asked for, and none at the end.
    """
    header = _read(read, _HEADER.size)
    if header is None:
        return None
    length, address = _HEADER.unpack(header)
    message = _read(read, length)
    return None if message is None else (address, message)


def read_json(read: Callable[[int], bytes]) -> Any:
    """Read the next frame as a value from the Python process at the other end; None at the end of the stream."""
    got = read_frame(read)
    return None if got is None else json.loads(got[1])


def _read(read: Callable[[int], bytes], length: int) -> bytes | None:
    data = bytearray()
    while len(data) < length:
        piece = read(length - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)
