"""LowerBlocks: blocks become plain loops and conditions; allocations move to where they are needed.

    before:  with T.block("C"):                       after:  if k == 0:
                 vi, vk = T.axis.remap("SR", [i, k])              C[i] = 0.0
                 with T.init(): C[vi] = 0.0                   C[i] = C[i] + A[i, k]
                 C[vi] = C[vi] + A[vi, vk]

A buffer is allocated inside the innermost loop around all its uses, but outside every loop over which it
accumulates (a loop that binds a reduction iterator of a block that writes it) and outside vectorized loops.
"""

from __future__ import annotations

from typing import Any

from ...arith import nodes as n
from ...arith.build import BOOL, all_of, equal
from ...core import origin
from ...core.node import Node, children, pre_order, rewrite, substitute
from ...core.transform import function_pass
from .. import nodes as t


@function_pass(name="LowerBlocks", applies_to=t.PrimFunc)
def LowerBlocks(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Turn blocks into loops and conditions."""
    places = _allocation_places(func)
    placed = {id(buffer) for buffers in places.values() for buffer in buffers}

    def post(node: Node) -> Node | None:
        if isinstance(node, t.BlockRealize):
            return _lowered(node, placed)
        if isinstance(node, t.For) and id(node.var) in places:
            return node.replace(body=_allocated(places[id(node.var)], node.body))
        return None

    return rewrite(func, post)


def _lowered(realize: t.BlockRealize, placed: set[int]) -> t.Stmt:
    block = realize.block
    values = {item.var: value for item, value in zip(block.iter_vars, realize.iter_values, strict=True)}
    body = block.body
    if block.init is not None:
        body = _sequence(_initialisation(block, block.init), body)
    body = substitute(body, values)
    body = _allocated([buffer for buffer in block.alloc_buffers if id(buffer) not in placed], body)
    if _is_true(realize.predicate):
        return body
    return origin.derived(t.IfThenElse(realize.predicate, body), realize)


def _initialisation(block: t.Block, init: t.Stmt) -> t.Stmt:
    """The init statement, when all reduction iterators are at their first value."""
    first = [
        equal(item.var, item.dom.min)
        for item in block.iter_vars
        if item.kind is t.IterKind.REDUCE and not _is_one(item.dom.extent)
    ]
    return t.IfThenElse(all_of(*first), init) if first else init


def _sequence(first: t.Stmt, second: t.Stmt) -> t.Stmt:
    from ..build import seq

    return seq(first, second)


def _allocated(buffers: list[t.Buffer], body: t.Stmt) -> t.Stmt:
    for buffer in reversed(buffers):
        body = t.AllocBuffer(buffer, body)
    return body


def _is_true(condition: n.PrimExpr) -> bool:
    return isinstance(condition, n.IntImm) and condition.dtype == BOOL and bool(condition.value)


def _is_one(extent: n.PrimExpr) -> bool:
    return isinstance(extent, n.IntImm) and extent.value == 1


# --- where buffers are allocated ----------------------------------------------------------------------------------


def _allocation_places(func: t.PrimFunc) -> dict[int, list[t.Buffer]]:
    """Loops (by identity of their variable) inside which buffers are to be allocated."""
    allocated = [buffer for node in pre_order(func.body) if isinstance(node, t.Block) for buffer in node.alloc_buffers]
    if not allocated:
        return {}
    wanted = {id(buffer) for buffer in allocated}
    common: dict[int, tuple[t.For, ...]] = {}
    for buffer, loops in _uses(func.body, wanted):
        known = common.get(id(buffer))
        common[id(buffer)] = loops if known is None else _prefix(known, loops)
    places: dict[int, list[t.Buffer]] = {}
    for buffer in allocated:
        loops = common.get(id(buffer), ())
        if loops:
            places.setdefault(id(loops[-1].var), []).append(buffer)
    return places


def _uses(body: t.Stmt, wanted: set[int]) -> list[tuple[t.Buffer, tuple[t.For, ...]]]:
    """(buffer, loops inside which it may live) for each block and statement that touches a wanted buffer."""
    found: list[tuple[t.Buffer, tuple[t.For, ...]]] = []
    stack: list[tuple[Node, tuple[t.For, ...], tuple[t.For, ...]]] = [(body, (), ())]
    while stack:
        node, loops, carried = stack.pop()
        if isinstance(node, t.For):
            loops = (*loops, node)
        if isinstance(node, t.BlockRealize):
            carried = (*carried, *_reduction_loops(node, loops))
        buffer = getattr(node, "buffer", None)
        if isinstance(node, (t.BufferLoad, t.BufferStore)) and id(buffer) in wanted:
            limit = carried if isinstance(node, t.BufferStore) else ()
            found.append((node.buffer, _within(loops, limit)))
        if not isinstance(node, (t.Buffer, t.BufferRegion)):
            stack.extend((child, loops, carried) for child in children(node))
    return found


def _reduction_loops(realize: t.BlockRealize, loops: tuple[t.For, ...]) -> list[t.For]:
    """The loops over which a block accumulates."""
    bound = [
        value
        for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if item.kind is not t.IterKind.SPATIAL
    ]
    used = {id(node) for value in bound for node in pre_order(value)}
    return [loop for loop in loops if id(loop.var) in used]


def _within(loops: tuple[t.For, ...], carried: tuple[t.For, ...]) -> tuple[t.For, ...]:
    """The outer loops up to the first that carries values or runs lanes."""
    kept: list[t.For] = []
    for loop in loops:
        if loop.kind is t.ForKind.VECTORIZED or any(other is loop for other in carried):
            break
        kept.append(loop)
    return tuple(kept)


def _prefix(one: tuple[t.For, ...], other: tuple[t.For, ...]) -> tuple[t.For, ...]:
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] is other[shared]:
        shared += 1
    return one[:shared]


