"""Figures as bytes: the same figure gives the same bytes, so nothing here writes a date or a version."""

from __future__ import annotations

import io
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
    return buffer.getvalue()


def save(figure: Figure, path: Path, format: str | None = None) -> Path:
    """Write `figure` to `path`, in `format` or that of the path's suffix, and return the path.

    Raises InputError for an unknown format, or if `path` cannot be written.
    """
    content = render(figure, format or path.suffix.removeprefix(".").lower())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise InputError(
            f"cannot write here: {error.strerror}", file=str(path), help="choose another file with --out"
        ) from error
    return path
