"""The pictures of docs/gallery.md, each made by the lines of its entry.

`python -m documents.gallery` (with tests/ on PYTHONPATH) makes the pictures of the page.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parents[2] / "docs"

_ENTRY: Final = re.compile(
    r"^## (?P<title>[^\n]*)\n\n!\[(?P<words>[^]]+)\]\((?P<picture>[^)]+)\)\n\n"
    r"```(?P<language>sh|python)\n(?P<lines>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Entry:
    """A picture of the page, with the lines that make a file of its name."""

    title: str
    picture: Path
    language: str
    lines: str

    def make(self, folder: Path) -> Path:
        """Run the lines in a folder with the installed package, and return the picture. Raises CalledProcessError."""
        words = {"sh": ["bash", "-eo", "pipefail", "-c"], "python": [sys.executable, "-c"]}[self.language]
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "MPLBACKEND": "agg"}
        subprocess.run([*words, self.lines], cwd=folder, env=environment, check=True, capture_output=True, text=True)
        return folder / self.picture.name


def entries() -> list[Entry]:
    """Return the entries of the page, in order."""
    page = (DOCS / "gallery.md").read_text()
    found = _ENTRY.finditer(page)
    return [Entry(each["title"], DOCS / each["picture"], each["language"], each["lines"]) for each in found]


def _make_all() -> None:
    for entry in entries():
        with tempfile.TemporaryDirectory() as folder:
            entry.picture.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(entry.make(Path(folder)), entry.picture)


if __name__ == "__main__":
    _make_all()
