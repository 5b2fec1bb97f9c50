"""The expressions of a claim: numbers, names, + - * /, comparisons, `and`, `or`, `not`, abs, min, max, round.

They are written in Python's grammar and evaluated here, node by node: nothing else of Python is reachable from them.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from lasthop.errors import InputError

Number = float | bool

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: operator.neg, ast.Not: operator.not_}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"abs": abs, "min": min, "max": max, "round": round}
_WORDS = {"and", "or", "not", *_FUNCTIONS}
_MARK = "value_"
"""Put before every name of a value, so that one may be called "with" or "is" though Python keeps these words."""


def evaluate(text: str, values: Mapping[str, float]) -> Number:
    """Return the value of an expression. Raises InputError where it uses anything that is not allowed here."""
    marked = {_MARK + name: value for name, value in values.items()}
    value: Number = _Evaluator(text, marked).value(parse(text))
    return value


def parse(text: str) -> ast.expr:
    """Return an expression's tree, every name in it marked. Raises InputError where it is none."""
    marked = re.sub(r"\b[^\W\d]\w*", lambda name: name[0] if name[0] in _WORDS else _MARK + name[0], text)
    try:
        return ast.parse(marked.strip(), mode="eval").body
    except SyntaxError as error:
        raise _refusal(text, error.msg) from error


class _Evaluator:
    def __init__(self, text: str, values: Mapping[str, float]) -> None:
        self.text = text
        self.values = values

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.Name(id=name) if name in self.values:
                return self.values[name]
            case ast.BinOp(left, op, right) if type(op) in _BINARY:
                return _BINARY[type(op)](self.value(left), self.value(right))
            case ast.UnaryOp(op, operand) if type(op) in _UNARY:
                return _UNARY[type(op)](self.value(operand))
            case ast.BoolOp(op, operands):
                judged = (bool(self.value(operand)) for operand in operands)
                return all(judged) if isinstance(op, ast.And) else any(judged)
            case ast.Compare():
                return self._compared(node)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
                return _FUNCTIONS[name](*(self.value(argument) for argument in arguments))
        raise _refusal(self.text, f"{ast.unparse(node).replace(_MARK, '')!r} is not known here")

    def _compared(self, node: ast.Compare) -> bool:
        sides = [self.value(side) for side in (node.left, *node.comparators)]
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if type(op) not in _COMPARED:
                raise _refusal(self.text, "only < <= > >= == != compare")
            if not _COMPARED[type(op)](left, right):
                return False
        return True


def _refusal(text: str, why: str) -> InputError:
    return InputError(
        f"the expression {text!r}: {why}",
        key="claims.holds",
        help="use numbers, the claim's own values, + - * /, comparisons, and, or, not, abs, min, max, round",
    )
