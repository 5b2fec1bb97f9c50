"""The frames of a capture that are read: of one file or a rotated series, by time and by a filter of libpcap's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final

from lasthop.errors import InputError
from lasthop.pcap_filter import Program, programs_of

NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True)
class Selection:
    """Frames of `files`, which follow each other in time. Times are nanoseconds from the first frame of all.

    `programs` are those of a filter, by link type; `key_log` has secrets of QUIC connections. The native calls take a
    selection as it is.
    """

    files: Sequence[Path]
    from_ns: int = 0
    to_ns: int | None = None
    programs: Mapping[int, Sequence[Program]] | None = None
    key_log: Path | None = None


def select(
    captures: Sequence[str | PathLike[str]],
    *,
    start: float = 0.0,
    stop: float | None = None,
    filter: str | None = None,
    key_log: str | PathLike[str] | None = None,
) -> Selection:
    """Return the frames of captures that follow each other, from `start` to `stop` seconds after the first frame, that
    match a filter in the language of libpcap.

    Raises InputError if a file is missing, the times contradict each other, or the filter cannot be compiled.

    >>> from lasthop.selection import select
    >>> select([], start=1.5).from_ns
    1500000000
    """
    if stop is not None and stop < start:
        raise InputError(f"the end ({stop} s) is before the start ({start} s)", help="give a later --to")
    files = tuple(_file(capture) for capture in captures)
    programs = None if filter is None else programs_of(filter)
    log = None if key_log is None else _key_log(key_log)
    until = None if stop is None else round(stop * NANOSECONDS)
    return Selection(files, round(start * NANOSECONDS), until, programs, log)


def _key_log(path: str | PathLike[str]) -> Path:
    log = Path(path)
    if not log.is_file():
        help = "name the file that the variable SSLKEYLOGFILE had when an end of the connection ran"
        raise InputError("there is no such key log", file=str(log), help=help)
    return log


def _file(capture: str | PathLike[str]) -> Path:
    path = Path(capture)
    if path.is_dir():
        raise InputError("is a folder, not a capture", file=str(path), help="name a pcap or pcapng file")
    if not path.exists():
        raise InputError("there is no such file", file=str(path), help="name a pcap or pcapng file")
    return path
