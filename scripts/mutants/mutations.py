"""Mutants of Rust functions, found in the text: each is a change that can be switched on in a built program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rust import blank, closing_brace, split_tests

FUNCTION = re.compile(r"(?P<const>\bconst\s+)?\b(?:unsafe\s+)?fn\s+(?P<name>\w+)")
VALUES = {
    "bool": ("true", "false"),
    "Self": (),
    "": ("()",),
}
"""Values to return at once, by the type of the result; `Default::default()` for any other type."""
CONDITION = re.compile(r"\b(?:if|while)\s+(?!let\b)(?P<condition>[^{};]+?)\s*\{")
STATEMENT = re.compile(
    r"^(?P<indent> +)(?P<statement>(?:self|\*self|[a-z_]+)[\w.\[\]()*&, ]*(?:\)|\s[-+*|&]?=\s[^;{}|]*));$", re.M
)
COMPARISON = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


@dataclass(frozen=True, order=True)
class Mutation:
    """A change of one place of a file."""

    path: str
    begin: int
    end: int
    line: int
    kind: str
    before: str
    after: str
    """The text that takes the place of `before`, with NUMBER for the mutant's number."""

    @property
    def name(self) -> str:
        """Where it is, and the change that it makes."""
        return f"{self.path}:{self.line}: {self.kind}"


def mutations(path: str, text: str) -> Iterator[Mutation]:
    """Yield every mutation of a file. Test modules and `const` functions have none."""
    code = split_tests(text)[0].rstrip()
    if not text.startswith(code):  # a test module in the middle of a file moves what follows it
        return
    blanked = blank(code)
    for found in FUNCTION.finditer(blanked):
        opening = _opening(blanked, found.end())
        if opening is None or found["const"]:
            continue
        closing = closing_brace(blanked, opening)
        yield from _of_result(path, blanked, found, opening)
        if "fn " not in blanked[opening:closing]:
            yield from _of_body(path, code, blanked, opening, closing)


def _opening(blanked: str, place: int) -> int | None:
    depth = 0
    for mark in re.compile(r"->|[\[\]();{]").finditer(blanked, place):
        depth += (mark[0] in {"[", "("}) - (mark[0] in {"]", ")"})
        if depth == 0 and mark[0] in {"{", ";"}:
            return mark.start() if mark[0] == "{" else None
    return None


def _of_result(path: str, blanked: str, found: re.Match[str], opening: int) -> Iterator[Mutation]:
    """Yield the mutations that return a value at once."""
    signature = blanked[found.end() : opening]
    result = signature.rpartition("->")[2].split("where")[0].strip() if "->" in signature else ""
    if "impl " in result or result == "!" or "const {" in signature:
        return
    for value in VALUES.get(result, ("Default::default()",)):
        after = f"{{ if units::mutant(NUMBER) {{ return {value}; }}"
        line = blanked.count("\n", 0, found.start()) + 1
        yield Mutation(path, opening, opening + 1, line, f"{found['name']} returns {value}", "{", after)


def _of_body(path: str, code: str, blanked: str, opening: int, closing: int) -> Iterator[Mutation]:
    """Yield negated conditions, comparisons with another bound, and statements that are left out."""

    def mutation(begin: int, end: int, kind: str, after: str) -> Mutation:
        line = code.count("\n", 0, begin) + 1
        return Mutation(path, begin, end, line, f"{kind} `{' '.join(code[begin:end].split())}`", code[begin:end], after)

    for found in CONDITION.finditer(blanked, opening, closing):
        begin, end = found.span("condition")
        condition = code[begin:end]
        if " let " in condition or condition.count("(") != condition.count(")") or "=>" in condition:
            continue
        yield mutation(begin, end, "negates", f"(units::mutant(NUMBER) != ({condition}))")
        signs = re.findall(r" (<=|>=|<|>|==|!=) ", condition)
        if len(signs) == 1 and "&&" not in condition and "||" not in condition:
            left, right = condition.split(f" {signs[0]} ")
            other = COMPARISON[signs[0]]
            if left.count("(") == left.count(")") and signs[0] not in {"==", "!="}:
                choice = f"if units::mutant(NUMBER) {{ {left} {other} {right} }} else {{ {condition} }}"
                yield mutation(begin, end, f"{other} in", f"({choice})")
    for found in STATEMENT.finditer(blanked, opening, closing):
        begin, end = found.span("statement")
        statement = code[begin:end]
        if statement.startswith(("return", "let ", "break", "debug_assert")) or statement.count("(") != statement.count(
            ")"
        ):
            continue
        yield mutation(begin, end + 1, "leaves out", f"if !units::mutant(NUMBER) {{ {statement}; }}")
        sign = re.search(r" (\+|-)= ", statement)
        if sign:
            other = statement.replace(sign[0], f" {'-' if sign[1] == '+' else '+'}= ")
            choice = f"if units::mutant(NUMBER) {{ {other}; }} else {{ {statement}; }}"
            yield mutation(begin, end + 1, "the other sign in", choice)
