"""Primitives inside a block that stands around others: its body is scheduled as a function of its own.

    for io in range(4):
        with T.block("O"): vo = T.axis.spatial(4, io)
            for ii in range(16): with T.block("I"): B[vo * 16 + ii] = ...
            for ii in range(16): with T.block("J"): C[vo * 16 + ii] = B[vo * 16 + ii] ...

Within O, vo stands still: it is an iterator of the root block, and what O shares with the rest of the function is a
parameter.  What O alone uses, and makes before it reads it, is its own.  What a step changes becomes O's new body; what
O declares follows.

Invariant: an instance of O does what it did, so that nothing outside of it needs to be looked at; only loops around it
whose iterations run at once are asked again, since O may read more than before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ..analysis.affine import Affine
from ..analysis.bindings import writes_box
from ..analysis.coverage import fills_domain
from ..analysis.regions import Bound, accesses, hull
from ..analysis.tree import BlockSite, Tree
from ..arith import build
from ..arith.nodes import Var
from ..tir import nodes as t
from .errors import ScheduleError
from .inlining import is_accessed
from .kinds import require_still_independent
from .references import BlockRV, LoopRV
from .state import Change, ScheduleState
from .surgery import declared_around, replaced


def run_inside(
    state: ScheduleState, arguments: Iterable[Any], act: Callable[[ScheduleState], Change[Any]], refusal: ScheduleError
) -> Change[Any]:
    """What a primitive does that is refused with `refusal` because it works on the blocks under the root, done in the
    block around all references.  Raises `refusal` if there is none, or where statements beside its blocks touch
    buffers."""
    outer = _scope_of(state, arguments)
    if outer is None:
        raise refusal
    own = _own_buffers(state, outer)
    inner = _body_of(state, outer, own)
    if inner.tree.loose:
        raise refusal
    change = act(inner)
    func = _put_back(state, outer, own, change.func)
    require_still_independent(state, func, [access.buffer for access in accesses(change.func.body)])
    return replace(change, func=func)


def _scope_of(state: ScheduleState, arguments: Iterable[Any]) -> BlockSite | None:
    """The block, other than the root, that all references among the arguments stand directly in."""
    found: set[str] = set()
    stack = list(arguments)
    while stack:
        current = stack.pop()
        if isinstance(current, tuple):
            stack.extend(current)
        elif isinstance(current, BlockRV):
            found.add(_name(state.tree.blocks[current.target].path))
        elif isinstance(current, LoopRV) and id(current.target) in state.tree.loops:
            found.add(_name(state.tree.loops[id(current.target)].path))
    name = found.pop() if len(found) == 1 else ""
    site = state.tree.blocks.get(name)
    return site if site is not None and site.block is not state.tree.root else None


def _name(path: tuple[t.Stmt, ...]) -> str:
    return next((stmt.name for stmt in reversed(path) if isinstance(stmt, t.Block)), "")


def _body_of(state: ScheduleState, outer: BlockSite, own: tuple[t.Buffer, ...]) -> ScheduleState:
    """The state of a function whose root block is the body of `outer`."""
    block = outer.block
    allocated = (*block.alloc_buffers, *own)
    hidden = {id(buffer) for buffer in allocated}
    shared = dict.fromkeys(access.buffer for access in accesses(block.body) if id(access.buffer) not in hidden)
    root = t.Block("root", block.iter_vars, (), (), allocated, None, block.body)
    places = tuple(Var(item.var.name, item.var.dtype) for item in block.iter_vars)
    func = t.PrimFunc((*places, *shared), t.BlockRealize(places, build.const(True), root), state.func.attrs)
    made = replace(state, functions=state.functions.set(state.working, func), inside=outer)
    made.__dict__["tree"] = tree = Tree.of(func)
    tree.taken |= state.tree.names()
    return made


def _own_buffers(state: ScheduleState, outer: BlockSite) -> tuple[t.Buffer, ...]:
    """What the function allocates, and nobody but `outer` uses, which makes it before it reads it."""
    root = state.tree.root
    used = {id(access.buffer) for access in accesses(outer.block.body)}
    found = [buffer for buffer in root.alloc_buffers if id(buffer) in used and outer.scope is root]
    if not found:
        return ()
    empty = t.Evaluate(build.const(0))
    rest = replaced(state.func, {id(outer.realize): empty}) if outer.block.init is None else state.func
    body = _body_of(state, outer, ())
    return tuple(
        buffer for buffer in found if not is_accessed(rest, buffer) and _is_made_first(body.tree, buffer)
    )


def _is_made_first(tree: Tree, buffer: t.Buffer) -> bool:
    """Whether one block fills a box of a buffer, and all that read it do so afterwards, inside of that box."""
    writers = tree.writers(buffer)
    if len(writers) != 1 or id(buffer) in tree.loose:
        return False
    writer = writers[0]
    regions = [region for region in writer.block.writes if region.buffer is buffer]
    if len(regions) != 1 or not fills_domain(writer) or not writes_box(writer, regions[0], writer.loops):
        return False
    made = hull(regions[0], writer, frozenset(id(loop.var) for loop in writer.loops), writer.ranges)
    for reader in tree.readers(buffer):
        if reader.order < writer.order or any(loop is other for loop in reader.loops for other in writer.loops):
            return False
        relaxed = frozenset(id(loop.var) for loop in reader.loops)
        for region in reader.reads:
            if region.buffer is buffer and not _within(hull(region, reader, relaxed, reader.ranges), made, reader):
                return False
    return True


def _within(box: Iterable[Bound | None], other: Iterable[Bound | None], site: BlockSite) -> bool:
    for mine, theirs in zip(box, other, strict=True):
        if mine is None or theirs is None:
            return False
        gaps: list[Affine] = [mine.low.minus(theirs.low), theirs.high.minus(mine.high)]
        if not all(gap.never_negative(site.ranges) for gap in gaps):
            return False
    return True


def _put_back(state: ScheduleState, outer: BlockSite, own: tuple[t.Buffer, ...], made: t.PrimFunc) -> t.PrimFunc:
    """The function with the body of `outer` as `made` has it, and the blocks around it declared anew."""
    root = Tree.of(made).root
    theirs = {id(buffer) for buffer in own}
    kept = {id(buffer) for buffer in root.alloc_buffers}
    allocated = tuple(buffer for buffer in root.alloc_buffers if id(buffer) not in theirs)
    block = declared_around(outer.block.replace(body=root.body, alloc_buffers=allocated))
    func = replaced(state.func, {id(outer.block): block})
    for around in reversed([stmt for stmt in outer.path if isinstance(stmt, t.Block) and stmt is not state.tree.root]):
        now = Tree.of(func).blocks[around.name].block
        func = replaced(func, {id(now): declared_around(now)})
    gone = {id(buffer) for buffer in own if id(buffer) not in kept}
    if gone:
        now = Tree.of(func).root
        left = tuple(buffer for buffer in now.alloc_buffers if id(buffer) not in gone)
        func = replaced(func, {id(now): now.replace(alloc_buffers=left)})
    return func

