"""Operators on te tensors: `topi.nn.relu(x)`, `topi.sum(x, axis=1)`; and decompositions put together in te.

>>> from workbench import te
>>> function("", "add")(te.placeholder((2, 3)), te.placeholder((3,))).shape
(2, 3)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from .. import te
from ..core.errors import WorkbenchError
from ..core.node import post_order
from ..relay.ir.expr import Call, Constant, Expr, Tuple, TupleGetItem, Var
from ..relay.ir.operator import Operator
from ..relay.ir.types import TensorType, TupleType, Type
from .calls import call, described, named
from .widen import tensor_expression


def type_of(value: Any) -> Type:
    """The relay type of a te tensor, or of a sequence of them."""
    if isinstance(value, te.Tensor):
        return TensorType(value.shape, value.dtype)
    return TupleType(tuple(type_of(item) for item in value))


def composed(op: Operator, *tensors: Any) -> Any:
    """The tensor expression of an operator that is defined by its decomposition."""
    parameters = tuple(Var(f"x{at}", type_of(value)) for at, value in enumerate(tensors))
    body = op.decompose(*parameters)
    if body is None:
        raise NotImplementedError(op.name)
    return evaluated(body, {id(parameter): value for parameter, value in zip(parameters, tensors, strict=True)})


def evaluated(body: Expr, values: dict[int, Any]) -> Any:
    """A relay expression over te tensors; `values` holds those of its variables by identity."""
    for current in post_order(body):
        if id(current) not in values and isinstance(current, Expr):
            values[id(current)] = _value(current, values)
    return values[id(body)]


def _value(current: Expr, values: dict[int, Any]) -> Any:
    if isinstance(current, Constant):
        if current.data.size == 1:
            number = current.data.numpy().reshape(-1)[0]
            return te.compute(current.data.shape, lambda *_: te.const(number, current.data.dtype), name="constant")
        raise WorkbenchError("E-TOPI-CONSTANT", "an array must be given as a placeholder here", found=repr(current))
    if isinstance(current, Tuple):
        return [values[id(item)] for item in current.fields]
    if isinstance(current, TupleGetItem):
        return values[id(current.tuple_value)][current.index]
    if isinstance(current, Call) and isinstance(current.op, Operator):
        return tensor_expression(current.op, [values[id(item)] for item in current.args])
    raise WorkbenchError("E-TOPI-EXPRESSION", f"{type(current).__name__} has no tensor expression", found=repr(current))


@cache
def _function(cls: type[Operator]) -> Callable[..., Any]:
    def build(*args: Any, **attributes: Any) -> Any:
        values: dict[int, Any] = {}
        made = call(
            cls, *(_symbol(item, values) for item in args), **{k: _symbol(v, values) for k, v in attributes.items()}
        )
        return evaluated(made, values)

    return described(build, cls)


def _symbol(value: Any, values: dict[int, Any]) -> Any:
    """A relay variable in place of a te tensor (or a tuple of them); other values stay."""
    if isinstance(value, te.Tensor):
        made = Var(value.name, type_of(value))
        values[id(made)] = value
        return made
    if isinstance(value, (list, tuple)) and any(isinstance(item, te.Tensor) for item in value):
        return tuple(_symbol(item, values) for item in value)
    return value


def function(namespace: str, name: str) -> Callable[..., Any]:
    """The te function of an operator, for module attributes.  Raises AttributeError for an unknown name."""
    return _function(named(namespace, name))
