"""One block around several that stand side by side: its iterators are the loops around them.

    for m in range(6):                                  for m in range(6):
        for i in range(4): block B: vi = m * 4 + i          with T.block("B_C_o"): vm = T.axis.spatial(6, m)
        for i in range(4): block C: vi = m * 4 + i              for i in range(4): block B: vi_i = i; B[vm * 4 + vi_i]
                                                                for i in range(4): block C: vi_i = i; ...

Invariant: every block inside runs for the same values of its iterators as before, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..analysis.tree import BlockSite, statements_in
from ..arith import build
from ..arith.nodes import PrimExpr, Var, literal
from ..arith.scope import variables_in
from ..core import origin
from ..core.node import pre_order, substitute
from ..core.walks import parents_first
from ..tir import nodes as t
from ..tir.build import seq
from .blockizing import CODE, divided
from .errors import ScheduleError, refuse, require
from .state import ScheduleState
from .surgery import Names, Replacement, declared_around, replaced, replaced_in


def enclosed(state: ScheduleState, sites: Sequence[BlockSite], keep_units: bool) -> tuple[t.PrimFunc, str]:
    """The function with one block around `sites`, of which there are several, and that block's name.

    Raises `ScheduleError` E-SCHEDULE-BLOCKIZE: blocks that do not stand side by side in one block, a reduction along
    a loop around them, a loop whose extent moves with another one, threads inside.
    """
    body, first, last = _group(sites)
    around = tuple(loop for loop in sites[0].loops if any(part is loop for part in _until(sites[0], body)))
    within = body.stmts[first : last + 1]
    _require_only(state, sites, within)
    for site in sites:
        _require_inside(site, around)
    names = Names(state.tree.names())
    moving = {id(node) for stmt in within for node in pre_order(stmt) if isinstance(node, Var)}
    iter_vars: list[t.IterVar] = []
    values: list[PrimExpr] = []
    mapping: dict[Any, Any] = {}
    for loop in around:
        if id(loop.var) not in moving:
            continue
        if literal(loop.extent, None) == 1 and not keep_units:
            mapping[loop.var] = loop.min
            continue
        var = Var(names.fresh(f"v{loop.var.name}"), loop.var.dtype)
        iter_vars.append(t.IterVar(var, t.Range(loop.min, loop.extent), t.IterKind.SPATIAL))
        values.append(loop.var)
        mapping[loop.var] = var
    changes: dict[int, Replacement] = {id(site.realize): _in_tiles(site, around, names) for site in sites}
    inside = substitute(seq(*(replaced_in(stmt, changes) for stmt in within)), mapping)
    name = names.fresh(f"{'_'.join(site.name for site in sites)[:80]}_o")
    block = declared_around(t.Block(name, tuple(iter_vars), (), (), (), None, inside))
    made = t.BlockRealize(tuple(values), build.const(True), origin.derived(block, sites[0].block))
    whole = seq(*body.stmts[:first], made, *body.stmts[last + 1 :])
    return replaced(state.func, {id(body): whole}), name


def _group(sites: Sequence[BlockSite]) -> tuple[t.SeqStmt, int, int]:
    """The innermost sequence that all blocks stand in, and the first and the last of its statements that hold them."""
    first = sites[0]
    for number in reversed(range(len(first.path))):
        body = first.path[number]
        if isinstance(body, t.Block):
            break
        if isinstance(body, t.SeqStmt) and all(any(part is body for part in site.path) for site in sites):
            if not all(isinstance(part, (t.For, t.SeqStmt)) for part in _until(first, body)):
                break
            places = [_place(body, site) for site in sites]
            return body, min(places), max(places)
    raise refuse(
        CODE,
        f"cannot make one block of {', '.join(site.name for site in sites)}",
        found="blocks in different blocks, or under conditions",
        expected="blocks that stand side by side, or in loops side by side, in one block",
        fix="move them together first: compute_at",
        nodes=tuple(site.block for site in sites),
    )


def _until(site: BlockSite, body: t.SeqStmt) -> list[t.Stmt]:
    """The statements from the block around down to a sequence, without both."""
    start = max((number for number, part in enumerate(site.path) if isinstance(part, t.Block)), default=-1)
    end = next(number for number, part in enumerate(site.path) if part is body)
    return list(site.path[start + 1 : end])


def _place(body: t.SeqStmt, site: BlockSite) -> int:
    parts = {id(part) for part in (*site.path, site.realize)}
    return next(number for number, stmt in enumerate(body.stmts) if id(stmt) in parts)


def _require_only(state: ScheduleState, sites: Sequence[BlockSite], within: Sequence[t.Stmt]) -> None:
    """Refuse other blocks, and statements beside blocks, between those that are put together."""
    chosen = {id(site.realize) for site in sites}
    nested = (t.SeqStmt, t.For)
    found = parents_first(within, lambda stmt: statements_in(stmt) if isinstance(stmt, nested) else ())
    others = [stmt for stmt in found if not isinstance(stmt, nested) and id(stmt) not in chosen]
    names = [stmt.block.name for stmt in others if isinstance(stmt, t.BlockRealize)]
    require(
        not others,
        CODE,
        f"more stands between {sites[0].name} and {sites[-1].name} than what is put together",
        found=", ".join(names) or "a statement that is no block",
        expected="blocks side by side",
        fix="name them all" if len(names) == len(others) else "put blocks together that have none between",
        nodes=tuple(others),
    )


def _require_inside(site: BlockSite, around: Sequence[t.For]) -> None:
    """Refuse what a block around cannot hold: sums over the loops outside of it, threads, loops of moving extents."""
    outside = {id(loop.var) for loop in around}
    for loop in around:
        require(
            not any(id(var) in outside for end in (loop.min, loop.extent) for var in variables_in(end)),
            CODE,
            f"the extent of {loop.var.name} moves with another loop around {site.name}",
            found="a loop that is no iterator by itself",
            expected="loops of fixed extents around the blocks",
            fix="choose blocks inside of fewer loops",
            nodes=(loop,),
        )
    for loop in site.loops[len(around) :]:
        require(
            not loop.thread,
            CODE,
            f"cannot put {site.name} into a block: {loop.var.name} is bound to a thread",
            found=f"thread {loop.thread}",
            expected="loops inside one thread",
            fix="put the blocks together first",
            nodes=(loop,),
        )
    for item, value in site.bindings:
        require(
            item.kind is t.IterKind.SPATIAL or not any(id(var) in outside for var in variables_in(value)),
            CODE,
            f"{site.name} reduces along a loop around the blocks",
            found=f"{item.var.name}, an iterator of kind {item.kind.value}",
            expected="loops around that only spatial iterators depend on",
            fix="move the loops of the reduction inside, around this block alone",
            nodes=(site.block,),
        )


def _in_tiles(site: BlockSite, around: Sequence[t.For], names: Names) -> t.BlockRealize:
    """The block with iterators over what it does in one iteration of the loops around; as they are where that is no
    tile."""
    inside = site.forms.numbers(loop.var for loop in site.loops[len(around) :])
    iter_vars: list[t.IterVar] = []
    values: list[PrimExpr] = []
    mapping: dict[Any, Any] = {}
    for item, value in site.bindings:
        try:
            parts = divided(site, item, value, inside, names, True)
        except ScheduleError:
            iter_vars.append(item)
            values.append(value)
            continue
        begin = build.add(parts.begin, build.multiply(parts.outer_value, parts.tile))
        mapping[item.var] = begin if parts.inner is None else build.add(begin, parts.inner.var)
        if parts.inner is not None:
            iter_vars.append(parts.inner)
            values.append(parts.inner_value)
    return _exchanged(site.realize, iter_vars, values, mapping)


def _exchanged(
    realize: t.BlockRealize, iter_vars: Sequence[t.IterVar], values: Sequence[PrimExpr], mapping: Mapping[Any, Any]
) -> t.BlockRealize:
    block = realize.block
    if not mapping:
        return realize
    made = substitute(block.replace(iter_vars=()), mapping).replace(iter_vars=tuple(iter_vars))
    return realize.replace(iter_values=tuple(values), block=origin.derived(made, block))
