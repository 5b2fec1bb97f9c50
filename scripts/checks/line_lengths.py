"""List lines of Rust, of Markdown and of the pages in `web` that are longer than 120 columns.

    python scripts/checks/line_lengths.py [--wrap] [PATH…]

With --wrap, paragraphs of comments and of Markdown that have such a line are filled anew.
Exempt is what cannot be broken: rows of tables, fenced code and lines with one long link; in Rust also lines with a URL
or a string literal. The exit status is 1 if any line is left.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LONGEST = 120
UNBREAKABLE = re.compile(r"https?://|^\S{100,}$")
STRING = re.compile(r'"(?:\\.|[^"\\])*"')
PAGES = ("ts", "svelte", "js", "mjs", "css")
"""Kinds of files of the pages; Prettier does not break comments and texts."""
GENERATED = ("docs/reference/",)
"""Written by `make record`, a paragraph a line."""


def files() -> list[str]:
    """Return the Rust and Markdown files and those of the pages that git knows, generated ones apart."""
    patterns = ["*.rs", "*.md", *(f"web/*.{kind}" for kind in PAGES)]
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.splitlines() if not name.startswith(GENERATED) and (ROOT / name).is_file()]


def offenders(name: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield number and length of each line that is too long."""
    lines = {".md": of_markdown, ".rs": of_rust}.get(Path(name).suffix, of_anything)(text)
    for number, line in lines:
        if len(line) > LONGEST and not UNBREAKABLE.search(line):
            yield number, len(line)


def of_markdown(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of prose, with their numbers."""
    is_code = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and not line.lstrip().startswith("|"):
            yield number, line


def of_rust(text: str) -> Iterator[tuple[int, str]]:
    """Yield comments and code, with their numbers; rustfmt leaves a long string where it is."""
    for number, line in enumerate(text.splitlines(), start=1):
        code, _, comment = STRING.sub('""', line).partition("//")
        if comment.lstrip("/! ").startswith("|"):
            continue
        if comment or '"' not in code:
            yield number, line


def of_anything(text: str) -> Iterator[tuple[int, str]]:
    """Yield all lines, with their numbers."""
    yield from enumerate(text.splitlines(), start=1)


PARAGRAPH = re.compile(r"^(?P<prefix>\s*(?://[/!]?\s)?\s*)(?P<item>(?:[-*]|\d+\.)\s+)?(?P<words>.*)$")
FIXED = re.compile(r"^(?:#|\||>|```|\[[^\]]+\]:|!\[)")
"""Beginnings of lines that no paragraph takes in."""


def wrapped(name: str, text: str) -> str:
    """Return the text with every paragraph filled anew that has a line that is too long."""
    lines = text.split("\n")
    wrong = [number - 1 for number, _ in offenders(name, text)]
    for number in reversed(wrong):
        if number < len(lines) and len(lines[number]) > LONGEST and _words(name, lines[number]) is not None:
            begin, end = _extent(name, lines, number)
            lines[begin:end] = _filled(lines[begin:end])
    return "\n".join(lines)


def _words(name: str, line: str) -> re.Match[str] | None:
    """Return the parts of a line of a paragraph; None for a line of anything else."""
    found = PARAGRAPH.match(line)
    is_prose = found and found["words"].strip() and not FIXED.match(found["words"])
    if not is_prose or (name.endswith(".rs") and "//" not in line.split('"')[0][:40].lstrip()[:2]):
        return None
    return found


def _extent(name: str, lines: list[str], number: int) -> tuple[int, int]:
    """Return the lines of the paragraph around a line: one item of a list, or lines with one prefix."""
    begin, end = number, number + 1
    while begin > 0 and not _item(lines[begin]) and _continues(name, lines[begin - 1], lines[begin]):
        begin -= 1
    while end < len(lines) and not _item(lines[end]) and _continues(name, lines[end - 1], lines[end]):
        end += 1
    return begin, end


def _item(line: str) -> bool:
    found = PARAGRAPH.match(line)
    return bool(found and found["item"])


def _continues(name: str, first: str, second: str) -> bool:
    """Whether the second line continues the paragraph of the first."""
    before, after = _words(name, first), _words(name, second)
    if before is None or after is None:
        return False
    expected = len(before["prefix"]) + len(before["item"] or "")
    return before["prefix"].strip() == after["prefix"].strip() and len(after["prefix"]) == expected


def _filled(lines: list[str]) -> list[str]:
    first = PARAGRAPH.match(lines[0])
    assert first is not None
    words = " ".join(found["words"].strip() for line in lines if (found := PARAGRAPH.match(line)))
    start = first["prefix"] + (first["item"] or "")
    following = first["prefix"] + " " * len(first["item"] or "")
    return textwrap.wrap(
        words,
        LONGEST,
        initial_indent=start,
        subsequent_indent=following,
        break_long_words=False,
        break_on_hyphens=False,
    )


def main(arguments: list[str]) -> int:
    """Print every line that is too long in the files that are named, or in all of them."""
    paths = [argument for argument in arguments if argument != "--wrap"] or files()
    if "--wrap" in arguments:
        for name in paths:
            text = (ROOT / name).read_text()
            if (new := wrapped(name, text)) != text:
                (ROOT / name).write_text(new)
    found = [
        f"{name}:{number}: {length} columns"
        for name in paths
        for number, length in offenders(name, (ROOT / name).read_text())
    ]
    print("\n".join(found) if found else f"no line is longer than {LONGEST} columns")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
