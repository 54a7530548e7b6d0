"""CompactBuffers: an intermediate buffer shrinks to the part that is touched during its life.

    before:  for y in T.serial(8):                     after:  for y in T.serial(8):
                 T = T.alloc_buffer((8, 16))                       T = T.alloc_buffer((1, 16))
                 for x in T.serial(16):                            for x in T.serial(16):
                     T[y, x] = A[y, x] + 1.0                           T[0, x] = A[y, x] + 1.0

Each axis is shifted by what is constant while the buffer lives.  An axis whose accesses are not linear in the loops
inside, or do not share one outer part, keeps its extent.  Conditions are ignored, so the part may be larger than
what is touched, never smaller.
"""

from __future__ import annotations

from typing import Any

from ...arith import nodes as n
from ...arith.build import const
from ...arith.linear import Linear, linear
from ...core import origin
from ...core.node import Node, pre_order, rewrite
from ...core.transform import function_pass
from .. import nodes as t


@function_pass(name="CompactBuffers", applies_to=t.PrimFunc)
def CompactBuffers(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Shrink intermediate buffers to what is touched during their life."""

    def post(node: Node) -> Node | None:
        return _compacted(node) if isinstance(node, t.AllocBuffer) else None

    return rewrite(func, post)


def _compacted(alloc: t.AllocBuffer) -> t.Stmt | None:
    buffer = alloc.buffer
    accesses = [
        node.indices
        for node in pre_order(alloc.body)
        if isinstance(node, (t.BufferLoad, t.BufferStore)) and node.buffer is buffer
    ]
    if not accesses or _escapes(alloc):
        return None
    inner = _inner_extents(alloc.body)
    axes = [_axis([where[axis] for where in accesses], inner, buffer.shape[axis]) for axis in range(len(buffer.shape))]
    if all(axis is None for axis in axes):
        return None
    shape = tuple(extent if axis is None else const(axis[1]) for axis, extent in zip(axes, buffer.shape, strict=True))
    smaller = origin.derived(buffer.replace(shape=shape, strides=()), buffer)

    def post(node: Node) -> Node | None:
        if isinstance(node, (t.BufferLoad, t.BufferStore)) and node.buffer is buffer:
            return node.replace(buffer=smaller, indices=_shifted(node.indices, axes))
        return None

    return alloc.replace(buffer=smaller, body=rewrite(alloc.body, post))


def _escapes(alloc: t.AllocBuffer) -> bool:
    """Whether the buffer's address is handed to something else (a kernel call): its layout is then fixed."""
    for node in pre_order(alloc.body):
        if isinstance(node, n.Call) and node.op == "address_of":
            load = node.args[0]
            if isinstance(load, t.BufferLoad) and load.buffer is alloc.buffer:
                return True
    return False


def _inner_extents(body: t.Stmt) -> dict[int, int]:
    """Constant extents of the loops inside, by identity of their variable; a loop that begins elsewhere is left out."""
    found: dict[int, int] = {}
    for node in pre_order(body):
        if isinstance(node, t.For):
            begins_at_zero = isinstance(node.min, n.IntImm) and node.min.value == 0
            known = begins_at_zero and isinstance(node.extent, n.IntImm)
            found[id(node.var)] = node.extent.value if known else -1  # type: ignore[attr-defined]
    return found


def _axis(indices: list[n.PrimExpr], inner: dict[int, int], extent: n.PrimExpr) -> tuple[Linear, int] | None:
    """(what to subtract, the new extent) of one axis, or None to leave it."""
    base: Linear | None = None
    low = high = 0
    for index in indices:
        form = linear(index)
        inside = tuple(term for term in form.terms if _is_inner(term.atom, inner))
        outside = Linear(tuple(term for term in form.terms if not _is_inner(term.atom, inner)), 0)
        reach = Linear(inside, form.constant).bounds(inner)
        if reach is None or any(inner.get(id(term.atom), 0) <= 0 for term in inside):
            return None
        if base is None:
            base, (low, high) = outside, reach
        elif not base.same_terms(outside):
            return None
        else:
            low, high = min(low, reach[0]), max(high, reach[1])
    if base is None or (isinstance(extent, n.IntImm) and high - low + 1 >= extent.value):
        return None
    return Linear(base.terms, low), high - low + 1


def _is_inner(atom: n.PrimExpr, inner: dict[int, int]) -> bool:
    return any(id(node) in inner for node in pre_order(atom))


def _shifted(indices: tuple[n.PrimExpr, ...], axes: list[tuple[Linear, int] | None]) -> tuple[n.PrimExpr, ...]:
    return tuple(index if axis is None else _minus(index, axis[0]) for index, axis in zip(indices, axes, strict=True))


def _minus(index: n.PrimExpr, base: Linear) -> n.PrimExpr:
    """index - base, with equal terms cancelled."""
    form = linear(index)
    kept = {term.key for term in base.terms}
    return Linear(tuple(term for term in form.terms if term.key not in kept), form.constant - base.constant).expression()
