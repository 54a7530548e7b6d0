"""Builders: one function an operator, with its real signature and documentation.

>>> from workbench.relay.ir.expr import var
>>> builder("nn", "relu")(var("x", shape=(2, 3))).checked_type
Tensor[(2, 3), float32]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ...topi.calls import call, described, named
from ..ir.expr import Expr, const
from ..ir.operator import OPERATORS, Operator


def get(name: str) -> type[Operator]:
    """The operator class of that name.  Raises `WorkbenchError` for an unknown one."""
    return OPERATORS[name]


@cache
def _builder(cls: type[Operator]) -> Callable[..., Expr]:
    def build(*args: Any, **attributes: Any) -> Expr:
        return call(cls, *args, **attributes)

    return described(build, cls)


def builder(namespace: str, name: str) -> Callable[..., Expr]:
    """The builder of an operator, for module attributes.  Raises AttributeError for an unknown name."""
    return _builder(named(namespace, name))


def binary(name: str, a: Any, b: Any) -> Expr:
    """`a + b` and its like: a Python number takes the dtype of the other operand."""
    return call(name, *_matched(a, b))


def _matched(a: Any, b: Any) -> tuple[Any, Any]:
    """Operands of an expression operator; a number beside an expression of unknown type is a float32."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Expr) and isinstance(other, (int, float)) and one.type_or_none is None:
            made = const(float(other), "float32")
            return (one, made) if one is a else (made, one)
    return a, b


def unary(name: str, a: Expr) -> Expr:
    """`-a`."""
    return call(name, a)
