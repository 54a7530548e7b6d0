"""What computing a value costs a core, in multiply-adds that it could start instead.

A node costs one for each register of its lanes; a product that is added costs nothing beside the sum.  Divisions and
functions cost what stands in `SLOW`.  What decides an index, and what is no data, costs nothing.

    work_of(store.value, 512, {id(k.var)}, set()).each
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from math import ceil
from typing import Final

from ..arith import nodes as a
from ..arith.nodes import PrimExpr
from ..core.walks import folded
from ..tir import nodes as t
from ..tir.array_values import operands
from .operations import COUNTED, is_costly

_FUNCTION: Final = 14
"""A polynomial of five terms, the range of its argument before, and the exponent after."""
_FUNCTIONS: Final = (
    "exp exp2 exp10 expm1 log log2 log10 log1p tanh sigmoid erf sin cos tan sinh cosh atan asin acos"
)  # fmt: skip
SLOW: Final = {
    **dict.fromkeys(("Div", "Mod", "FloorDiv", "FloorMod", "sqrt", "rsqrt"), 12),
    **dict.fromkeys(_FUNCTIONS.split(), _FUNCTION),
    "pow": 2 * _FUNCTION,
}
"""A division: about six cycles of both units for a register of floats (uops.info)."""


@dataclass(frozen=True)
class Work:
    """Of one execution."""

    each: float
    once: float
    """Of what does not change in the loop, and is computed before it."""
    fused: bool
    """Whether the last operation adds a product."""
    sums: bool
    """Whether it adds, and not only takes the greater or the smaller."""


@dataclass(frozen=True)
class _Part:
    cost: float
    is_data: bool
    moves: bool
    once: float


def work_of(value: PrimExpr, bits: int, moving: Set[int], stored: Set[int]) -> Work:
    """The cost of `value` with registers of `bits`; it changes with the variables `moving` and buffers `stored`."""
    whole = folded(value, _parts, lambda node, parts: _part(node, parts, bits, moving, stored))
    adds = isinstance(value, (a.Add, a.Sub))
    fused = adds and any(isinstance(part, a.Mul) for part in operands(value))
    once = whole.once + (0.0 if whole.moves else whole.cost)
    return Work(whole.cost if whole.moves else 0.0, once, fused, not isinstance(value, (a.Min, a.Max)))


def _parts(node: PrimExpr) -> Sequence[PrimExpr]:
    return node.indices if isinstance(node, t.BufferLoad) else operands(node)


def _part(node: PrimExpr, parts: list[_Part], bits: int, moving: Set[int], stored: Set[int]) -> _Part:
    moves = id(node) in moving or any(part.moves for part in parts)
    if isinstance(node, t.BufferLoad):
        return _Part(0.0, True, moves or id(node.buffer) in stored, 0.0)
    is_data = node.dtype.is_float or any(part.is_data for part in parts)
    once = sum(part.once for part in parts)
    if moves:
        once += sum(part.cost for part in parts if not part.moves)
        cost = sum(part.cost for part in parts if part.moves)
    else:
        cost = sum(part.cost for part in parts)
    fused = any(isinstance(operand, a.Mul) and part.moves == moves
                for operand, part in zip(operands(node), parts, strict=False))  # fmt: skip
    if is_data and (isinstance(node, COUNTED) or is_costly(node)):
        cost += _own(node, fused) * max(1, ceil(node.dtype.bits * node.dtype.lanes / bits))
    return _Part(cost, is_data, moves, once)


def _own(node: PrimExpr, fused: bool) -> float:
    if fused and isinstance(node, (a.Add, a.Sub)) and node.dtype.is_float:
        return 0.0  # one instruction with the product
    name = node.op if isinstance(node, a.Call) else type(node).__name__
    return float(SLOW.get(name, 1))
