"""Each entry of the gallery makes a picture like that of the page, outside a checkout."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from documents.gallery import DOCS, Entry, entries

SMALLEST, LARGEST = 10_000, 400_000
"""Bytes of a picture that shows something, and that a page loads at once."""

LINES = 6
"""Most lines of an entry, continued ones included."""

PIXELS_A_POINT = 96 / 72


def size_of(picture: Path) -> tuple[float, float]:
    """Return width and height in pixels. Raises if the file is no picture."""
    if picture.suffix == ".svg":
        root = ElementTree.parse(picture).getroot()
        width, height = (PIXELS_A_POINT * float(root.attrib[side].removesuffix("pt")) for side in ("width", "height"))
        return width, height
    with Image.open(picture) as opened:
        assert len(opened.convert("RGB").getcolors(1 << 24) or ()) > 10, "an empty picture"
        return opened.size


def test_there_are_twenty_pictures_with_few_lines_each() -> None:
    found = entries()
    assert len(found) == 20
    assert len(re.findall(r"^## ", (DOCS / "gallery.md").read_text(), re.MULTILINE)) == 20
    assert max(entry.lines.count("\n") for entry in found) <= LINES
    shown = {entry.picture for entry in found}
    assert shown == set((DOCS / "pictures" / "gallery").iterdir()), "renew them with `make gallery`"


@pytest.mark.slow
@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.title)
def test_the_lines_of_an_entry_make_its_picture(entry: Entry, tmp_path: Path) -> None:
    made = entry.make(tmp_path)
    assert SMALLEST < made.stat().st_size < LARGEST
    width, height = size_of(made)
    shown_width, shown_height = size_of(entry.picture)
    assert width == pytest.approx(shown_width, rel=0.2), "renew it with `make gallery`"
    assert height == pytest.approx(shown_height, rel=0.2), "renew it with `make gallery`"
