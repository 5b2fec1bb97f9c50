"""Rust sources without a compiler: comments and strings blanked out, functions by their braces, paths of `use`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN = re.compile(
    r"""//[^\n]*                                  # line comment
    |/\*                                         # block comment, which nests
    |\b(?:br|cr|r)(?P<hashes>\#*)"               # raw string
    |\b[bc]?"(?:[^"\\]|\\.)*"                    # string
    |"(?:[^"\\]|\\.)*"
    |b?'(?:[^'\\\n]|\\(?:u\{[^}]*\}|x..|.))'     # character
    """,
    re.VERBOSE | re.DOTALL,
)
NOT_A_NEWLINE = re.compile(r"[^\n]")


def blank(text: str) -> str:
    """Return the text with spaces for comments, strings and characters; line breaks stay."""
    parts: list[str] = []
    place = 0
    while found := TOKEN.search(text, place):
        end = _end(text, found)
        parts += [text[place : found.start()], NOT_A_NEWLINE.sub(" ", text[found.start() : end])]
        place = end
    return "".join([*parts, text[place:]])


def _end(text: str, found: re.Match[str]) -> int:
    """Return where a comment or string ends."""
    if found["hashes"] is not None:
        closing = text.find('"' + found["hashes"], found.end())
        return len(text) if closing < 0 else closing + 1 + len(found["hashes"])
    if found[0] != "/*":
        return found.end()
    depth = 0
    for mark in re.compile(r"/\*|\*/").finditer(text, found.start()):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)


def closing_brace(blanked: str, opening: int) -> int:
    """Return the place of the brace that closes the one at `opening`."""
    depth = 0
    for mark in re.compile(r"[{}]").finditer(blanked, opening):
        depth += 1 if mark[0] == "{" else -1
        if depth == 0:
            return mark.start()
    return len(blanked)


TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*\{")


def split_tests(text: str) -> tuple[str, str]:
    """Return the code and the inline test modules of a source file."""
    code, tests, place = [], [], 0
    blanked = blank(text)
    for found in TEST_MODULE.finditer(blanked):
        if found.start() >= place:
            end = closing_brace(blanked, found.end() - 1) + 1
            code.append(text[place : found.start()])
            tests.append(text[found.start() : end])
            place = end
    return "".join([*code, text[place:]]), "\n".join(tests)


FUNCTION = re.compile(r"\bfn\s+(\w+)")
BODY = re.compile(r"[;{]")


@dataclass(frozen=True)
class Function:
    """A function with a body."""

    name: str
    line: int
    length: int
    """Lines from its `fn` to its closing brace."""


def functions(text: str) -> Iterator[Function]:
    """Yield the functions that have a body, nested ones too."""
    blanked = blank(text)
    for found in FUNCTION.finditer(blanked):
        start = _body(blanked, found.end())
        if start is not None:
            end = closing_brace(blanked, start)
            line = blanked.count("\n", 0, found.start()) + 1
            yield Function(found[1], line, blanked.count("\n", found.start(), end) + 1)


def _body(blanked: str, place: int) -> int | None:
    """Return the place of the brace that opens a function's body; None where a semicolon ends the function."""
    brackets = 0
    for mark in re.compile(r"[\[\](){};]").finditer(blanked, place):
        if mark[0] in "[(":
            brackets += 1
        elif mark[0] in "])":
            brackets -= 1
        elif brackets == 0:
            return mark.start() if mark[0] == "{" else None
    return None


USE = re.compile(r"(?P<public>\bpub(?:\s*\([^)]*\))?\s+)?\buse\s+(?P<tree>[^;]+);")


@dataclass(frozen=True)
class Use:
    """One path of a `use` declaration."""

    path: tuple[str, ...]
    name: str
    """Name under which the path's last part is known here; `*` for everything in it."""
    is_reexport: bool


def uses(code: str) -> Iterator[Use]:
    """Yield the paths of all `use` declarations."""
    for found in USE.finditer(blank(code)):
        for path, name in _tree(re.sub(r"\s+", " ", found["tree"]).strip()):
            yield Use(path, name, found["public"] is not None)


def _tree(tree: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the paths of a `use` tree, each with the name that it gets."""
    if "{" not in tree:
        path, _, alias = tree.partition(" as ")
        parts = tuple(part.strip() for part in path.split("::") if part.strip())
        if parts:
            yield parts, alias.strip() or parts[-1]
        return
    head, _, rest = tree.partition("{")
    prefix = tuple(part.strip() for part in head.split("::") if part.strip())
    for branch in _branches(rest.rstrip().removesuffix("}")):
        for inner, name in _tree(branch):
            yield (prefix, prefix[-1]) if inner == ("self",) else ((*prefix, *inner), name)


def _branches(inside: str) -> Iterator[str]:
    """Yield what the commas outside of braces part."""
    depth, begun = 0, 0
    for place, mark in enumerate(inside):
        depth += (mark == "{") - (mark == "}")
        if mark == "," and depth == 0:
            yield inside[begun:place].strip()
            begun = place + 1
    if inside[begun:].strip():
        yield inside[begun:].strip()
