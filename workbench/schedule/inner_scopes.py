"""Primitives inside a block or a loop: its body is scheduled as a function of its own.

    for io in range(4):
        with T.block("O"): vo = T.axis.spatial(4, io)
            for ii in range(16): with T.block("I"): B[vo * 16 + ii] = ...
            for ii in range(16): with T.block("J"): C[vo * 16 + ii] = B[vo * 16 + ii] ...

Within O, vo stands still: it is an iterator of the root block, and what O shares with the rest of the function is a
parameter.  What O alone uses, and makes before it reads it, is its own.  What a step changes becomes O's new body; what
O declares follows.  So it is with the body of a loop, whose variable stands still: a copy of what is written in there
goes between its writer and its readers.

Invariant: an instance of O does what it did, so that nothing outside of it needs to be looked at; only loops around it
whose iterations run at once are asked again, since O may read more than before.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..analysis.bindings import writes_box
from ..analysis.coverage import fills_domain
from ..analysis.regions import Bound, accesses, hull, hull_in_domain
from ..analysis.tree import BlockSite, Tree
from ..arith import build
from ..arith.nodes import Var
from ..arith.scope import variables_in
from ..core.node import rewrite
from ..tir import nodes as t
from .errors import ScheduleError
from .inlining import is_accessed
from .kinds import require_still_independent
from .references import BlockRV, LoopRV
from .state import Change, ScheduleState, is_mark
from .surgery import declared_around, replaced

IN_THE_BLOCK_AROUND = frozenset({"E-SCHEDULE-LEAF"})
"""Refusals of primitives that work on the blocks under the root."""
IN_A_LOOP_AROUND = frozenset({"E-SCHEDULE-CACHE-WRITTEN", "E-SCHEDULE-CACHE-SHARED", "E-SCHEDULE-PARTIAL"})
"""Refusals of copies that would stand outside of loops in which they are written, or copy what these leave out."""
Act = Callable[[ScheduleState], Change[Any]]


@dataclass(frozen=True)
class _Attempt:
    """What is to be done, with which references, and why it was refused."""

    act: Act
    given: Sequence[BlockRV | LoopRV]
    refusal: ScheduleError

    def of(self, inner: ScheduleState) -> Change[Any]:
        """The change of the body of a block or loop.  Raises the refusal where a reference stands outside of it, or
        statements beside its blocks touch buffers."""
        tree = inner.tree
        for item in self.given:
            block = tree.blocks.get(item.target) if isinstance(item, BlockRV) else None
            is_there = id(item.target) in tree.loops or (block is not None and block.block is not tree.root)
            if not is_there and not (isinstance(item, LoopRV) and is_mark(item)):
                raise self.refusal
        if tree.loose:
            raise self.refusal
        return self.act(inner)


def run_inside(state: ScheduleState, arguments: Iterable[Any], act: Act, refusal: ScheduleError) -> Change[Any]:
    """What a primitive does that was refused with `refusal`, done in the block around all references, or in a loop
    around the block.  Raises `refusal` if there is none in which it is legal."""
    given = _references(arguments)
    attempt = _Attempt(act, given, refusal)
    if refusal.code in IN_THE_BLOCK_AROUND:
        outer = _scope_of(state, given)
        if outer is not None:
            return _in_block(state, outer, attempt)
    blocks = [state.tree.blocks[item.target] for item in given if isinstance(item, BlockRV)]
    if refusal.code in IN_A_LOOP_AROUND and blocks:
        for loop in blocks[0].loops:
            if all(any(loop is other for other in site.loops) for site in blocks):
                try:
                    return _in_loop(state, blocks[0], loop, attempt)
                except ScheduleError:
                    continue
    raise refusal


def run_in_loop(
    state: ScheduleState, block: BlockRV, reference: LoopRV, act: Act, refusal: ScheduleError
) -> Change[Any]:
    """What a copy for `block` that was refused with `refusal` comes to in the body of a loop around it.  Raises
    `refusal` where that says nothing of the loops around, or the loop is not one of them."""
    site, loop = state.block(block), state.loop(reference)
    if refusal.code not in IN_A_LOOP_AROUND or all(loop is not item for item in site.loops):
        raise refusal
    return _in_loop(state, site, loop, _Attempt(act, (block,), refusal))


def _in_block(state: ScheduleState, outer: BlockSite, attempt: _Attempt) -> Change[Any]:
    own = _own_buffers(state, outer)
    block = outer.block
    change = attempt.of(_body_of(state, block.iter_vars, (*block.alloc_buffers, *own), block.body))
    root = Tree.of(change.func).root
    kept, theirs = {id(buffer) for buffer in root.alloc_buffers}, {id(buffer) for buffer in own}
    allocated = tuple(buffer for buffer in root.alloc_buffers if id(buffer) not in theirs)
    made = declared_around(block.replace(body=root.body, alloc_buffers=allocated))
    func = _declared(replaced(state.func, {id(block): made}), outer.path)
    gone = {id(buffer) for buffer in own if id(buffer) not in kept}
    if gone:
        now = Tree.of(func).root
        left = tuple(buffer for buffer in now.alloc_buffers if id(buffer) not in gone)
        func = replaced(func, {id(now): now.replace(alloc_buffers=left)})
    return _checked(state, func, change)


def _in_loop(state: ScheduleState, site: BlockSite, loop: t.For, attempt: _Attempt) -> Change[Any]:
    around = site.loops[: next(number for number, item in enumerate(site.loops) if item is loop) + 1]
    scope = site.scope
    assert scope is not None
    variables = tuple(t.IterVar(item.var, t.Range(item.min, item.extent), t.IterKind.SPATIAL) for item in around)
    change = attempt.of(_body_of(state, (*scope.iter_vars, *variables), (), loop.body))
    root = Tree.of(change.func).root
    body = _over_whole_axes(root.body, state.tree.blocks, {item.var for item in variables})
    func = replaced(state.func, {id(loop): loop.replace(body=body)})
    now = Tree.of(func).blocks[scope.name].block
    func = replaced(func, {id(now): now.replace(alloc_buffers=(*now.alloc_buffers, *root.alloc_buffers))})
    return _checked(state, _declared(func, site.path), change)


def _over_whole_axes(body: t.Stmt, known: Container[str], moving: set[Var]) -> t.Stmt:
    """New blocks whose domains begin with the variable of a loop around get whole axes of what they write as domains:
    the loop may be split, and where it goes too far then only bindings that leave a domain ask for a guard."""

    def post(node: Any) -> Any:
        if not isinstance(node, t.Block) or node.name in known:
            return None
        wandering = {item.var for item in node.iter_vars if moving.intersection(variables_in(item.dom.min))}
        sizes = {
            axis.min: size
            for region in node.writes
            for axis, size in zip(region.region, region.buffer.shape, strict=True)
            if isinstance(axis.min, Var) and axis.min in wandering
        }
        iter_vars = (
            item.replace(dom=t.Range(build.const(0), sizes[item.var])) if item.var in sizes else item
            for item in node.iter_vars
        )
        return node.replace(iter_vars=tuple(iter_vars)) if sizes else None

    return rewrite(body, post)


def _declared(func: t.PrimFunc, path: Sequence[t.Stmt]) -> t.PrimFunc:
    """The function with the blocks of a path, the root apart, declared anew."""
    for around in reversed([stmt for stmt in path if isinstance(stmt, t.Block)][1:]):
        now = Tree.of(func).blocks[around.name].block
        func = replaced(func, {id(now): declared_around(now)})
    return func


def _checked(state: ScheduleState, func: t.PrimFunc, change: Change[Any]) -> Change[Any]:
    """The change of the whole function; what runs at once around it must still be independent."""
    require_still_independent(state, func, [access.buffer for access in accesses(change.func.body)])
    return replace(change, func=func)


def _references(arguments: Iterable[Any]) -> list[BlockRV | LoopRV]:
    found: list[BlockRV | LoopRV] = []
    stack = list(arguments)
    while stack:
        current = stack.pop(0)
        if isinstance(current, tuple):
            stack[:0] = current
        elif isinstance(current, (BlockRV, LoopRV)):
            found.append(current)
    return found


def _scope_of(state: ScheduleState, given: Sequence[BlockRV | LoopRV]) -> BlockSite | None:
    """The block, other than the root, that all references stand directly in."""
    found: set[str] = set()
    for item in given:
        if isinstance(item, BlockRV):
            found.add(_name(state.tree.blocks[item.target].path))
        elif id(item.target) in state.tree.loops:
            found.add(_name(state.tree.loops[id(item.target)].path))
    site = state.tree.blocks.get(found.pop() if len(found) == 1 else "")
    return site if site is not None and site.block is not state.tree.root else None


def _name(path: tuple[t.Stmt, ...]) -> str:
    return next((stmt.name for stmt in reversed(path) if isinstance(stmt, t.Block)), "")


def _body_of(
    state: ScheduleState, variables: Sequence[t.IterVar], allocated: tuple[t.Buffer, ...], body: t.Stmt
) -> ScheduleState:
    """The state of a function whose root block has `body`, where the variables stand still."""
    hidden = {id(buffer) for buffer in allocated}
    shared = dict.fromkeys(access.buffer for access in accesses(body) if id(access.buffer) not in hidden)
    root = t.Block("root", tuple(variables), (), (), allocated, None, body)
    places = tuple(Var(item.var.name, item.var.dtype) for item in variables)
    func = t.PrimFunc((*places, *shared), t.BlockRealize(places, build.const(True), root), state.func.attrs)
    full = frozenset(id(param) for param in state.func.params)
    made = replace(state, functions=state.functions.set(state.working, func), full=full)
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
    body = _body_of(state, outer.block.iter_vars, outer.block.alloc_buffers, outer.block.body)
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
    made = hull_in_domain(regions[0], writer, writer.loops)
    for reader in tree.readers(buffer):
        if reader.order < writer.order or any(loop is other for loop in reader.loops for other in writer.loops):
            return False
        for region in reader.reads:
            if region.buffer is buffer and not _within(hull(region, reader, reader.loops), made, reader):
                return False
    return True


def _within(box: Iterable[Bound | None], other: Iterable[Bound | None], site: BlockSite) -> bool:
    for mine, theirs in zip(box, other, strict=True):
        if mine is None or theirs is None:
            return False
        if not (site.forms.at_most(theirs.low, mine.low) and site.forms.at_most(mine.high, theirs.high)):
            return False
    return True
