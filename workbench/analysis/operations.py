"""Arithmetic of a program: how many operations on data one run does.

Operations on numbers that are loaded or are floats count one each (a transcendental function too); what computes an
index, a loop's end or a condition on loop variables does not.  A fused multiply-add counts two.

    flops(matmul)                  # 2 * 64**3
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

from ..arith import nodes as a
from ..arith.nodes import PrimExpr
from ..core.module import IRModule
from ..core.node import children, pre_order
from ..core.walks import folded
from ..tir import nodes as t
from ..tir.array_values import operands
from .index_tables import loader
from .instances import instances
from .programs import constant, plain

COUNTED: Final = (
    a.Add, a.Sub, a.Mul, a.Div, a.Mod, a.FloorDiv, a.FloorMod, a.Min, a.Max, a.Select,
    a.EQ, a.NE, a.LT, a.LE, a.GT, a.GE,
)  # fmt: skip
_FREE_CALLS: Final = frozenset({"if_then_else", "likely", "reinterpret", "shuffle", "address_of", "prefetch", "ret"})


def operations(value: PrimExpr, fused: bool = False) -> int:
    """Operations on data in one expression; with `fused`, a product that is added counts with the sum as one.

    Of an ``if_then_else`` the costlier arm counts.  A node that stands twice counts once.
    """
    seen: set[int] = set()
    return folded(value, _parts, lambda node, known: _counted(node, known, seen, fused))[0]


def _parts(node: PrimExpr) -> tuple[PrimExpr, ...]:
    return () if isinstance(node, t.BufferLoad) else operands(node)


def _counted(node: PrimExpr, known: list[tuple[int, bool]], seen: set[int], fused: bool) -> tuple[int, bool]:
    """(operations, whether the value is data) of a node whose parts are known."""
    parts, counts = _parts(node), list[int]()
    for part, (count, _) in zip(parts, known, strict=True):
        counts.append(0 if id(part) in seen else count)
        seen.add(id(part))
    is_data = isinstance(node, t.BufferLoad) or node.dtype.is_float or any(moved for _, moved in known)
    if isinstance(node, a.Call) and node.op == "if_then_else":
        return counts[0] + max(counts[1:]), is_data
    total = sum(counts)
    if not is_data or not (isinstance(node, COUNTED) or is_costly(node)):
        return total, is_data
    joined = fused and isinstance(node, (a.Add, a.Sub)) and any(isinstance(part, a.Mul) for part in parts)
    return total + (0 if joined else 1), True


def is_costly(node: PrimExpr) -> bool:
    return isinstance(node, a.Call) and node.op not in _FREE_CALLS and not _moves_lanes(node)


def _moves_lanes(node: a.Call) -> bool:
    """Whether a call of LLVM's only puts lanes of vectors elsewhere."""
    name = node.args[0].value if node.args and isinstance(node.args[0], a.StringImm) else ""
    return name.startswith("llvm.vector.") and not name.startswith("llvm.vector.reduce.")


def flops(program: Any, sizes: Mapping[str, int] | None = None) -> int:
    """Operations on data in one run of a schedule or function, conditions counted exactly where they can be.

    Raises `WorkbenchError` E-ANALYSIS-SIZE for extents that have no value.
    """
    func = plain(program, sizes)
    total = 0
    for found in instances(func, loader(func)):
        if isinstance(found.stmt, (t.BufferStore, t.LetStmt, t.Evaluate)):
            total += found.count * operations(found.stmt.value) * found.stmt.value.dtype.lanes
    return total


def most_touched(program: Any, sizes: Mapping[str, int] | None = None) -> list[int | None]:
    """How many elements of each parameter one run touches at most: how often it is accessed.

    None where that is not known: of what is no buffer, and of all where an address is taken.  Raises as `flops`.
    """
    func = plain(program, sizes)
    counts = {id(item): 0 for item in func.params if isinstance(item, t.Buffer)}
    for found in instances(func, loader(func)):
        parts = [part for part in children(found.stmt) if isinstance(part, PrimExpr)]
        for node in (inner for part in parts for inner in pre_order(part)):
            if isinstance(node, a.Call) and node.op == "address_of":
                return [None] * len(func.params)
            if isinstance(node, t.BufferLoad) and id(node.buffer) in counts:
                counts[id(node.buffer)] += found.count * node.dtype.lanes
        if isinstance(found.stmt, t.BufferStore) and id(found.stmt.buffer) in counts:
            counts[id(found.stmt.buffer)] += found.count * found.stmt.value.dtype.lanes
    return [counts.get(id(item)) for item in func.params]


def estimate_tir_flops(program: Any) -> float:
    """Classic name: `flops` of a PrimFunc, or the sum over the functions of a module."""
    if isinstance(program, IRModule):
        found = [function for function in program.functions.values() if isinstance(function, t.PrimFunc)]
        return float(sum(flops(function) for function in found))
    return float(flops(program))


def calculate_allocated_bytes(program: Any) -> dict[str, dict[str, int]]:
    """Classic name: bytes that each function allocates, by memory scope, after buffers are made compact."""
    functions = (
        {name: item for name, item in program.functions.items() if isinstance(item, t.PrimFunc)}
        if isinstance(program, IRModule)
        else {"main": program}
    )
    made: dict[str, dict[str, int]] = {}
    for name, function in functions.items():
        found = made.setdefault(str(name), {})
        for node in pre_order(plain(function).body):
            if isinstance(node, t.AllocBuffer):
                size = prod(constant(extent) for extent in node.buffer.shape) * node.buffer.dtype.bytes
                found[node.buffer.scope] = found.get(node.buffer.scope, 0) + size
    return made
