"""The expressions of a claim: numbers, names, + - * /, comparisons, `and`, `or`, `not`, abs, min, max, round.

They use Python's grammar, and are checked and evaluated here, node by node: no other part of Python can be reached.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
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
_OF_ONE = {"abs", "round"}
_WORDS = {"and", "or", "not", *_FUNCTIONS}
_MARK = "value_"
"""Prefix of every name in the tree, so that values can have the names of Python's keywords ("with", "is")."""


def evaluate(text: str, values: Mapping[str, float]) -> Number:
    """Return the value of an expression. Raises InputError as `parse` does, and ArithmeticError on division by zero."""
    marked = {_MARK + name: value for name, value in values.items()}
    value: Number = _value(parse(text, values), marked)
    return value


def parse(text: str, names: Collection[str]) -> ast.expr:
    """Return the tree of an expression, with the prefix before every name.

    Raises InputError if it is no expression, uses anything but the operators and functions above and `names`, or
    divides by a constant zero.
    """
    marked = re.sub(r"\b[^\W\d]\w*", lambda name: name[0] if name[0] in _WORDS else _MARK + name[0], text)
    try:
        tree = ast.parse(marked.strip(), mode="eval").body
    except SyntaxError as error:
        raise _refusal(text, error.msg) from error
    known = {_MARK + name for name in names}
    for node in _parts(tree):
        if not _is_known(node, known):
            raise _refusal(text, f"{_written(node)!r} is not known here")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _is_zero(node.right):
            raise _refusal(text, f"{_written(node)!r} divides by zero")
    return tree


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """Yield an expression and its parts, without the names of functions."""
    yield node
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr) and not (isinstance(node, ast.Call) and part is node.func):
            yield from _parts(part)


def _is_known(node: ast.expr, names: Collection[str]) -> bool:
    match node:
        case ast.Constant(value=int() | float()) | ast.BoolOp():
            return True
        case ast.Name(id=name):
            return name in names
        case ast.BinOp(op=op):
            return type(op) in _BINARY
        case ast.UnaryOp(op=op):
            return type(op) in _UNARY
        case ast.Compare(ops=ops):
            return all(type(op) in _COMPARED for op in ops)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return len(arguments) == 1 if name in _OF_ONE else len(arguments) > 1
    return False


def _is_zero(node: ast.expr) -> bool:
    """Return whether a part has no names and the value zero."""
    if not all(_is_known(part, ()) for part in _parts(node)):
        return False
    try:
        return bool(_value(node, {}) == 0)
    except ArithmeticError:
        return False


def _value(node: ast.expr, values: Mapping[str, float]) -> Any:
    match node:
        case ast.Constant(value=number):
            return number
        case ast.Name(id=name):
            return values[name]
        case ast.BinOp(left, op, right):
            return _BINARY[type(op)](_value(left, values), _value(right, values))
        case ast.UnaryOp(op, operand):
            return _UNARY[type(op)](_value(operand, values))
        case ast.BoolOp(op, operands):
            judged = (bool(_value(operand, values)) for operand in operands)
            return all(judged) if isinstance(op, ast.And) else any(judged)
        case ast.Compare(left, ops, comparators):
            sides = [_value(side, values) for side in (left, *comparators)]
            pairs = zip(ops, sides, sides[1:], strict=False)
            return all(_COMPARED[type(op)](one, other) for op, one, other in pairs)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name](*(_value(argument, values) for argument in arguments))
    raise AssertionError(f"{ast.dump(node)} was let through")


def _written(node: ast.expr) -> str:
    return ast.unparse(node).replace(_MARK, "")


def _refusal(text: str, why: str) -> InputError:
    return InputError(
        f"the expression {text!r}: {why}",
        help="use numbers, the claim's own values, + - * /, comparisons, and, or, not, abs, min, max, round",
    )
