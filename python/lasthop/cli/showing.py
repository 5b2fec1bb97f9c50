"""Shows a picture: in the terminal by its image protocol, in a window, or as coloured blocks."""

from __future__ import annotations

import base64
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from lasthop.errors import InputError
from lasthop.plots import render

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHUNK: Final = 4096
"""Bytes of base64 in one escape of Kitty's protocol (its documentation: at most 4096)."""

Pixels = npt.NDArray[np.uint8]


def show_picture(figure: Figure, file: Path) -> None:
    """Show a figure that was written to `file`. Raises InputError if there is neither a terminal nor a display."""
    way = way_of(os.environ, is_terminal=sys.stdout.isatty())
    if way == "window":
        subprocess.Popen(["xdg-open", str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return
    png = render(figure, "png")
    if way == "kitty":
        sys.stdout.write("".join(kitty(png)) + "\n")
    elif way == "iterm":
        sys.stdout.write(iterm(png) + "\n")
    else:
        columns, lines = shutil.get_terminal_size()
        sys.stdout.write(blocks(_pixels(png, columns, lines - 2)))
    sys.stdout.flush()


def way_of(environment: Mapping[str, str], *, is_terminal: bool) -> str:
    """Return how to show a picture: "kitty" or "iterm" on terminals with images, "window" on a desktop, or "blocks"."""
    if is_terminal:
        if "KITTY_WINDOW_ID" in environment or environment.get("TERM_PROGRAM") in ("ghostty", "WezTerm"):
            return "kitty"
        if environment.get("TERM_PROGRAM") == "iTerm.app":
            return "iterm"
    if (environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")) and shutil.which("xdg-open"):
        return "window"
    if is_terminal:
        return "blocks"
    raise InputError("there is neither a terminal nor a display to show it", help="open the file that was written")


def kitty(png: bytes) -> Iterator[str]:
    """Yield a PNG in Kitty's graphics protocol (transmit and display), in chunks."""
    text = base64.standard_b64encode(png).decode()
    for at in range(0, len(text), CHUNK):
        more = int(at + CHUNK < len(text))
        head = f"a=T,f=100,m={more}" if at == 0 else f"m={more}"
        yield f"\x1b_G{head};{text[at : at + CHUNK]}\x1b\\"


def iterm(png: bytes) -> str:
    """Return a PNG in iTerm2's inline images protocol."""
    return f"\x1b]1337;File=inline=1;width=100%;size={len(png)}:{base64.standard_b64encode(png).decode()}\a"


def blocks(pixels: Pixels) -> str:
    """Return pixels as text, two rows to a line: an upper half block in foreground and background colour."""
    lines = []
    for upper, lower in zip(pixels[0::2], pixels[1::2], strict=False):
        cells = (
            f"\x1b[38;2;{u[0]};{u[1]};{u[2]};48;2;{v[0]};{v[1]};{v[2]}m▀" for u, v in zip(upper, lower, strict=True)
        )
        lines.append("".join(cells) + "\x1b[0m\n")
    return "".join(lines)


def _pixels(png: bytes, columns: int, lines: int) -> Pixels:
    """Return the picture scaled to one pixel for each half cell of the terminal, with its aspect ratio."""
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGB")
    scale = min(columns / image.width, 2 * lines / image.height)
    size = (max(int(image.width * scale), 1), max(int(image.height * scale), 2))
    return np.asarray(image.resize(size, Image.Resampling.LANCZOS), dtype=np.uint8)
