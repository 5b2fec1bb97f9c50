"""Captures that clients send: written below the server's folder, whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterable
from pathlib import Path
from typing import Final

from lasthop.errors import InputError
from lasthop.serve.places import below
from lasthop.serve.results import CAPTURES

MAGIC: Final = frozenset(
    bytes.fromhex(digits) for digits in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "0a0d0d0a")
)
"""First bytes of pcap files, in microseconds and nanoseconds and both byte orders, and of pcapng files."""


async def receive_capture(folder: Path, name: str, chunks: AsyncIterable[bytes]) -> Path:
    """Write a capture as it arrives, and return its file. Raises InputError if it is none."""
    stem, dot, suffix = name.rpartition(".")
    if f"{dot}{suffix}" not in CAPTURES:
        raise InputError("has not the name of a capture", file=name[:80], help=f"names end in {', '.join(CAPTURES)}")
    target = _free_file(folder, stem, f".{suffix}")
    partial = target.with_name(f".{target.name}.partial-{secrets.token_hex(4)}")
    try:
        with partial.open("xb") as file:
            async for chunk in chunks:
                if chunk and file.tell() == 0:
                    _check_magic(chunk, name)
                file.write(chunk)
            if file.tell() == 0:
                raise InputError("is empty", file=name, help="choose a file of tcpdump or Wireshark")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def _free_file(folder: Path, stem: str, suffix: str) -> Path:
    below(folder, stem + suffix)
    numbers = ["", *(f"-{number}" for number in range(2, 1000))]
    return next(path for path in (folder / f"{stem}{number}{suffix}" for number in numbers) if not path.exists())


def _check_magic(chunk: bytes, name: str) -> None:
    if chunk[:4] not in MAGIC:
        raise InputError("is no capture", file=name, help="choose a pcap or pcapng file of tcpdump or Wireshark")
