"""fuse: nested loops become one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...arith import build
from ...arith.nodes import IntImm, PrimExpr, Var, literal
from ...arith.scope import variables_in
from ...core.dtype import DataType
from ...tir import nodes as t
from ..chains import consecutive
from ..errors import require
from ..references import LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, loop_replaced, substituted, tidied_in, without_unit_variables


@primitive(category="loop", keeps_order=True)
def fuse(state: ScheduleState, *loops: LoopRV, preserve_unit_iters: bool = True) -> Change[LoopRV]:
    """Make one loop of loops that stand directly inside one another, given outermost first.

    before:  for i, j in grid(4, 6): S(i, j)
    after:   for i_j_fused in range(24): S(i_j_fused // 6, i_j_fused % 6)

    Order is kept, so this is always legal.  `preserve_unit_iters=False` puts 0 in the place of the new variable if
    there is but one iteration.
    Raises `ScheduleError`: loops that are not serial, not directly nested, or whose extent depends on an outer one.
    """
    chain = consecutive(state, loops, "fuse")
    if len(chain) == 1:
        return Change(state.func, (chain[0].var,))
    for old in chain:
        require(
            old.kind is t.ForKind.SERIAL and not old.thread,
            "E-SCHEDULE-FUSE-KIND",
            f"cannot fuse {old.var.name}: it is {old.kind.value}",
            found=f"a loop of kind {old.kind.value}",
            expected="serial loops",
            fix="fuse first, annotate the result afterwards",
            nodes=(old,),
        )
    outer = {id(old.var) for old in chain}
    for old in chain[1:]:
        require(
            all(id(var) not in outer for bound in (old.min, old.extent) for var in variables_in(bound)),
            "E-SCHEDULE-FUSE-EXTENT",
            f"the bounds of {old.var.name} depend on a loop around it",
            found="a domain that is not rectangular",
            expected="bounds that do not change while the loops run",
            fix="fuse other loops",
            nodes=(old,),
        )
    name = Names(state.tree.names()).fresh("_".join(old.var.name for old in chain) + "_fused")
    fused = Var(name, _dtype(chain))
    extents = [build.cast(fused.dtype, old.extent) for old in chain]
    values: dict[Var, PrimExpr] = {}
    rest: PrimExpr = fused
    for old, size in zip(reversed(chain), reversed(extents), strict=True):
        last = old is chain[0]
        if literal(size, 1) == 0:  # such a loop never runs
            size = build.const(1, fused.dtype)
        value = build.cast(old.var.dtype, rest if last else build.floormod(rest, size))
        values[old.var] = build.add(build.cast(old.var.dtype, old.min), value)
        rest = rest if last else build.floordiv(rest, size)
    extent = extents[0]
    for size in extents[1:]:
        extent = build.multiply(extent, size)
    body = substituted(chain[-1].body, values)
    if not preserve_unit_iters:
        body = without_unit_variables(body, [fused], [extent])
    made = t.For(fused, build.const(0, fused.dtype), extent, t.ForKind.SERIAL, body)
    return Change(loop_replaced(state.tree, chain[0], tidied_in(state.tree, chain[0], made)), (fused,))


def _dtype(chain: Sequence[t.For]) -> DataType:
    """That of the fused variable: as wide as a symbolic extent needs, and no wider than a constant one does."""
    symbolic = [old.var.dtype for old in chain if not isinstance(old.extent, IntImm)]
    if symbolic:
        return max(symbolic, key=lambda dtype: dtype.bits)
    count = prod(old.extent.value for old in chain if isinstance(old.extent, IntImm))
    fitting = [old.var.dtype for old in chain if count <= old.var.dtype.limits()[1]]
    return min(fitting, key=lambda dtype: dtype.bits, default=build.INDEX)
