"""Putting one block's value into another: the common parts of the two inlining primitives."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from weakref import WeakKeyDictionary

from ..analysis.affine import Affine
from ..analysis.tree import BlockSite, iter_ranges
from ..arith import build
from ..arith.nodes import PrimExpr, Var
from ..core import origin
from ..core.node import Node, children, pre_order, rewrite, substitute, traced_nodes, written_count, written_size
from ..tir import nodes as t
from .errors import refuse, require
from .state import ScheduleState
from .surgery import Replacement, replaced, with_regions


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


def plain_variables(site: BlockSite, indices: tuple[PrimExpr, ...], verb: str) -> dict[int, int]:
    """Which axis each iterator indexes: every index is an iterator or a number, every iterator is there once."""
    found: dict[int, int] = {}
    for axis, index in enumerate(indices):
        if isinstance(index, Var) and id(index) not in found:
            found[id(index)] = axis
        elif Affine.of(index, iter_ranges(site.block)).value is None:
            raise _not_plain(site, verb)
    for item in site.block.iter_vars:
        if id(item.var) not in found and Affine.of(item.dom.extent, iter_ranges(site.block)).value != 1:
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


def replace_loads(root: Node, buffer: t.Buffer, value: PrimExpr, variables: Mapping[int, int], site: BlockSite) -> Node:
    """Loads of `buffer` replaced by `value` with the iterators at the loads' indices."""
    by_identity = {id(item.var): item.var for item in site.block.iter_vars}
    fixed = {item.var: item.dom.min for item in site.block.iter_vars if id(item.var) not in variables}

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
            by_identity[variable]: build.cast(by_identity[variable].dtype, node.indices[axis])
            for variable, axis in variables.items()
        }
        return substitute(value, {**fixed, **at})

    made = rewrite(root, post)
    if made is not root and origin.active() is not None:
        before = {id(node) for node in traced_nodes(root)}
        for node in traced_nodes(made):
            if isinstance(node, t.BufferStore) and id(node) not in before:
                origin.joined(node, site.block.body)
    return made


def without_block(
    state: ScheduleState, site: BlockSite, changed: Mapping[str, t.Block], buffer: t.Buffer
) -> t.PrimFunc:
    """The function with blocks replaced (by name), `site` removed, and `buffer` no longer allocated."""
    changes: dict[int, Replacement] = {id(site.realize): None}
    for name, block in changed.items():
        changes[id(state.tree.blocks[name].block)] = with_regions(block)
    func = replaced(state.func, changes)
    realize = func.body
    assert isinstance(realize, t.BlockRealize)  # as the tree's root has it
    kept = tuple(item for item in realize.block.alloc_buffers if item is not buffer)
    root = realize.block.replace(alloc_buffers=kept)
    origin.derived(root, realize.block)
    return func.replace(body=origin.derived(realize.replace(block=root), realize))


_SIZES: WeakKeyDictionary[t.Stmt, int] = WeakKeyDictionary()
_USES: WeakKeyDictionary[t.Stmt, dict[int, int]] = WeakKeyDictionary()
"""What was counted in statements, which never change: a rule asks before it inlines, and the primitive asks again."""


def size_of(root: t.Stmt) -> int:
    """How many nodes a statement has as it is written out."""
    known = _SIZES.get(root)
    if known is None:
        known = _SIZES[root] = written_size(root)
    return known


def uses(root: t.Stmt, buffer: t.Buffer) -> int:
    """How often the elements of a buffer are read in a program as it is written out."""
    known = _USES.setdefault(root, {})
    if id(buffer) not in known:
        known[id(buffer)] = written_count(root, lambda node: isinstance(node, t.BufferLoad) and node.buffer is buffer)
    return known[id(buffer)]


_BUFFERS: WeakKeyDictionary[t.Stmt, frozenset[int]] = WeakKeyDictionary()
"""The buffers that a statement accesses anywhere, by identity: statements never change, and most outlive a step."""


def _buffers_in(stmt: t.Stmt) -> frozenset[int]:
    known = _BUFFERS.get(stmt)
    if known is None:
        found = (node for node in pre_order(stmt) if isinstance(node, (t.BufferLoad, t.BufferStore)))
        known = _BUFFERS[stmt] = frozenset(id(node.buffer) for node in found)
    return known


def _accessing(root: Node, buffer: t.Buffer, without: Container[int] = ()) -> Iterator[int]:
    """The loads and stores of a buffer under `root`, by identity; what is in `without` is not looked into."""
    seen: set[int] = set()
    stack: list[Node] = [root]
    while stack:
        current = stack.pop()
        if id(current) in seen or id(current) in without:
            continue
        seen.add(id(current))
        if isinstance(current, (t.BufferLoad, t.BufferStore)) and current.buffer is buffer:
            yield id(current)
        if isinstance(current, t.For) and not isinstance(current.body, t.For):
            if id(buffer) not in _buffers_in(current):
                continue
        if not isinstance(current, (Var, t.Buffer)):
            stack.extend(children(current))


def require_loads_in_blocks(state: ScheduleState, buffer: t.Buffer, sites: list[BlockSite]) -> None:
    """Refuse when a buffer is read outside the bodies of the given blocks (in bounds or bindings)."""
    bodies = [part for site in sites for part in (site.block.init, site.block.body) if part is not None]
    outside = set(_accessing(state.func, buffer, {id(body) for body in bodies}))
    if outside:  # regions may hold nodes of the bodies
        outside.difference_update(*(_accessing(body, buffer) for body in bodies))
    require(
        not outside,
        "E-SCHEDULE-INLINE-OUTSIDE",
        f"{buffer.name} is read outside blocks",
        found="a loop bound, binding or predicate that loads it",
        expected="reads inside blocks only",
        fix="leave the block where it is",
    )
