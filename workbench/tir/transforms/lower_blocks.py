"""LowerBlocks: blocks become plain loops, conditions and allocations.

    before:  for i, k: with T.block("C"): vi, vk = T.axis.remap("SR", [i, k])
                 with T.init(): C[vi] = 0
                 C[vi] = C[vi] + A[vi, vk]
    after:   for i: C[i] = 0            (the test `k == 0` hoisted out of the innermost reduction loops, else an `if`)
                 for k: C[i] = C[i] + A[i, k]

A block's buffers are allocated at the lowest statement that holds all their uses, but outside the loops of reductions
that write them, whose iterations share the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...analysis.bindings import starts_apart
from ...analysis.dataflow import Dataflow, tells_apart
from ...analysis.tree import loads_from, loops_nested
from ...arith import nodes as n
from ...arith.build import all_of, cast, conjuncts, equal, logical_and
from ...core.node import EMPTY, FrozenMap, Node, children, pre_order, rewrite, substitute
from ...core.trampoline import Task, run
from ...core.transform import function_pass
from .. import nodes as t
from ..build import seq
from ..empty_reductions import empty_reductions, init_conditions, sizes_of
from .align_storage import KEY as ALIGN
from .align_storage import block_rows
from .constant_fold import fold
from .overlap import writes_overlap
from .pragmas import under_pragmas

_PLAIN_LOOPS = (t.ForKind.SERIAL, t.ForKind.UNROLLED)


@function_pass(name="LowerBlocks", applies_to=t.PrimFunc)
def LowerBlocks(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Replace blocks by loops, conditions and allocations."""
    return lower_blocks(func)


def lower_blocks(func: t.PrimFunc) -> t.PrimFunc:
    if not any(isinstance(node, t.BlockRealize) for node in pre_order(func.body, t.Stmt)):
        return func
    placed = _Placement(func.body, sizes_of(func))
    body = run(_lower(func.body, placed))
    return func.replace(body=body)


# --- lowering -----------------------------------------------------------------------------------------------------


def _lower(stmt: t.Stmt, placed: _Placement) -> Task:
    """`stmt` without blocks."""
    if isinstance(stmt, t.BlockRealize):
        made = yield _lower_realize(stmt, placed)
    elif isinstance(stmt, t.SeqStmt):
        parts: list[t.Stmt] = []
        for part in stmt.stmts:
            parts.append((yield _lower(part, placed)))
        made = seq(*parts)
    elif isinstance(stmt, t.For):
        before = _decomposed_init(stmt, placed)
        for condition, inits, block in empty_reductions(stmt, placed.sizes):
            if id(block) not in placed.initialised:
                alone = yield _lower(inits, placed)
                condition = fold(condition)
                before = seq(before, alone if _is_true(condition) else t.IfThenElse(condition, alone))
        body = yield _lower(stmt.body, placed)
        made = seq(before, _hoist_init(stmt.replace(body=body)))
    else:
        changes: dict[str, Any] = {}
        for name in stmt.field_names:
            value = getattr(stmt, name)
            if isinstance(value, t.Stmt):
                changes[name] = yield _lower(value, placed)
        made = stmt.replace(**changes) if changes else stmt
    for buffer in reversed(placed.at.get(id(stmt), [])):
        made = t.AllocBuffer(buffer, made, placed.annotations(buffer))
    return made


def _lower_realize(realize: t.BlockRealize, placed: _Placement) -> Task:
    block = realize.block
    body = yield _lower(block.body, placed)
    init = None
    if block.init is not None and id(block) not in placed.initialised:
        init = yield _lower(block.init, placed)
        first = all_of(
            *(
                equal(iterator.var, cast(iterator.var.dtype, iterator.dom.min))
                for iterator in block.iter_vars
                if iterator.kind is t.IterKind.REDUCE
            )
        )
        init = init if _is_true(first) else t.IfThenElse(first, init)
    made = seq(init, body)
    values = {
        iterator.var: cast(iterator.var.dtype, value)
        for iterator, value in zip(block.iter_vars, realize.iter_values, strict=True)
    }
    made = under_pragmas(block, substitute(made, values))
    predicate = substitute(realize.predicate, values)
    return made if _is_true(predicate) else t.IfThenElse(predicate, made)


def _is_true(expr: n.PrimExpr) -> bool:
    return isinstance(expr, n.IntImm) and expr.value == 1


def _decomposed_init(loop: t.For, placed: _Placement) -> t.Stmt | None:
    """The init of a reduction as a nest of its own before `loop`; None where that is not possible.

    `loop` must be the outermost loop of the reduction, and all loops from it to the block must be nested directly.
    Running all inits first must change nothing: each sum starts once, no two share an element, none reads of another
    one, and what decides where sums stand does not change in the loops.
    """
    chain, inner = loops_nested(loop)
    if not isinstance(inner, t.BlockRealize) or inner.block.init is None or id(inner.block) in placed.initialised:
        return None
    block = inner.block
    if any(isinstance(part, t.BlockRealize) for part in pre_order(inner.block.init)):
        return None
    pairs = list(zip(block.iter_vars, inner.iter_values, strict=True))
    reduced = [value for iterator, value in pairs if iterator.kind is t.IterKind.REDUCE]
    driving = [step for step in chain if any(_uses(value, step.var) for value in reduced)]
    if loop not in driving or not all(_runs_in_order(step) for step in driving):
        return None
    others = [value for iterator, value in pairs if iterator.kind is not t.IterKind.REDUCE]
    if any(_uses(value, step.var) for value in others for step in driving):
        return None
    deciding = (*inner.iter_values, inner.predicate, *(end for step in chain for end in (step.min, step.extent)))
    if any(loads_from(expr, {region.buffer for region in block.writes}) for expr in deciding):
        return None
    if not (tells_apart(inner.iter_values, chain) and starts_apart(block, _held(block, chain))):
        return None
    first: dict[Any, Any] = {step.var: step.min for step in driving}
    if not all(_at_minimum(iterator, value, first) for iterator, value in pairs):
        return None
    placed.initialised.add(id(block))
    spatial = [step for step in chain if step not in driving]
    fresh = {step.var: n.Var(step.var.name, step.var.dtype) for step in spatial}
    values = {iterator.var: cast(iterator.var.dtype, value) for iterator, value in pairs}
    init: t.Stmt = inner.block.init
    made = substitute(init, values)
    predicate = fold(all_of(*init_conditions(substitute(inner.predicate, values), driving, placed.sizes)))
    made = made if _is_true(predicate) else t.IfThenElse(predicate, made)
    for step in reversed(spatial):
        made = step.replace(body=made)
    made = fold(substitute(substitute(made, first), fresh))
    return rewrite(made, lambda node: _renamed_loop(node, fresh))


def _held(block: t.Block, chain: list[t.For]) -> set[n.Var]:
    """What stands in the regions of a block and is set outside of some loops around it."""
    free = {node for region in block.writes for node in pre_order(region) if isinstance(node, n.Var)}
    return free - {item.var for item in block.iter_vars} - {step.var for step in chain}


def _renamed_loop(node: Any, fresh: dict[n.Var, n.Var]) -> Any:
    return node.replace(var=fresh[node.var]) if isinstance(node, t.For) and node.var in fresh else None


def _at_minimum(iterator: t.IterVar, value: n.PrimExpr, first: dict[Any, Any]) -> bool:
    """Whether a reduction iterator is surely at its minimum when the loops are."""
    if iterator.kind is not t.IterKind.REDUCE:
        return True
    begin = fold(substitute(value, first))
    least = iterator.dom.min
    return isinstance(begin, n.IntImm) and isinstance(least, n.IntImm) and begin.value == least.value


def _hoist_init(loop: t.For) -> t.Stmt:
    """``for k: if k == min: init; rest`` -> ``init; for k: rest``, for a loop that surely runs.

    The condition may ask for more than k (other reduction loops); what is left of it stays with the hoisted init.
    """
    if loop.kind is not t.ForKind.SERIAL and not loop.is_cross_thread:
        return loop
    if not isinstance(loop.extent, n.IntImm) or loop.extent.value < 1:
        return loop
    allocations, parts = _opened(loop.body, loop.is_cross_thread)
    for at, part in enumerate(parts if loop.is_cross_thread else parts[:1]):
        if len(parts) < 2 or not isinstance(part, t.IfThenElse) or part.else_case is not None:
            continue
        left = _without_first_iteration(part.condition, loop)
        own = {id(buffer) for buffer in _buffers(part)}
        before = {id(buffer) for earlier in parts[:at] for buffer in _buffers(earlier)}
        inside = {id(made.buffer) for made in allocations}
        if left is None or _uses(part.then_case, loop.var) or own & (before | inside):
            continue
        hoisted = part.then_case if _is_true(left) else t.IfThenElse(left, part.then_case)
        body = seq(*parts[:at], *parts[at + 1 :])
        for made in reversed(allocations):
            body = made.replace(body=body)
        return seq(hoisted, loop.replace(body=body))
    return loop


def _runs_in_order(loop: t.For) -> bool:
    return loop.kind in _PLAIN_LOOPS or loop.is_cross_thread


def _opened(body: t.Stmt, all_of_it: bool) -> tuple[list[t.AllocBuffer], tuple[t.Stmt, ...]]:
    """The allocations around the statements of a body (if they are to be opened), and the statements."""
    allocations: list[t.AllocBuffer] = []
    while all_of_it and isinstance(body, t.AllocBuffer):
        allocations.append(body)
        body = body.body
    return allocations, body.stmts if isinstance(body, t.SeqStmt) else (body,)


def _buffers(stmt: t.Stmt) -> set[t.Buffer]:
    return {node for node in pre_order(stmt) if isinstance(node, t.Buffer)}


def _without_first_iteration(condition: n.PrimExpr, loop: t.For) -> n.PrimExpr | None:
    """`condition` with its part ``loop.var == loop.min`` taken out; None if it is not a conjunction holding that."""
    parts = conjuncts(condition)
    kept = [part for part in parts if not _is_first(part, loop)]
    if len(kept) == len(parts) or any(_uses(part, loop.var) for part in kept):
        return None
    result = all_of()
    for part in kept:
        result = logical_and(result, part)
    return result


def _is_first(part: n.PrimExpr, loop: t.For) -> bool:
    if not isinstance(part, n.EQ) or part.a is not loop.var:
        return False
    return part.b is loop.min or (
        isinstance(part.b, n.IntImm) and isinstance(loop.min, n.IntImm) and part.b.value == loop.min.value
    )


def _uses(root: Node, var: n.Var) -> bool:
    return any(node is var for node in pre_order(root))


# --- where buffers are allocated ----------------------------------------------------------------------------------


class _Placement:
    """For each statement (by identity), the buffers to allocate around it."""

    def __init__(self, body: t.Stmt, sizes: frozenset[n.Var]) -> None:
        self._flow = Dataflow(body)
        self.sizes = sizes
        """The variables that stand still while the function runs."""
        self.at: dict[int, list[t.Buffer]] = {}
        self.initialised: set[int] = set()
        """Blocks whose init stands in front of their reduction already."""
        self._paths: dict[int, list[tuple[t.Stmt, ...]]] = {}
        self._shared: dict[int, set[int]] = {}
        self._alignments: dict[int, dict[tuple[int, int, int], None]] = {}
        owners: list[tuple[t.Buffer, t.Stmt]] = []
        run(self._visit(body, (), owners))
        for buffer, owner in owners:
            where = self._place(buffer, owner)
            self.at.setdefault(id(where), []).append(buffer)

    def _visit(self, stmt: t.Stmt, path: tuple[t.Stmt, ...], owners: list[tuple[t.Buffer, t.Stmt]]) -> Task:
        """Record for each buffer the paths to its uses, and the loops that its reductions run over."""
        path = (*path, stmt)
        if isinstance(stmt, t.BlockRealize):
            owners += [(buffer, stmt.block.body) for buffer in stmt.block.alloc_buffers]
            self._note_reduction(stmt, path)
            for buffer, rows in block_rows(stmt.block).items():
                self._alignments.setdefault(buffer, {}).update(dict.fromkeys(rows))
            self._note_buffers([*stmt.iter_values, stmt.predicate], path)
            yield self._visit(stmt.block.body, path, owners)
            if stmt.block.init is not None:
                yield self._visit(stmt.block.init, path, owners)
            return
        inner: list[t.Stmt] = []
        for child in children(stmt):
            if isinstance(child, t.Stmt):
                inner.append(child)
            elif not isinstance(child, t.Buffer) or isinstance(stmt, t.BufferStore):
                self._note_buffers([child], path)
        for child in inner:
            yield self._visit(child, path, owners)

    def _note_buffers(self, roots: list[Any], path: tuple[t.Stmt, ...]) -> None:
        for buffer in (node for node in pre_order(roots) if isinstance(node, t.Buffer)):
            paths = self._paths.setdefault(id(buffer), [])
            if not paths or paths[-1] is not path:
                paths.append(path)

    def _note_reduction(self, realize: t.BlockRealize, path: tuple[t.Stmt, ...]) -> None:
        """Loops whose variable drives a non-spatial iterator of a block: what it writes outlives their iterations."""
        values = [
            value
            for iterator, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
            if iterator.kind is not t.IterKind.SPATIAL
        ]
        loops = {id(step) for step in path if isinstance(step, t.For) and any(_uses(v, step.var) for v in values)}
        for region in realize.block.writes:
            self._shared.setdefault(id(region.buffer), set()).update(loops)

    def annotations(self, buffer: t.Buffer) -> FrozenMap:
        """What the allocation of a buffer is told: the alignment of its rows."""
        rows = self._alignments.get(id(buffer))
        return FrozenMap({ALIGN: tuple(rows)}) if rows else EMPTY

    def _place(self, buffer: t.Buffer, owner: t.Stmt) -> t.Stmt:
        """The deepest statement under `owner` on the path to every use, above the loops of reductions."""
        paths = [self._below(path, owner) for path in self._paths.get(id(buffer), [])]
        if not paths:
            return owner
        shared = self._shared.get(id(buffer), set())
        where = owner
        common = list(_common(paths))
        # Where iterations that run at once would meet, the buffer is private to each: no loop around carries it.
        private = next((at for at, step in enumerate(common) if self._is_private(step, buffer, common[:at])), 0)
        for at, step in enumerate(common):
            if id(step) in shared or (isinstance(step, t.For) and at >= private and self._flow.carries(step, buffer)):
                # The loop carries the values: allocate around it, not inside.
                return step
            if isinstance(step, (t.BufferStore, t.Evaluate)):
                break
            if not isinstance(step, t.BlockRealize) or step is owner:
                where = step
        return where

    def _is_private(self, stmt: t.Stmt, buffer: t.Buffer, around: list[t.Stmt]) -> bool:
        """Whether iterations of a loop that run at once write the same elements of a buffer."""
        if not isinstance(stmt, t.For) or not stmt.has_private_buffers or self._flow.writes_apart(stmt, buffer):
            return False
        return writes_overlap(stmt, buffer, [step for step in around if isinstance(step, t.For)])

    @staticmethod
    def _below(path: tuple[t.Stmt, ...], owner: t.Stmt) -> tuple[t.Stmt, ...]:
        for position, step in enumerate(path):
            if step is owner:
                return path[position:]
        return path


def _common(paths: list[tuple[t.Stmt, ...]]) -> Iterator[t.Stmt]:
    """The statements that all paths begin with."""
    for steps in zip(*paths, strict=False):
        if any(step is not steps[0] for step in steps):
            return
        yield steps[0]


__all__ = ["LowerBlocks", "lower_blocks"]
