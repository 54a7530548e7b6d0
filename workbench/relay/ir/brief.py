"""Expressions in one short line, for error messages and logs; never for parsing.

>>> from .expr import Var, Tuple
>>> brief(Tuple((Var("x"), Var("y"))))
'(%x, %y)'
"""

from __future__ import annotations

from typing import Any

from ...core.errors import shorten
from . import expr as e
from .operator import Operator

_LIMIT = 160


def brief(value: Any) -> str:
    """One line for an expression: the outermost construct, its operands by name or kind."""
    return shorten(_text(value), _LIMIT)


def _text(value: Any) -> str:
    if isinstance(value, e.Call):
        return f"{_callee(value.op)}({', '.join([*map(operand, value.args), *_attributes(value.op)])})"
    if isinstance(value, e.Tuple):
        inner = ", ".join(operand(item) for item in value.fields)
        return f"({inner},)" if len(value.fields) == 1 else f"({inner})"
    if isinstance(value, e.TupleGetItem):
        return f"{operand(value.tuple_value)}.{value.index}"
    if isinstance(value, e.Let):
        return f"let %{value.var.name_hint} = {operand(value.value)}"
    if isinstance(value, e.If):
        return f"if ({operand(value.cond)})"
    if isinstance(value, e.Function):
        return f"fn ({', '.join(operand(param) for param in value.params)})"
    if isinstance(value, e.Match):
        return f"match ({operand(value.data)})"
    return operand(value)


def operand(value: Any) -> str:
    """An operand by its name if it has one, else by what makes it."""
    if isinstance(value, e.Var):
        return f"%{value.name_hint}"
    if isinstance(value, e.GlobalVar):
        return f"@{value.name_hint}"
    if isinstance(value, e.Constant):
        return _constant(value)
    if isinstance(value, e.Constructor):
        return value.name_hint
    if isinstance(value, e.Call):
        return f"{_callee(value.op)}(…)"
    return f"<{type(value).__name__}>"


def _constant(value: e.Constant) -> str:
    if value.data.size == 1 and not value.data.shape:
        return str(value.data.numpy())
    return f"const{value.data.shape}".replace(" ", "")


def _callee(op: Any) -> str:
    if isinstance(op, Operator):
        return op.name
    return "fn" if isinstance(op, e.Function) else operand(op)


def _attributes(op: Any) -> list[str]:
    if not isinstance(op, Operator):
        return []
    return [f"{name}={value!r}" for name, value in op.changed_attributes.items()]
