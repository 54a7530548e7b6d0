"""cache_read: a block reads a copy of a buffer."""

from __future__ import annotations

from ...analysis.affine import Affine, Ranges
from ...analysis.bindings import binding_facts
from ...analysis.tree import Tree
from ...arith import build
from ...arith.nodes import PrimExpr
from ...core import origin
from ...core.node import substitute
from ...tir import nodes as t
from ..arguments import Index
from ..blocks import read_buffer, require_leaf
from ..caching import copy_block, top_statement, written_box
from ..errors import require
from ..legality import require_legal
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, Replacement, replaced


@primitive(category="cache", suggest={"read_buffer_index": [0, 1], "storage_scope": ["local", "global"]})
def cache_read(state: ScheduleState, block: BlockRV, read_buffer_index: Index, storage_scope: str) -> Change[BlockRV]:
    """Let a block read a copy of a buffer, made before the block's loops.

    before:  for i, j: C[i, j] = A[i, j] * 2
    after:   for ax0, ax1: A_local[ax0, ax1] = A[ax0, ax1]          # the block answered
             for i, j: C[i, j] = A_local[i, j] * 2

    Raises `ScheduleError`: a buffer that is written in or after these loops, or not written as a whole.
    """
    site = state.block(block)
    require_leaf(state, site, "cache what is read by")
    old = read_buffer(state, block, read_buffer_index)
    top = top_statement(state, site)
    first = min(other.order for other in state.tree.under(top)) if top is not site.realize else site.order
    parameter = any(old is item for item in state.func.params)
    for writer in state.tree.writers(old):
        require_legal(
            state,
            writer.order < first and all(part is not top for part in (*writer.path, writer.realize)),
            "E-SCHEDULE-CACHE-WRITTEN",
            f"{writer.name} writes {old.name} in or after the loops of {site.name}",
            found="a copy that would be out of date",
            expected="a buffer that is complete before the loops",
            fix="cache before moving blocks together",
            nodes=(writer.block, site.block),
        )
        require_legal(
            state,
            parameter or binding_facts(writer).covers,
            "E-SCHEDULE-PARTIAL",
            f"cannot show that {writer.name} writes all of {old.name}",
            found="loops that may leave elements out",
            expected="a buffer that is written as a whole",
            fix="cache before splitting or moving the producer",
            nodes=(writer.block,),
        )
    box = [(build.const(0), extent) for extent in old.shape] if parameter else _written(state, old)
    names = Names(state.tree.names())
    suffix = storage_scope.replace(".", "_")
    new = old.replace(name=names.fresh(f"{old.name}_{suffix}"), scope=storage_scope, strides=(), elem_offset=None)
    placed, name = copy_block(names.fresh(f"{old.name}_{suffix}_copy"), old, new, box)
    origin.derived(placed, site.block)
    changed: t.Block = substitute(site.block, {old: new})
    func = replaced(state.func, {id(site.block): changed})
    now = Tree.of(func).blocks[site.name]
    position = next(part for part in (*now.path[2:], now.realize) if not isinstance(part, t.SeqStmt))
    func = replaced(func, {id(position): (placed, position)})
    root = Tree.of(func).root
    changes: dict[int, Replacement] = {id(root): root.replace(alloc_buffers=(*root.alloc_buffers, new))}
    return Change(replaced(func, changes), (name,))


def _written(state: ScheduleState, buffer: t.Buffer) -> list[tuple[PrimExpr, PrimExpr]]:
    """The box that a buffer's writers fill, the same for all of them."""
    boxes = [
        written_box(writer.block, region)
        for writer in state.tree.writers(buffer)
        for region in writer.block.writes
        if region.buffer is buffer
    ]
    alike = all(
        Affine.of(one, Ranges()).same_as(Affine.of(other, Ranges()))
        for box in boxes[1:]
        for pair, first in zip(box, boxes[0], strict=True)
        for one, other in zip(pair, first, strict=True)
    )
    require(
        bool(boxes) and alike,
        "E-SCHEDULE-PARTIAL",
        f"cannot tell which part of {buffer.name} is written",
        found="writers of different parts" if boxes else "no writer",
        expected="a buffer that one block fills",
        fix="choose another buffer",
        nodes=(buffer,),
    )
    return boxes[0]
