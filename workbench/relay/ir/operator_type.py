"""The type of an operator's result from those of its operands, remembered, and how refusals read.

No type depends on the values of operands (a shape that does is `Any`), so operator, attributes and operand types
tell it.  Answers of the inventory's operators on static types are remembered by these; an operator from outside is
asked each time, since what its `infer` reads may change from cell to cell.

>>> from .operator import OPERATORS
>>> operator_type(OPERATORS["nn.relu"](), [TensorType((2, 3))])
Tensor[(2, 3), float32]
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from .operator import Operator
from .types import TensorType, TupleType, Type

_REMEMBERED: dict[Any, Type] = {}
"""Types by operator class, attributes and operand types; equal keys give equal types, so it may be emptied."""
_MOST = 8192
_PLAIN = (str, int, float, bool, type(None), DataType)


def operator_type(op: Operator, types: Sequence[Type], args: Sequence[Any] = (), place: str = "") -> Type:
    """The result type of an operator on operands of these (complete) types.

    `args` are the operands themselves, for messages.  Raises `WorkbenchError` that names the operator, the operand
    types and `place`.
    """
    key = _key(op, types)
    if key is None:
        return asked_type(op, types, args, place)
    found = _REMEMBERED.get(key)
    if found is None:
        found = asked_type(op, types, args, place)
        if _type_key(found) is not None:
            if len(_REMEMBERED) >= _MOST:
                _REMEMBERED.clear()
            _REMEMBERED[key] = found
    return found


def asked_type(op: Operator, types: Sequence[Type], args: Sequence[Any] = (), place: str = "") -> Type:
    """As `operator_type`, asking the operator itself."""
    check_operands(op, types, place)
    try:
        return op.infer(*types)
    except WorkbenchError as error:
        error.nodes = error.nodes or tuple(args)
        raise error.located(_where(op, types, place)) from None
    except (TypeError, ValueError, AttributeError, IndexError, AssertionError) as error:
        raise WorkbenchError(
            "E-TYPE-OPERATOR",
            f"{op.name} does not accept these operands: {error}",
            where=_where(op, types, place),
            nodes=tuple(args),
        ) from error


def _key(op: Operator, types: Sequence[Type]) -> Any:
    """What tells the result's type; None where that is not to be relied on."""
    cls = type(op)
    if not cls.__module__.startswith("workbench.topi."):
        return None
    operands = [_type_key(found) for found in types]
    attributes = cls.field_values(op)
    if None in operands or not all(map(_is_plain, attributes)):
        return None
    return cls, attributes, tuple(operands)


def _type_key(found: Type) -> Any:
    """A static type as a value that hashes fast; None for any other."""
    if isinstance(found, TensorType):
        return (found.shape, found.dtype) if found.is_static else None
    if not isinstance(found, TupleType):
        return None
    fields = [_type_key(field) for field in found.fields]
    return None if None in fields else ("tuple", *fields)


def _is_plain(value: Any) -> bool:
    return all(map(_is_plain, value)) if type(value) is tuple else type(value) in _PLAIN  # pyright: ignore[reportUnknownArgumentType]


def check_operands(op: Operator, types: Sequence[Type], place: str) -> None:
    """Refuse too few or too many operands."""
    operands = type(op).operands()
    many = any(operand.kind is inspect.Parameter.VAR_POSITIONAL for operand in operands)
    single = [operand for operand in operands if operand.kind is not inspect.Parameter.VAR_POSITIONAL]
    least = sum(operand.default is inspect.Parameter.empty for operand in single)
    if least <= len(types) and (many or len(types) <= len(single)):
        return
    names = ", ".join(f"*{operand.name}" if operand not in single else operand.name for operand in operands)
    raise WorkbenchError(
        "E-TYPE-ARITY",
        f"{op.name} takes {_count(least, None if many else len(single))}, not {len(types)}",
        where=_where(op, types, place),
        expected=f"{op.name}({names})",
    )


def _count(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least} operands"
    return f"{least} operands" if least == most else f"{least} to {most} operands"


def _where(op: Operator, types: Sequence[Type], place: str) -> str:
    attributes = [f"{name}={value!r}" for name, value in op.changed_attributes.items()]
    text = f"{op.name}({', '.join([*(repr(found) for found in types), *attributes])})"
    return f"{text} in {place}" if place else text
