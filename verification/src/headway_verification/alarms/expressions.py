"""The expressions of metric math that template.yaml has, for one period.

Source: CloudWatch user guide, "Using math expressions". A metric without data has no value. ``FILL`` gives it one,
``SUM(METRICS())`` leaves it out, and any other term of it has none either.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

Values = Mapping[str, float | None]
"""The values of metrics in a period, by their ids; None without data."""

_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Div: operator.truediv,
    ast.Gt: operator.gt,
    ast.Lt: operator.lt,
}


def evaluated(expression: str, values: Values) -> float | None:
    """The value of an expression; None if it has none.

    Raises:
        ValueError: it has a term that is not supported.
    """
    found = _value(_parsed(expression), values)
    return None if found is None else float(found)


@cache
def _parsed(expression: str) -> ast.expr:
    return ast.parse(expression.replace(" AND ", " and "), mode="eval").body


def _value(term: ast.expr, values: Values) -> Any:
    match term:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Call(func=ast.Name(id="FILL"), args=[filled, other]):
            found = _value(filled, values)
            return _value(other, values) if found is None else found
        case ast.Call(func=ast.Name(id="IF"), args=[condition, one, other]):
            holds = _value(condition, values)
            return None if holds is None else _value(one if holds else other, values)
        case ast.Call(func=ast.Name(id="SUM"), args=[ast.Call(func=ast.Name(id="METRICS"), args=[])]):
            known = [each for each in values.values() if each is not None]
            return sum(known) if known else None
        case ast.BoolOp(op=ast.And(), values=terms):
            found = [_value(each, values) for each in terms]
            return None if None in found else all(found)
        case ast.Compare(left=left, ops=[sign], comparators=[right]) | ast.BinOp(left=left, op=sign, right=right):
            one, other = _value(left, values), _value(right, values)
            if type(sign) in _OPERATORS:
                return None if one is None or other is None else _OPERATORS[type(sign)](one, other)
        case _:
            pass
    raise ValueError(f"not supported: {ast.unparse(term)}")
