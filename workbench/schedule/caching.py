"""Copies between buffers: the common parts of cache_read and cache_write."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.affine import Affine
from ..analysis.tree import BlockSite, iter_ranges
from ..arith import build
from ..arith.nodes import PrimExpr, Var
from ..tir import nodes as t
from ..tir.build import nest, point_region
from .errors import refuse
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


def written_box(block: t.Block, region: t.BufferRegion) -> list[tuple[PrimExpr, PrimExpr]]:
    """(least index, number of indices) that a block writes along each axis."""
    found: list[tuple[PrimExpr, PrimExpr]] = []
    domains = {id(item.var): item for item in block.iter_vars}
    used: set[int] = set()
    for axis in region.region:
        form = Affine.of(axis.min, iter_ranges(block))
        var = form.is_variable()
        if form.value is not None:
            found.append((build.const(form.value), build.const(1)))
        elif var is not None and id(var) in domains and id(var) not in used:
            used.add(id(var))
            found.append((domains[id(var)].dom.min, domains[id(var)].dom.extent))
        else:
            raise refuse(
                "E-SCHEDULE-CACHE-REGION",
                f"what {block.name} writes is not a box of its iterators",
                found="an index that is an expression",
                expected="an access like C[vi, vj]",
                fix="choose another block",
                nodes=(block,),
            )
    return found
