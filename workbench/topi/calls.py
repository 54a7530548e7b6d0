"""How a call of an operator is built from Python arguments.

Operands may be expressions, numbers or arrays; a number takes the dtype of the first operand with a known type.
Attributes may be constants of the program.  An attribute given as an expression that is no constant makes the call
one of the operator's dynamic form (``dyn.reshape``), where there is one.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..core.dtype import DataType
from ..core.errors import WorkbenchError, nearest
from ..core.tensor import Tensor
from ..relay.ir.expr import Call, Constant, Expr, Tuple, const
from ..relay.ir.operator import OPERATORS, Operator
from ..relay.ir.types import TensorType, TupleType


def call(which: str | type[Operator], *args: Any, **attributes: Any) -> Call:
    """A call of an operator (by name or class); arguments as its builder takes them.  Raises `WorkbenchError`."""
    cls = OPERATORS[which] if isinstance(which, str) else which
    values = bound(cls, args, attributes)
    operands = [values[key] for key in _operand_names(cls) if key in values]
    if _variadic(cls):
        operands = [*operands[:-1], *_sequence(operands[-1])]
    given = {key: value for key, value in values.items() if key in cls.field_names}
    dynamic = [key for key, value in given.items() if isinstance(value, Expr) and not isinstance(value, Constant)]
    if dynamic:
        return _dynamic_call(cls, operands, given, dynamic)
    op = cls(**{key: _attribute(value) for key, value in given.items()})
    return checked(Call(op, _expressions(operands)))


def checked(made: Call) -> Call:
    """The call; raises `WorkbenchError` where the operands are known and do not fit."""
    if all(operand.type_or_none is not None for operand in made.args):
        made.checked_type  # noqa: B018  (asked for its refusal)
    return made


def _dynamic_call(cls: type[Operator], operands: list[Any], given: dict[str, Any], dynamic: list[str]) -> Call:
    """The operator's dynamic form, where the values of some attributes are operands."""
    form = OPERATORS.get(f"dyn.{cls.name}")
    if form is None:
        raise WorkbenchError(
            "E-OPERATOR-ATTRIBUTE",
            f"{cls.name}: {dynamic[0]} must be known while compiling",
            found="an expression",
            fix="pass a number or a constant",
        )
    extra = [given[key] for key in _operand_names(form) if key in given]
    rest = {key: _attribute(value) for key, value in given.items() if key in form.field_names and key not in dynamic}
    return checked(Call(form(**rest), _expressions([*operands, *extra])))


def _attribute(value: Any) -> Any:
    """An attribute's value; constants of the program become Python values."""
    if isinstance(value, Constant):
        return value.data.numpy().tolist()
    if isinstance(value, (list, tuple)) and any(isinstance(item, Constant) for item in value):
        return tuple(item.data.numpy().item() if isinstance(item, Constant) else item for item in value)
    return value


def _expressions(operands: list[Any]) -> tuple[Expr, ...]:
    """Operands as expressions; numbers take the dtype of the first typed tensor."""
    tensors = (item.type_or_none for item in operands if isinstance(item, Expr))
    dtype = next((found.dtype for found in tensors if isinstance(found, TensorType)), None)
    return tuple(_expression(item, dtype) for item in operands)


def _expression(value: Any, dtype: DataType | None) -> Expr:
    if isinstance(value, Expr):
        return value
    if isinstance(value, (list, tuple)) and any(isinstance(item, Expr) for item in value):
        return Tuple(tuple(_expression(item, dtype) for item in value))
    if isinstance(value, (bool, int, float, np.generic)) and dtype is not None:
        return const(value, dtype)
    if isinstance(value, (bool, int, float, np.generic, np.ndarray, list, Tensor)):
        return const(value)
    raise WorkbenchError(
        "E-OPERATOR-OPERAND",
        f"a {type(value).__name__} cannot be an operand",
        found=repr(value)[:80],
        expected="an expression, a number or an array",
    )


def _sequence(value: Any) -> list[Any]:
    """The tensors given for a parameter that takes any number."""
    if isinstance(value, Tuple):
        return list(value.fields)
    return list(value) if isinstance(value, (list, tuple)) or isinstance(value.type_or_none, TupleType) else [value]


# --- signatures ---------------------------------------------------------------------------------------------------


def _operand_names(cls: type[Operator]) -> list[str]:
    return [parameter.name for parameter in cls.operands()]


def _variadic(cls: type[Operator]) -> bool:
    operands = cls.operands()
    return bool(operands) and operands[-1].kind is inspect.Parameter.VAR_POSITIONAL


@cache
def signature(cls: type[Operator]) -> inspect.Signature:
    """The Python signature of an operator's builder: operands and attributes, in classic order."""
    entries: dict[str, Any] = {}
    for operand in cls.operands():
        entries[operand.name] = operand.default
    fields: Any = dataclasses.fields(cls)  # type: ignore[arg-type]
    for field in fields:
        missing = field.default is dataclasses.MISSING
        entries[field.name] = inspect.Parameter.empty if missing else field.default
    order = [*cls.parameters, *(name for name in entries if name not in cls.parameters)]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters: list[inspect.Parameter] = []
    for name in order:
        default = entries[name]
        if default is inspect.Parameter.empty and any(made.default is not made.empty for made in parameters):
            kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


def bound(cls: type[Operator], args: tuple[Any, ...], attributes: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, those given only.  Raises `WorkbenchError` when they do not fit the signature."""
    expected = signature(cls)
    known = expected.parameters
    unknown = [name for name in attributes if name not in known]
    if unknown:
        hint = nearest(unknown[0], known) or f"known: {', '.join(known) or 'none'}"
        raise WorkbenchError("E-OPERATOR-ATTRIBUTE", f"{cls.name} has no attribute {unknown[0]!r}", fix=hint)
    try:
        return {name: value for name, value in expected.bind(*args, **attributes).arguments.items() if _given(value)}
    except TypeError as problem:
        raise WorkbenchError("E-OPERATOR-CALL", f"{cls.name}: {problem}", expected=f"{cls.name}{expected}") from None


def _given(value: Any) -> bool:
    return value is not None


def documentation(cls: type[Operator]) -> str:
    """The builder's docstring: what the operator does, and its attributes."""
    fields: Any = dataclasses.fields(cls)  # type: ignore[arg-type]
    lines = [inspect.cleandoc(cls.__doc__ or cls.name)]
    if fields:
        lines += ["", "Attributes:"]
    for field in fields:
        choices = field.metadata.get("choices", ())
        limited = f" ({', '.join(repr(choice) for choice in choices)})" if choices else ""
        lines.append(f"    {field.name}: {field.metadata.get('doc', '')}{limited}")
    return "\n".join(lines)


def described(build: Callable[..., Any], cls: type[Operator]) -> Callable[..., Any]:
    """A function that builds calls of an operator, with the operator's name, documentation and signature."""
    build.__name__ = build.__qualname__ = cls.name.rsplit(".", 1)[-1]
    build.__doc__ = documentation(cls)
    build.__signature__ = signature(cls)  # type: ignore[attr-defined]
    return build


def named(namespace: str, name: str) -> type[Operator]:
    """The operator of a name, for module attributes.  Raises AttributeError for an unknown one."""
    full = f"{namespace}.{name}" if namespace else name
    if full not in OPERATORS:
        hint = nearest(full, OPERATORS)
        raise AttributeError(f"there is no operator {full!r}{'; ' + hint if hint else ''}")
    return OPERATORS[full]
