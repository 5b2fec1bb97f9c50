"""Contents of a page: commands, in order, and the files that it prints with their names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROGRAMS: Final = ("lasthop", ".venv/bin/lasthop", "make", "pip", "uv", "tcpdump", "eval", "studies/")
"""Prefix of a command's line, in a block whose language is not the shell's."""

_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED: Final = re.compile(r"(?:^ {4}\S.*\n)+", re.MULTILINE)
_INLINE: Final = re.compile(r"`(lasthop\s+[a-z-]+\s+[^`]+)`")
_NAMED_FILE: Final = re.compile(r"# ([\w.-]+\.toml)\b")
_PLACEHOLDER: Final = re.compile(r"…|(?<![-$_{=])\b[A-Z]{3,}\b(?!_)")
_STATUS: Final = re.compile(r"# .*\bstatus (\d+)")


@dataclass(frozen=True)
class Command:
    """A line for a shell, and the exit status that the page promises."""

    line: str
    status: int = 0


@dataclass(frozen=True)
class File:
    """A file that the page prints, its name in the first line."""

    name: str
    text: str


Shown = Command | File


def on_page(page: str) -> list[Shown]:
    """Return the commands of a page in Markdown, and its named files, in order."""
    found: list[tuple[int, Shown]] = []
    rest = page
    for block in _FENCE.finditer(page):
        found += [(block.start(), shown) for shown in _in_block(block[1], block[2])]
        rest = rest.replace(block[0], " " * len(block[0]), 1)
    for block in _INDENTED.finditer(rest):
        found += [(block.start(), shown) for shown in _in_block("", block[0])]
    for inline in _INLINE.finditer(rest):
        line = " ".join(inline[1].split())
        if not _PLACEHOLDER.search(line):
            found.append((inline.start(), Command(line)))
    return [shown for _, shown in sorted(found, key=lambda placed: placed[0])]


def in_help(help: str) -> list[Shown]:
    """Return the examples of a help text."""
    examples = re.search(r"^ +Examples:\n((?: {4}.*\n)+)", help, re.MULTILINE)
    return list(_commands(examples[1], every=True)) if examples else []


def _in_block(language: str, text: str) -> Iterator[Shown]:
    if language == "toml" and (name := _NAMED_FILE.match(text)):
        yield File(name[1], text)
    elif language in ("sh", "", "console"):
        yield from _commands(text, every=language == "sh")


def _commands(text: str, *, every: bool) -> Iterator[Command]:
    """Yield the commands of a block; a line that ends in a backslash continues on the next."""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        typed = line.strip()
        if typed and not typed.startswith("#") and (every or typed.startswith(PROGRAMS)):
            status = _STATUS.search(typed)
            yield Command(typed, int(status[1]) if status else 0)


def page(path: Path) -> list[Shown]:
    """Return what a file in Markdown shows."""
    return on_page(path.read_text())
