"""The regions of a block whose text does not say them: what its body loads and stores.

An axis whose index is known when the body begins is one element; any other is taken whole.  What a block with an init
reads of the elements that it writes is its own accumulator and does not count as read.
"""

from __future__ import annotations

from ...arith.build import const
from ...arith.nodes import Let, PrimExpr, Var
from ...core.equal import same
from ...core.node import Node, children, pre_order
from .. import nodes as t


def touched(
    body: t.Stmt, init: t.Stmt | None, allocated: tuple[t.Buffer, ...]
) -> tuple[tuple[t.BufferRegion, ...], tuple[t.BufferRegion, ...]]:
    """(regions read, regions written) by a block's body and init."""
    roots = [part for part in (init, body) if part is not None]
    inside: set[int] = set()
    own = {id(buffer) for buffer in allocated}
    for node in pre_order(roots):
        if isinstance(node, (t.For, t.LetStmt, Let)):
            inside.add(id(node.var))
        elif isinstance(node, t.AllocBuffer):
            own.add(id(node.buffer))
        elif isinstance(node, t.Block):
            own.update(id(buffer) for buffer in node.alloc_buffers)
            inside.update(id(iterator.var) for iterator in node.iter_vars)
    reads: list[t.BufferRegion] = []
    writes: list[t.BufferRegion] = []
    for node in _accesses(roots):
        if id(node.buffer) not in own:
            _note(writes if isinstance(node, t.BufferStore) else reads, node, inside)
    if init is not None:
        reads = [item for item in reads if not any(_equal(item, other) for other in writes)]
    return tuple(reads), tuple(writes)


def _accesses(roots: list[t.Stmt]) -> list[t.BufferLoad | t.BufferStore]:
    """Loads and stores, in order; those of regions that inner blocks declare are theirs."""
    found: list[t.BufferLoad | t.BufferStore] = []
    seen: set[int] = set()
    stack: list[Node] = list(reversed(roots))
    while stack:
        current = stack.pop()
        if id(current) in seen or isinstance(current, (t.Buffer, t.BufferRegion)):
            continue
        seen.add(id(current))
        if isinstance(current, (t.BufferLoad, t.BufferStore)):
            found.append(current)
        stack.extend(reversed(children(current)))
    return found


def _note(regions: list[t.BufferRegion], access: t.BufferLoad | t.BufferStore, inside: set[int]) -> None:
    domains = tuple(
        _domain(index, extent, inside) for index, extent in zip(access.indices, access.buffer.shape, strict=True)
    )
    made = t.BufferRegion(access.buffer, domains)
    if not any(_equal(made, other) for other in regions):
        regions.append(made)


def _domain(index: PrimExpr, extent: PrimExpr, inside: set[int]) -> t.Range:
    fixed = index.dtype.lanes == 1 and not any(
        isinstance(part, t.BufferLoad) or (isinstance(part, Var) and id(part) in inside) for part in pre_order(index)
    )
    return t.Range(index, const(1, index.dtype)) if fixed else t.Range(const(0), extent)


def _equal(one: t.BufferRegion, other: t.BufferRegion) -> bool:
    return one.buffer is other.buffer and same(one.region, other.region)
