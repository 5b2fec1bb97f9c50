"""Pictures and pages that lasthop drew of a result into its folder: they are out of date when the run is replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PICTURES: Final = (
    "time-sequence", "cwnd", "rtt", "queue", "progress", "throughput", "share", "delay", "cdf", "box", "transfers",
    "cell", "flight", "variables",
)  # fmt: skip
"""The kinds of pictures of a run, which are also the default names of their files."""

PICTURE_SUFFIXES: Final = (".svg", ".pdf", ".png")

PAGE: Final = "report.html"

MARKER: Final = b"lasthop"
"""In the metadata of every picture, and in the page's generator."""

ENDS: Final = 8192
"""Bytes at the beginning and at the end of a file that hold its metadata."""


def is_drawing(file: Path) -> bool:
    """Whether a file is a picture or page that lasthop drew, by its name and by its metadata."""
    named = file.name == PAGE or (file.stem in PICTURES and file.suffix in PICTURE_SUFFIXES)
    return named and file.is_file() and not file.is_symlink() and _is_marked(file)


def _is_marked(file: Path) -> bool:
    with file.open("rb") as opened:
        head = opened.read(ENDS)
        opened.seek(max(file.stat().st_size - ENDS, 0))
        return MARKER in head or MARKER in opened.read(ENDS)
