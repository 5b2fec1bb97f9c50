"""Mutations of Rust functions, found in the text: each is a change that can be switched on in a built program."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rust import TEST_MODULE, blank, closing_brace

FUNCTION = re.compile(r"(?P<head>#\[cfg\(test\)\]\s+|\bconst\s+)?\b(?:unsafe\s+)?fn\s+(?P<name>\w+)")
CONDITION = re.compile(r"\b(?:if|while)\s+(?!let\b)(?P<place>[^{};]+?)\s*\{")
STATEMENT = re.compile(
    r"[;{}]\s*\n +(?P<place>(?!return\b|let\b|break\b)[*a-z_][\w.\[\]()*&, ]*(?:\)|\s[-+*|&]?=\s[^;{}|]*);)(?=\n)"
)
INITIALISER = re.compile(r"\blet\s+[^=;{}]+\s=\s+(?P<place>[^;{}]+);")
ARM = re.compile(r"=>\s*(?P<place>[^;{},]+),\n")
TAIL = re.compile(r"[;{]\s*(?P<place>[^;{}]+?)\s*\Z")
OTHERS = {
    "<": ("<=",),
    "<=": ("<",),
    ">": (">=",),
    ">=": (">",),
    "==": ("!=",),
    "!=": ("==",),
    "&&": ("||",),
    "||": ("&&",),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "+=": ("-=",),
    "-=": ("+=",),
}
"""Operators that take the place of an operator."""
OPERATOR = re.compile(rf" (?P<sign>{'|'.join(re.escape(sign) for sign in sorted(OTHERS, key=len, reverse=True))}) ")
SAME = {
    "()": ("",),
    "0": ("0", "Default::default()"),
    "Ok(Default::default())": ("Ok(())",),
    "Default::default()": (
        "Default::default()",
        "Self::default()",
        "0.0",
        "Vec::new()",
        "Duration::ZERO",
        "Bytes::ZERO",
    ),
}
"""Bodies that return a value already; by default the value itself."""
SWITCH = "::units::mutant(NUMBER)"


@dataclass(frozen=True, order=True)
class Mutation:
    """A change of one place of a file."""

    path: str
    begin: int
    end: int
    after: str
    """The text that takes the place, with NUMBER for the mutant's number."""
    line: int
    function: str
    change: str
    occurrence: int = 1
    """Index among equal changes of functions of this name in the file."""

    @property
    def name(self) -> str:
        """Description of the change, which stays the same when lines are added elsewhere."""
        again = f" ({self.occurrence})" if self.occurrence > 1 else ""
        return f"{self.path}: {self.function}: {self.change}{again}"


def mutations(path: str, text: str) -> Iterator[Mutation]:
    """Yield every mutation of a file. Tests and `const` functions have none."""
    seen: Counter[tuple[str, str]] = Counter()
    blanked = _without_tests(blank(text))
    for function in FUNCTION.finditer(blanked):
        opening = _opening(blanked, function.end())
        if opening is not None and not function["head"]:
            for found in _Function(path, text, blanked, function, opening).mutations():
                seen[found.function, found.change] += 1
                yield replace(found, occurrence=seen[found.function, found.change])


def _without_tests(blanked: str) -> str:
    """Return the text with spaces for its test modules."""
    for found in TEST_MODULE.finditer(blanked):
        end = closing_brace(blanked, found.end() - 1) + 1
        blanked = blanked[: found.start()] + re.sub(r"[^\n]", " ", blanked[found.start() : end]) + blanked[end:]
    return blanked


def _opening(blanked: str, place: int) -> int | None:
    """Return the place of the brace that opens a function's body; None where it has none."""
    depth = 0
    for mark in re.compile(r"[\[\]();{]").finditer(blanked, place):
        depth += (mark[0] in "[(") - (mark[0] in "])")
        if depth == 0 and mark[0] in "{;":
            return mark.start() if mark[0] == "{" else None
    return None


class _Function:
    """A function with a body, and its mutations."""

    def __init__(self, path: str, text: str, blanked: str, found: re.Match[str], opening: int) -> None:
        self._path, self._text, self._blanked = path, text, blanked
        self._name, self._signature, self._opening = found["name"], blanked[found.end() : opening], opening
        self._closing = closing_brace(blanked, opening)

    def mutations(self) -> Iterator[Mutation]:
        body = self._blanked[self._opening + 1 : self._closing].strip()
        for value in values(self._signature):
            if body in SAME.get(value, (value,)):
                continue
            yield self._mutation(self._opening, self._opening + 1, f"returns {value}", _returning(value))
        if not re.search(r"\bfn\s+\w", self._blanked[self._opening : self._closing]):
            yield from self._of_conditions()
            yield from self._of_statements()
            yield from self._of_expressions()

    def _mutation(self, begin: int, end: int, change: str, after: str) -> Mutation:
        line = self._text.count("\n", 0, begin) + 1
        return Mutation(self._path, begin, end, after, line, self._name, change)

    def _places(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, int, str]]:
        """Yield where a pattern's `place` is, and its text. One that lacks a bracket is none."""
        for found in pattern.finditer(self._blanked, self._opening, self._closing):
            begin, end = found.span("place")
            if _is_balanced(self._blanked[begin:end]):
                yield begin, end, self._text[begin:end]

    def _of_conditions(self) -> Iterator[Mutation]:
        for begin, end, condition in self._places(CONDITION):
            if not re.search(r"\blet\b|=>", self._blanked[begin:end]):
                yield self._mutation(begin, end, f"negates `{_short(condition)}`", f"({SWITCH} != ({condition}))")
                yield from self._of_operators(begin, end)

    def _of_statements(self) -> Iterator[Mutation]:
        for begin, end, statement in self._places(STATEMENT):
            yield self._mutation(
                begin, end, f"leaves out `{_short(statement)}`", f"if !{SWITCH} {{ {_flat(statement)} }}"
            )
            yield from self._of_operators(begin, end)

    def _of_expressions(self) -> Iterator[Mutation]:
        for pattern in (INITIALISER, ARM, TAIL):
            for begin, end, _ in self._places(pattern):
                yield from self._of_operators(begin, end)

    def _of_operators(self, begin: int, end: int) -> Iterator[Mutation]:
        """Yield the mutations with another operator in an expression or statement."""
        whole = self._text[begin:end]
        opening, closing = ("", "") if whole.endswith(";") else ("(", ")")
        for found in OPERATOR.finditer(self._blanked, begin, end):
            left, right = self._text[begin : found.start("sign")], self._text[found.end("sign") : end]
            for sign in OTHERS[found["sign"]]:
                change = f"has `{sign}` for `{found['sign']}` in `{_short(whole)}`"
                after = f"{opening}if {SWITCH} {{ {left}{sign}{right} }} else {{ {whole} }}{closing}"
                yield self._mutation(begin, end, change, _flat(after))


def values(signature: str) -> tuple[str, ...]:
    """Return the values that a function with this signature can return at once."""
    result = signature.rpartition("->")[2].split(" where ")[0].strip() if "->" in signature else "()"
    if re.search(r"\bimpl\b|&\s*('\w+\s+)?mut\b", result) or result == "!":
        return ()
    if result == "bool":
        return ("true", "false")
    if re.fullmatch(r"[ui](8|16|32|64|128|size)", result):
        return ("0", "1")
    if result.startswith("Result<"):
        return ("Ok(Default::default())",)
    if result.startswith("Option<"):
        return ("None", "Some(Default::default())")
    return ("()",) if result == "()" else ("Default::default()",)


def _returning(value: str) -> str:
    return f"{{ if {SWITCH} {{ return {value}; }}"


def _is_balanced(expression: str) -> bool:
    return all(expression.count(one) == expression.count(other) for one, other in ("()", "[]"))


def _flat(code: str) -> str:
    """Return code on one line: an error of the compiler then shows the mutant's number."""
    return re.sub(r"\s*\n\s*", " ", code)


def _short(code: str) -> str:
    return " ".join(code.split())
