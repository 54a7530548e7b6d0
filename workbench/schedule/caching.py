"""Copies between buffers: the common parts of cache_read and cache_write."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.tree import BlockSite
from ..arith import build
from ..arith.nodes import PrimExpr, Var
from ..tir import nodes as t
from ..tir.build import nest, point_region
from .state import ScheduleState


def top_statement(state: ScheduleState, site: BlockSite) -> t.Stmt:
    """The statement of the root block's body that a block stands in."""
    below = site.path[2:]
    return next((part for part in (*below, site.realize) if not isinstance(part, t.SeqStmt)), site.realize)


def copy_block(
    name: str, source: t.Buffer, target: t.Buffer, axes: Sequence[tuple[PrimExpr, PrimExpr]]
) -> tuple[t.Stmt, str]:
    """Loops and a block that copy a box (least index and extent along each axis), and the block's name."""
    loops: list[tuple[Var, PrimExpr]] = []
    iter_vars: list[t.IterVar] = []
    values: list[PrimExpr] = []
    for number, (low, extent) in enumerate(axes):
        var = Var(f"ax{number}")
        loops.append((var, extent))
        iter_vars.append(t.IterVar(Var(f"v{number}"), t.Range(low, extent), t.IterKind.SPATIAL))
        values.append(build.add(low, var))
    where = tuple(item.var for item in iter_vars)
    block = t.Block(
        name,
        tuple(iter_vars),
        (point_region(source, where),),
        (point_region(target, where),),
        (),
        None,
        t.BufferStore(target, t.BufferLoad(source, where), where),
    )
    return nest(loops, t.BlockRealize(tuple(values), build.const(True), block)), name
