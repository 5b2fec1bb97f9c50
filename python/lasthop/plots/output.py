"""Figures as bytes: the same figure gives the same bytes, so nothing here writes a date or a version."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

from lasthop.errors import InputError
from lasthop.plots import style

FORMATS: Final = ("svg", "pdf", "png")

_METADATA: Final[dict[str, dict[str, str | None]]] = {
    "svg": {"Creator": "lasthop", "Date": None},
    "pdf": {"Creator": "lasthop", "Producer": None, "CreationDate": None},
    "png": {"Software": "lasthop"},
}


def render(figure: Figure, format: str) -> bytes:
    """Return `figure` as bytes in `format` ("svg", "pdf" or "png"). Raises InputError for any other."""
    if format not in FORMATS:
        raise InputError(f"no picture format {format!r}", key="format", help=f"choose one of {', '.join(FORMATS)}")
    buffer = io.BytesIO()
    with style.settings():
        figure.savefig(buffer, format=format, metadata=_METADATA[format])
    return _compact(buffer.getvalue()) if format == "svg" else buffer.getvalue()


_PATH: Final = re.compile(rb' d="[^"]*"')
_BEYOND_HUNDREDTHS: Final = re.compile(rb"(?<=\.\d\d)\d+")


def _compact(svg: bytes) -> bytes:
    """Return a picture whose paths have hundredths of a point, which no printer shows, in place of millionths."""
    return _PATH.sub(lambda path: b" " + b" ".join(_BEYOND_HUNDREDTHS.sub(b"", path[0]).split()), svg)


def save(figure: Figure, path: Path, format: str | None = None) -> Path:
    """Write `figure` to `path`, in `format` or that of the path's suffix, and return the path.

    Raises InputError for an unknown format, a path without suffix, or if `path` cannot be written.
    """
    if not (format or path.suffix):
        raise InputError(
            f"{path} has no suffix that says the picture's format",
            key="--out",
            help=f"name a file that ends in one of {', '.join(f'.{name}' for name in FORMATS)}",
        )
    content = render(figure, format or path.suffix.removeprefix(".").lower())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise InputError(
            f"cannot write here: {error.strerror}", file=str(path), help="choose another file with --out"
        ) from error
    return path
