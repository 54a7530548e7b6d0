"""Changing statements of a function: replace, remove, insert; and the small pieces that primitives share.

Invariant: only the statements on the way from the root to a change are rebuilt; everything else is kept by identity,
and what is rebuilt derives from what it was (`core.origin`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from ..analysis.regions import detect
from ..analysis.tree import Tree, domains_of, entered, innermost_loops, loads_beside, statements_in
from ..arith import build
from ..arith.build import conjuncts
from ..arith.nodes import PrimExpr, Var
from ..arith.scope import Scope, number_of
from ..core import origin
from ..core.node import Node, children, post_order, rewrite, substitute
from ..core.text import fresh_name
from ..tir import nodes as t
from ..tir.build import seq
from .errors import refuse

Replacement = t.Stmt | Sequence[t.Stmt] | None
"""A statement, several in order, or None to remove it."""


def replaced(func: t.PrimFunc, changes: Mapping[int, Replacement], around: Container[int] | None = None) -> t.PrimFunc:
    """`func` with statements (by identity) replaced; loops and sequences left empty go too.

    `around`: all statements that have a change inside, by identity, where they are known; no others are looked into.
    """
    body = replaced_in(func.body, changes, around)
    return func.replace(body=body if body is not None else t.Evaluate(build.const(0)))


def loop_replaced(tree: Tree, loop: t.For, made: t.Stmt) -> t.PrimFunc:
    """The tree's function with one of its loops replaced."""
    return replaced(tree.func, {id(loop): made}, {id(stmt) for stmt in tree.loops[id(loop.var)].path})


def replaced_in(
    root: t.Stmt, changes: Mapping[int, Replacement], around: Container[int] | None = None
) -> t.Stmt | None:
    """Like `replaced`, for one statement; None if nothing of it is left."""
    done: dict[int, tuple[t.Stmt, ...]] = {}
    stack: list[tuple[t.Stmt, bool]] = [(root, False)]
    while stack:
        stmt, ready = stack.pop()
        if id(stmt) in changes:
            done[id(stmt)] = _as_tuple(changes[id(stmt)], stmt)
        elif ready:
            done[id(stmt)] = _rebuilt(stmt, done)
        elif around is not None and id(stmt) not in around:
            done[id(stmt)] = (stmt,)
        else:
            stack.append((stmt, True))
            stack.extend((child, False) for child in statements_in(stmt))
    parts = done[id(root)]
    return seq(*parts) if parts else None


def _as_tuple(change: Replacement, old: t.Stmt) -> tuple[t.Stmt, ...]:
    parts = () if change is None else (change,) if isinstance(change, t.Stmt) else tuple(change)
    for part in parts:
        if part is not old:
            origin.derived(part, old)
    return parts


def _rebuilt(stmt: t.Stmt, done: Mapping[int, tuple[t.Stmt, ...]]) -> tuple[t.Stmt, ...]:
    inner = statements_in(stmt)
    if all(len(done[id(child)]) == 1 and done[id(child)][0] is child for child in inner):
        return (stmt,)
    if isinstance(stmt, t.SeqStmt):
        return tuple(part for child in inner for part in done[id(child)])
    if isinstance(stmt, (t.For, t.While, t.LetStmt, t.AllocBuffer)):
        parts = done[id(stmt.body)]
        return (stmt.replace(body=seq(*parts)),) if parts else ()
    if isinstance(stmt, t.BlockRealize):
        block = done[id(stmt.block)][0]
        assert isinstance(block, t.Block)
        return (stmt.replace(block=block),)
    if isinstance(stmt, t.Block):
        parts = done[id(stmt.body)]
        init = None if stmt.init is None else seq(*done[id(stmt.init)])
        return (stmt.replace(body=seq(*parts), init=init),)
    assert isinstance(stmt, t.IfThenElse)
    then_case = done[id(stmt.then_case)]
    else_case = done[id(stmt.else_case)] if stmt.else_case is not None else ()
    return (stmt.replace(then_case=seq(*then_case), else_case=seq(*else_case) if else_case else None),)


def substituted(stmt: t.Stmt, values: Mapping[Var, PrimExpr]) -> t.Stmt:
    """Loop variables replaced in bindings, predicates and bounds, the results simplified by the ranges around."""
    return substitute(stmt, values)


def without_unit_variables(stmt: t.Stmt, variables: Sequence[Var], extents: Sequence[PrimExpr]) -> t.Stmt:
    """`stmt` with 0 in the place of the variables of loops from 0 whose extent is one."""
    units = {
        var: build.const(0)
        for var, extent in zip(variables, extents, strict=True)
        if number_of(extent) == 1
    }
    return substitute(stmt, units)


def simplified(expr: PrimExpr, scope: Scope) -> PrimExpr:
    """An index expression in its canonical form, or as it is when that is no shorter."""
    made = scope.simplify(expr)
    return made if _size(made) < _size(expr) else expr


def _size(expr: PrimExpr) -> int:
    count, stack = 0, [expr]
    while stack:
        count += 1
        stack.extend(child for child in children(stack.pop()) if isinstance(child, PrimExpr))  # type: ignore[misc]
    return count


def simplified_predicate(predicate: PrimExpr, scope: Scope) -> PrimExpr:
    """A predicate without the conjuncts that hold anyway or stand twice, their sides in canonical form."""
    kept: list[PrimExpr] = []
    keys: set[Any] = set()
    for condition in conjuncts(predicate):
        if scope.holds(condition):
            continue
        key = _condition_key(condition, scope)
        if key in keys:
            continue
        keys.add(key)
        kept.append(_tidied(condition, scope))
    return build.all_of(*kept)


def _condition_key(condition: PrimExpr, scope: Scope) -> Any:
    form = scope.at_least_zero(condition)
    return id(condition) if form is None else form.key


def _tidied(condition: PrimExpr, scope: Scope) -> PrimExpr:
    a, b = getattr(condition, "a", None), getattr(condition, "b", None)
    if not isinstance(a, PrimExpr) or not isinstance(b, PrimExpr) or not a.dtype.is_integer:
        return condition
    return condition.replace(a=simplified(a, scope), b=simplified(b, scope))


def tidy_realize(realize: t.BlockRealize, loops: Sequence[t.For]) -> t.BlockRealize:
    """One block's bindings and predicate simplified by the loops around it."""
    scope = entered(Scope(), loops)
    values = tuple(simplified(value, scope) for value in realize.iter_values)
    if all(new is old for new, old in zip(values, realize.iter_values, strict=True)):
        values = realize.iter_values
    predicate = simplified_predicate(realize.predicate, scope)
    old = conjuncts(realize.predicate)
    new = conjuncts(predicate)
    if len(old) == len(new) and all(one is other for one, other in zip(old, new, strict=True)):
        predicate = realize.predicate
    return realize.replace(iter_values=values, predicate=predicate)


def tidied_in(tree: Tree, loop: t.For, made: t.Stmt) -> t.Stmt:
    """`made`, which will stand where `loop` does, with the bindings and predicates of its blocks simplified."""
    realizes = _realizes_in([made], innermost_loops(tree.loops[id(loop.var)].path))
    changes = _tidied_realizes(realizes)
    return (replaced_in(made, changes) or made) if changes else made


def tidied(func: t.PrimFunc, names: Iterable[str] | None = None) -> t.PrimFunc:
    """`func` with the bindings and predicates of the named blocks (default all) simplified."""
    tree = Tree.of(func)
    sites = [tree.blocks[name] for name in (tree.blocks if names is None else names) if name in tree.blocks]
    changes = _tidied_realizes((site.realize, site.loops) for site in sites)
    return replaced(func, changes) if changes else func


def _tidied_realizes(realizes: Iterable[tuple[t.BlockRealize, Sequence[t.For]]]) -> dict[int, Replacement]:
    """What becomes of blocks, each with the loops around it, of those that change."""
    made = ((realize, tidy_realize(realize, loops)) for realize, loops in realizes)
    return {id(realize): changed for realize, changed in made if changed is not realize}


def with_regions(block: t.Block) -> t.Block:
    """`block` with reads and writes as its body has them; blocks inside it are declared anew, too."""
    realizes = _realizes_in(statements_in(block))
    if not realizes:
        reads, writes = detect(block)
        return block.replace(reads=reads, writes=writes)
    changes: dict[int, Replacement] = {}
    for realize, _ in realizes:
        made = with_regions(realize.block)
        if (
            made.reads != realize.block.reads
            or made.writes != realize.block.writes
            or made.body is not realize.block.body
        ):
            changes[id(realize)] = realize.replace(block=made)
    parts = {
        name: replaced_in(part, changes) for name in ("init", "body") if (part := getattr(block, name)) is not None
    }
    return declared_around(block.replace(**parts))


def _realizes_in(
    parts: Sequence[t.Stmt], around: tuple[t.For, ...] = ()
) -> list[tuple[t.BlockRealize, tuple[t.For, ...]]]:
    """The outermost blocks in statements, each with the loops around it: those `around`, and those between."""
    found: list[tuple[t.BlockRealize, tuple[t.For, ...]]] = []
    stack: list[tuple[t.Stmt, tuple[t.For, ...]]] = [(part, around) for part in reversed(parts)]
    while stack:
        stmt, loops = stack.pop()
        if isinstance(stmt, t.BlockRealize):
            found.append((stmt, loops))
            continue
        inner = (*loops, stmt) if isinstance(stmt, t.For) else loops
        stack.extend((child, inner) for child in reversed(statements_in(stmt)))
    return found


def declared_around(block: t.Block) -> t.Block:
    """A block around others with what they declare, over the loops between.

    What a block with an init reads of its own result counts as written only.
    """
    from .blockizing import widened

    scope, relaxed = domains_of(block), set[int]()
    reads: list[t.BufferRegion] = []
    writes: list[t.BufferRegion] = []
    for realize, loops in _realizes_in(statements_in(block)):
        for loop in loops:
            relaxed.add(scope.enter(loop.var, loop.min, loop.extent))
        values = {item.var: value for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)}
        reads += [substitute(region, values) for region in realize.block.reads]
        deciding = [region for stmt in (*loops, realize) for region in loads_beside(stmt)]
        reads += [region for region in deciding if region not in reads]
        writes += [substitute(region, values) for region in realize.block.writes]
    hidden = {id(buffer) for buffer in block.alloc_buffers}
    results = {id(region.buffer) for region in writes} if block.init is not None else set[int]()
    own_reads = [region for region in reads if id(region.buffer) not in hidden | results]
    own_writes = [region for region in writes if id(region.buffer) not in hidden]
    fixed = frozenset(relaxed)
    return block.replace(
        reads=tuple(widened(own_reads, fixed, scope)), writes=tuple(widened(own_writes, fixed, scope))
    )


def guarded(stmt: t.Stmt, condition: PrimExpr) -> t.Stmt:
    """`stmt` with `condition` joined to the predicate of every block in it, and nothing loaded where it does not hold.

    Raises `ScheduleError` if statements other than blocks would have to be guarded.
    """

    def lazily(expr: PrimExpr, otherwise: PrimExpr | int) -> PrimExpr:
        if not any(isinstance(node, t.BufferLoad) for node in post_order(expr)):
            return expr
        return build.if_then_else(condition, expr, build.cast(expr.dtype, build.convert(otherwise)))

    def post(node: Node) -> t.Stmt | None:
        if isinstance(node, t.BlockRealize):
            pairs = zip(node.block.iter_vars, node.iter_values, strict=True)
            values = tuple(lazily(value, item.dom.min) for item, value in pairs)
            predicate = build.logical_and(lazily(node.predicate, False), condition)
            return node.replace(iter_values=values, predicate=predicate)
        if not isinstance(node, t.Stmt) or not loads_beside(node):
            return None
        if isinstance(node, t.For):
            return node.replace(min=lazily(node.min, 0), extent=lazily(node.extent, 0))
        if isinstance(node, t.IfThenElse):
            return node.replace(condition=lazily(node.condition, False))
        return node.replace(value=lazily(node.value, 0)) if isinstance(node, t.LetStmt) else None

    _require_blocks(stmt)
    return rewrite(stmt, post, lambda node: node if isinstance(node, (t.Block, PrimExpr)) else None)


def _require_blocks(stmt: t.Stmt) -> None:
    """Refuse statements other than blocks, loops and conditions around them."""
    stack = [stmt]
    while stack:
        current = stack.pop()
        if isinstance(current, (t.For, t.SeqStmt, t.IfThenElse, t.LetStmt)):
            stack.extend(statements_in(current))
        elif not isinstance(current, t.BlockRealize):
            raise refuse(
                "E-SCHEDULE-GUARD",
                "the loop's tail cannot be guarded: its body has statements outside blocks",
                found=f"a {type(current).__name__}",
                expected="blocks only",
                fix="choose factors that divide the extent",
                nodes=(current,),
            )


class Names:
    """Fresh names for variables and blocks of a function."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = set(taken)

    def fresh(self, base: str) -> str:
        return fresh_name(base, self._taken)
