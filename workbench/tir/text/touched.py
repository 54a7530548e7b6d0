"""The regions of a block whose text does not say them: what its body loads and stores.

An axis whose index is known when the body begins is one element; of any other it is what lies between the least and
the greatest index, as loops and inner blocks run, or the whole.  What a block with an init reads of the elements that
it writes is its own accumulator and does not count as read.
"""

from __future__ import annotations

from ...arith.build import const
from ...arith.nodes import Let, PrimExpr, Var
from ...arith.scope import Scope, number_of
from ...core.equal import same
from ...core.node import Node, children, pre_order
from .. import nodes as t


def touched(
    body: t.Stmt, init: t.Stmt | None, allocated: tuple[t.Buffer, ...]
) -> tuple[tuple[t.BufferRegion, ...], tuple[t.BufferRegion, ...]]:
    """(regions read, regions written) by a block's body and init."""
    roots = [part for part in (init, body) if part is not None]
    inside = _Inside()
    own = {id(buffer) for buffer in allocated}
    for node in pre_order(roots):
        if isinstance(node, t.For):
            inside.enter(node.var, node.min, node.extent)
        elif isinstance(node, (t.LetStmt, Let)):
            inside.variables.add(node.var)
        elif isinstance(node, t.AllocBuffer):
            own.add(id(node.buffer))
        elif isinstance(node, t.Block):
            own.update(id(buffer) for buffer in node.alloc_buffers)
            for iterator in node.iter_vars:
                inside.enter(iterator.var, iterator.dom.min, iterator.dom.extent)
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


class _Inside:
    """The variables that a block's body binds, and the ranges of loops and inner blocks."""

    def __init__(self) -> None:
        self.scope = Scope()
        self.variables: set[Var] = set()

    def enter(self, var: Var, begin: PrimExpr, extent: PrimExpr) -> None:
        if var not in self.variables:
            self.scope.enter(var, begin, extent)
        self.variables.add(var)

    def domain(self, index: PrimExpr, extent: PrimExpr) -> t.Range:
        """What an index takes of an axis."""
        whole = t.Range(const(0), extent)
        parts = [*pre_order(index)]
        if index.dtype.lanes != 1 or any(isinstance(part, t.BufferLoad) for part in parts):
            return whole
        if self.variables.isdisjoint(part for part in parts if isinstance(part, Var)):
            return t.Range(index, const(1, index.dtype))
        own = self.scope.numbers(self.variables)
        low, high = self.scope.ends(self.scope.linear(index), own)
        if low is None or high is None or self.scope.moves(low, own):
            return whole
        length = high.minus(low).shifted(1).constant
        if length is None or length < 1 or number_of(extent) == length:
            return whole
        return t.Range(self.scope.written(low, index.dtype), const(length, index.dtype))


def _note(regions: list[t.BufferRegion], access: t.BufferLoad | t.BufferStore, inside: _Inside) -> None:
    domains = tuple(
        inside.domain(index, extent) for index, extent in zip(access.indices, access.buffer.shape, strict=True)
    )
    made = t.BufferRegion(access.buffer, domains)
    if not any(_equal(made, other) for other in regions):
        regions.append(made)


def _equal(one: t.BufferRegion, other: t.BufferRegion) -> bool:
    return one.buffer is other.buffer and same(one.region, other.region)
