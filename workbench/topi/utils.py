"""Classic `topi.utils`: small helpers of scripts that put tensor expressions together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod as product
from typing import Any

from ..arith.analyzer import Analyzer
from ..arith.nodes import IntImm
from ..core.errors import WorkbenchError
from .tag import is_injective


def get_const_int(expr: Any) -> int:
    """The number that an extent is.  Raises `WorkbenchError` for a symbolic one."""
    value = simplify(expr)
    if not isinstance(value, int):
        raise WorkbenchError(
            "E-TOPI-CONSTANT", "an extent must be known here", found=str(expr)[:60], expected="a number"
        )
    return value


def get_const_tuple(shape: Iterable[Any]) -> tuple[Any, ...]:
    """Extents as numbers where they are constant; symbolic ones stay."""
    return tuple(simplify(extent) for extent in shape)


def simplify(expr: Any) -> Any:
    """An expression in simplest form; a constant as a number."""
    if isinstance(expr, int):
        return expr
    made = Analyzer().simplify(expr)
    return made.value if isinstance(made, IntImm) else made


def equal_const_int(expr: Any, value: int) -> bool:
    """Whether an extent is known to be `value`."""
    return simplify(expr) == value if isinstance(simplify(expr), int) else False


def prod(values: Sequence[Any]) -> Any:
    """The product of extents."""
    return product(values)


def ceil_div(a: Any, b: Any) -> Any:
    """a / b rounded up."""
    return (a + (b - 1)) // b


def get_max_power2_factor(n: int, max_value: int | None = None) -> int:
    """The largest power of two that divides `n`, at most `max_value`."""
    factor = 1
    while n % 2 == 0 and (max_value is None or factor * 2 <= max_value):
        factor, n = factor * 2, n // 2
    return factor


def ravel_index(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The row-major position of an element."""
    place: Any = 0
    for index, extent in zip(indices, shape, strict=True):
        place = place * extent + index
    return place


def traverse_inline(s: Any, final_op: Any, callback: Callable[[Any], None]) -> None:
    """Inline every injective stage behind an operation of a te schedule, and call `callback` with each operation.

    Broadcast and elementwise stages (by tag, or by having neither a reduction nor another consumer that keeps them)
    are inlined unless they are outputs.
    """
    visited: set[int] = set()
    waiting = [final_op]
    while waiting:
        operation = waiting.pop()
        if id(operation) in visited:
            continue
        visited.add(id(operation))
        if is_injective(getattr(operation, "tag", "")):
            if operation not in s.outputs:
                s[operation].compute_inline()
            waiting.extend(tensor.op for tensor in operation.input_tensors if tensor.op.input_tensors)
        callback(operation)
