"""Putting one block's value into another: the common parts of the two inlining primitives."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from ..analysis.tree import BlockSite, loads_beside
from ..arith import build
from ..arith.nodes import PrimExpr, Var
from ..arith.scope import Scope, number_of
from ..core import origin
from ..core.node import Node, children, post_order, rewrite, substitute, traced_nodes, written_size
from ..tir import nodes as t
from .errors import refuse, require
from .state import ScheduleState
from .surgery import Replacement, replaced, with_regions

S = TypeVar("S", bound=Node)


def single_store(site: BlockSite, verb: str) -> t.BufferStore:
    """The store that is the whole body of a block without reduction."""
    body = site.block.body
    spatial = all(item.kind is t.IterKind.SPATIAL for item in site.block.iter_vars)
    if not isinstance(body, t.BufferStore) or site.block.init is not None or not spatial:
        raise refuse(
            "E-SCHEDULE-INLINE-FORM",
            f"cannot {verb} {site.name}: it is more than one element-wise store",
            found="a reduction" if not spatial else "several statements",
            expected="a block without reduction whose body is one store",
            fix="move it with compute_at or reverse_compute_at instead",
            nodes=(site.block,),
        )
    return body


def plain_variables(site: BlockSite, indices: tuple[PrimExpr, ...], verb: str) -> dict[int, tuple[int, PrimExpr]]:
    """The axis that each iterator indexes, and what is added to it there.

    Every index is an iterator, a number, or their sum with what stands still around the block; every iterator is there
    once.
    """
    found: dict[int, tuple[int, PrimExpr]] = {}
    scope = site.forms
    for axis, index in enumerate(indices):
        form, still = scope.parted(scope.linear(index), site.iterators)
        var = scope.only_variable(form)
        if not site.is_held(still) or (form.terms and (var is None or id(var) in found)):
            raise _not_plain(site, verb)
        if var is not None:
            found[id(var)] = axis, scope.index(still)
    for item in site.block.iter_vars:
        if id(item.var) not in found and scope.linear(item.dom.extent).constant != 1:
            raise _not_plain(site, verb)
    return found


def _not_plain(site: BlockSite, verb: str) -> Exception:
    return refuse(
        "E-SCHEDULE-INLINE-INDEX",
        f"cannot {verb} {site.name}: its indices are not its iterators, each once",
        found="an index that is an expression, or an iterator missing",
        expected="an access like B[vi, vj]",
        fix="move it with compute_at or reverse_compute_at instead",
        nodes=(site.block,),
    )


def with_loads_replaced(
    realize: t.BlockRealize,
    buffer: t.Buffer,
    value: PrimExpr,
    variables: Mapping[int, tuple[int, PrimExpr]],
    site: BlockSite,
) -> t.BlockRealize:
    """Loads of `buffer` in a block and its predicate replaced by `value` with the iterators at the loads' indices; the
    block's reads and writes are declared as before."""
    block, predicate = realize.block, realize.predicate
    put = partial(_loads_replaced, buffer=buffer, value=value, variables=variables, site=site)
    made = block.replace(init=None if block.init is None else put(block.init), body=put(block.body))
    return realize.replace(block=made, predicate=put(predicate) if loads_beside(realize) else predicate)


def _loads_replaced(
    root: S, buffer: t.Buffer, value: PrimExpr, variables: Mapping[int, tuple[int, PrimExpr]], site: BlockSite
) -> S:
    by_identity = {id(item.var): item.var for item in site.block.iter_vars}
    fixed = {item.var: item.dom.min for item in site.block.iter_vars if id(item.var) not in variables}
    put: list[tuple[PrimExpr, PrimExpr]] = []

    def post(node: Node) -> Node | None:
        if not isinstance(node, t.BufferLoad) or node.buffer is not buffer:
            return None
        require(
            all(index.dtype.lanes == 1 for index in node.indices),
            "E-SCHEDULE-INLINE-VECTOR",
            f"{buffer.name} is loaded as a vector",
            found=f"a load of {node.dtype}",
            expected="loads of single elements",
            fix="inline before vectors are written by hand",
            nodes=(site.block,),
        )
        at = {
            by_identity[variable]: build.cast(by_identity[variable].dtype, _less(node.indices[axis], added))
            for variable, (axis, added) in variables.items()
        }
        put.append((node, substitute(value, {**fixed, **at})))
        return put[-1][1]

    made: S = rewrite(root, post)
    if len(put) == 1 and isinstance(root, t.Stmt) and isinstance(made, t.Stmt):
        _keep_contents(root, made, buffer, *put[0])
    if made is not root and origin.active() is not None:
        before = {id(node) for node in traced_nodes(root)}
        for node in traced_nodes(made):
            if isinstance(node, t.BufferStore) and id(node) not in before:
                origin.joined(node, site.block.body)
    return made


def _less(index: PrimExpr, added: PrimExpr) -> PrimExpr:
    """An index without what was added to it, where that can be seen in short."""
    return index if number_of(added) == 0 else Scope().simplify(build.subtract(index, added))


def without_block(
    state: ScheduleState, site: BlockSite, changed: Mapping[str, t.BlockRealize], buffer: t.Buffer
) -> t.PrimFunc:
    """The function with blocks replaced (by name), `site` removed, and `buffer` no longer allocated."""
    changes: dict[int, Replacement] = {id(site.realize): None}
    around = {id(stmt) for stmt in site.path}
    for name, realize in changed.items():
        reader = state.tree.blocks[name]
        block = origin.derived(with_regions(realize.block), reader.block)
        changes[id(reader.realize)] = realize.replace(block=block)
        around.update(id(stmt) for stmt in reader.path)
    func = replaced(state.func, changes, around)
    realize = func.body
    assert isinstance(realize, t.BlockRealize)  # as the tree's root has it
    kept = tuple(item for item in realize.block.alloc_buffers if item is not buffer)
    root = realize.block.replace(alloc_buffers=kept)
    origin.derived(root, realize.block)
    return func.replace(body=origin.derived(realize.replace(block=root), realize))


class _Contents(NamedTuple):
    """What was counted in a statement as it is written out."""

    size: int
    """Its nodes."""
    value: int
    """The nodes of the value that it stores; 0 for another statement."""
    reads: Mapping[int, int]
    """How often the elements of each buffer (by identity) are read."""

    @classmethod
    def of(cls, root: Node, size: int, reads: Mapping[int, int]) -> _Contents:
        if not isinstance(root, t.BufferStore):
            return cls(size, 0, reads)
        others = sum(written_size(child) for child in children(root) if child is not root.value)
        return cls(size, size - 1 - others, reads)


_CONTENTS: WeakKeyDictionary[t.Stmt, _Contents] = WeakKeyDictionary()
"""Statements never change: a rule asks before it inlines, the primitive asks again, and most outlive a step."""


def _contents(root: t.Stmt) -> _Contents:
    known = _CONTENTS.get(root)
    if known is None:
        known = _CONTENTS[root] = _counted(root)
    return known


def _counted(root: Node) -> _Contents:
    """One walk, parents first: a node stands as often as all of its parents do."""
    order = list(post_order(root))
    below = {id(node): children(node) for node in order}
    times = dict.fromkeys(below, 0)
    times[id(root)] = 1
    reads: dict[int, int] = {}
    for node in reversed(order):
        own = times[id(node)]
        for child in below[id(node)]:
            times[id(child)] += own
        if isinstance(node, t.BufferLoad):
            reads[id(node.buffer)] = reads.get(id(node.buffer), 0) + own
    return _Contents.of(root, sum(times.values()), reads)


def _keep_contents(root: t.Stmt, made: t.Stmt, buffer: t.Buffer, load: PrimExpr, value: PrimExpr) -> None:
    """What is known of a statement told of the same with one load replaced, wherever it stands, by a value."""
    known = _CONTENTS.get(root)
    if known is None:
        return
    before, after, times = _counted(load), _counted(value), known.reads[id(buffer)]
    found = dict(known.reads)
    for sign, reads in ((-1, before.reads), (1, after.reads)):
        for identity, count in reads.items():
            found[identity] = found.get(identity, 0) + sign * times * count
    size = known.size + times * (after.size - before.size)
    _CONTENTS[made] = _Contents.of(made, size, {identity: count for identity, count in found.items() if count})


def size_of(root: t.Stmt) -> int:
    """How many nodes a statement has as it is written out."""
    return _contents(root).size


def stored_size(store: t.BufferStore) -> int:
    """How many nodes the value that is stored has as it is written out."""
    return _contents(store).value


def uses(root: t.Stmt, buffer: t.Buffer) -> int:
    """How often the elements of a buffer are read in a program as it is written out."""
    return _contents(root).reads.get(id(buffer), 0)


def inlined_size(realize: t.BlockRealize, buffer: t.Buffer, size: int) -> int:
    """How many nodes a block's body and its predicate have as they are written out, where each load of `buffer` becomes
    one of `size` nodes."""
    body = realize.block.body
    found = size_of(body) + uses(body, buffer) * size
    if loads_beside(realize):
        predicate = _counted(realize.predicate)
        found += predicate.size + predicate.reads.get(id(buffer), 0) * size
    return found


_BUFFERS: WeakKeyDictionary[t.Stmt | t.BufferRegion, frozenset[int]] = WeakKeyDictionary()
"""The buffers that a statement, or the bounds of a region, accesses anywhere, by identity."""


def _buffers_in(root: t.Stmt | t.BufferRegion) -> frozenset[int]:
    known = _BUFFERS.get(root)
    if known is None:
        found: set[int] = set()
        stack: list[Node] = [root]
        seen: set[int] = set()
        while stack:
            current = stack.pop()
            if id(current) in seen:
                continue
            seen.add(id(current))
            if isinstance(current, t.BufferStore):
                found.update((id(current.buffer), *_contents(current).reads))
                continue
            if isinstance(current, t.BufferRegion) and current is not root:
                found.update(_buffers_in(current))
                continue
            if isinstance(current, t.BufferLoad):
                found.add(id(current.buffer))
            stack.extend(children(current))
        known = _BUFFERS[root] = frozenset(found)
    return known


def is_accessed(root: Node, buffer: t.Buffer) -> bool:
    """Whether anything under `root` loads or stores elements of a buffer."""
    seen: set[int] = set()
    stack: list[Node] = [root]
    while stack:
        current = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, (t.BufferLoad, t.BufferStore)) and current.buffer is buffer:
            return True
        if isinstance(current, t.For):
            if id(buffer) not in _buffers_in(current):
                continue
            while isinstance(current.body, t.For):  # asked once a nest
                stack.extend(child for child in children(current) if child is not current.body)
                current = current.body
        if isinstance(current, t.BufferRegion) and id(buffer) not in _buffers_in(current):
            continue
        if not isinstance(current, (Var, t.Buffer)):
            stack.extend(children(current))
    return False


def require_not_accessed(func: t.PrimFunc, buffer: t.Buffer) -> None:
    """Refuse a function whose buffer is gone and still read: in bounds, conditions or bindings."""
    require(
        not is_accessed(func, buffer),
        "E-SCHEDULE-INLINE-OUTSIDE",
        f"{buffer.name} is read outside blocks",
        found="a loop bound, a condition or a binding that loads it",
        expected="reads in blocks and their predicates only",
        fix="leave the block where it is",
    )
