"""The loop tree of a function with what each loop and block reads and writes.

Regions hold what is touched while a loop runs through once, as slices over the loops around it (a hull: all that is
touched lies in it), cut to the buffer where they are constant.

    print(loop_tree(sch))
    for i 64 serial          reads A[0:64, 0:64], B[...]; writes C[0:64, 0:64]
      for j 64 parallel      ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..arith.forms import Form
from ..arith.nodes import PrimExpr, Var, literal
from ..arith.scope import Scope
from ..core.node import substitute
from ..tir import nodes as t
from ..tir.script import script
from .fact import Fact
from .programs import function_of, loop_function
from .regions import Bound, Box, union
from .sites import ordered
from .tree import statements_in


@dataclass(frozen=True)
class TreeFact(Fact):
    """One loop ("loop"), block ("block") or statement outside blocks ("store")."""

    kind: str
    name: str
    extent: str
    loop_kind: str
    reduction: bool
    """Whether it sums: a reduction block, or a loop that moves a reduction iterator."""
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    children: tuple[TreeFact, ...]

    def walk(self, depth: int = 0) -> Iterator[tuple[int, TreeFact]]:
        """This node and those below it with their depth, in the order of the text."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)

    @property
    def label(self) -> str:
        if self.kind == "loop":
            return f"for {self.name} {self.extent} {self.loop_kind}"
        return f"block {self.name}" if self.kind == "block" else self.name


@dataclass(frozen=True)
class LoopTree(Fact):
    """See the module's header."""

    name: str
    roots: tuple[TreeFact, ...]

    def walk(self) -> Iterator[tuple[int, TreeFact]]:
        for root in self.roots:
            yield from root.walk()

    def __str__(self) -> str:
        rows = [("  " * depth + node.label + (" (sum)" if node.reduction else ""), node) for depth, node in self.walk()]
        width = max((len(text) for text, _ in rows), default=0)
        return "\n".join(
            f"{text.ljust(width)}  reads {', '.join(node.reads) or 'nothing'}; writes {', '.join(node.writes)}"
            for text, node in rows
        )


class _Region(NamedTuple):
    """What one leaf touches of a buffer: least and greatest index of each axis, over the loops."""

    buffer: t.Buffer
    writes: bool
    axes: tuple[tuple[PrimExpr, PrimExpr], ...]


class _Built(NamedTuple):
    fact: TreeFact
    regions: list[_Region]
    loops: tuple[t.For, ...]
    sums: frozenset[int]
    """The atoms of loop variables that move reduction iterators."""


def loop_tree(program: Any, sizes: Mapping[str, int] | None = None) -> LoopTree:
    """The loops and blocks of a schedule or function; symbolic extents may stay symbolic."""
    func = function_of(program, sizes) if sizes else loop_function(program)
    built = _built(func.body, Scope(), {})
    return LoopTree(str(func.attrs.get("global_symbol", "main")), tuple(item.fact for item in built))


def _built(stmt: t.Stmt, scope: Scope, bound: dict[Any, PrimExpr]) -> list[_Built]:
    """The nodes of a statement; programs nest as shallowly as their text does."""
    if isinstance(stmt, t.For):
        return [_loop(stmt, scope, bound)]
    if isinstance(stmt, t.BlockRealize):
        return _block(stmt, scope, bound)
    found = [item for part in statements_in(stmt) for item in _built(part, scope, bound)]
    if isinstance(stmt, t.BufferStore):
        regions = [
            _Region(access.buffer, access.is_store, tuple((index, index) for index in access.indices))
            for access in ordered(stmt)
        ]
        reads, writes = _texts(regions, frozenset(), scope)
        return [_Built(TreeFact("store", f"{stmt.buffer.name} =", "", "", False, reads, writes, ()), regions, (),
                       frozenset())]  # fmt: skip
    return found


def _loop(stmt: t.For, scope: Scope, bound: dict[Any, PrimExpr]) -> _Built:
    if stmt.var in scope.ranges:  # of a loop before this one
        stmt = substitute(stmt, {stmt.var: Var(stmt.var.name, stmt.var.dtype)})
    variable = scope.enter(stmt.var, substitute(stmt.min, bound), substitute(stmt.extent, bound))
    children = _built(stmt.body, scope, bound)
    regions = [region for child in children for region in child.regions]
    loops = (stmt, *(loop for child in children for loop in child.loops))
    sums = frozenset().union(*(child.sums for child in children))
    reads, writes = _texts(regions, scope.numbers(loop.var for loop in loops), scope)
    fact = TreeFact(
        "loop",
        stmt.var.name,
        script(stmt.extent),
        str(stmt.kind) + (f" {stmt.thread}" if stmt.thread else ""),
        variable in sums,
        reads,
        writes,
        tuple(child.fact for child in children),
    )
    return _Built(fact, regions, loops, sums)


def _block(realize: t.BlockRealize, scope: Scope, bound: dict[Any, PrimExpr]) -> list[_Built]:
    block = realize.block
    own = {
        **bound,
        **{
            item.var: substitute(value, bound) for item, value in zip(block.iter_vars, realize.iter_values, strict=True)
        },
    }
    inside = [item for part in statements_in(block) for item in _built(part, scope, own)]
    if not block.iter_vars and inside and any(item.fact.kind != "store" for item in inside):
        return inside
    regions = [
        _Region(region.buffer, writes, tuple(_ends(axis, own) for axis in region.region))
        for listed, writes in ((block.reads, False), (block.writes, True))
        for region in listed
    ]
    reads, writes = _texts(regions, frozenset(), scope)
    reduce = [
        value
        for item, value in zip(block.iter_vars, realize.iter_values, strict=True)
        if item.kind is t.IterKind.REDUCE
    ]
    moving = (scope.variables_of(scope.linear(substitute(value, bound))) for value in reduce)
    sums = frozenset[int]().union(*moving)
    children = tuple(item.fact for item in inside if item.fact.kind != "store")
    fact = TreeFact("block", block.name, "", "", bool(reduce), reads, writes, children)
    return [_Built(fact, regions, (), sums)]


def _ends(axis: t.Range, own: dict[Any, PrimExpr]) -> tuple[PrimExpr, PrimExpr]:
    low = substitute(axis.min, own)
    return low, low + substitute(axis.extent, own) - 1


def _texts(regions: list[_Region], relaxed: frozenset[int], scope: Scope) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is read and written, a text for each buffer."""
    made: tuple[list[str], list[str]] = ([], [])
    groups: dict[tuple[int, bool], list[_Region]] = {}
    for region in regions:
        groups.setdefault((id(region.buffer), region.writes), []).append(region)
    for (_, writes), group in groups.items():
        boxes = [_box(region, relaxed, scope) for region in group]
        axes = [_slice(group[0].buffer, axis, [box[axis] for box in boxes], scope) for axis in range(len(boxes[0]))]
        made[writes].append(f"{group[0].buffer.name}[{', '.join(axes)}]")
    return tuple(made[0]), tuple(made[1])


def _box(region: _Region, relaxed: frozenset[int], scope: Scope) -> Box:
    box: list[Bound | None] = []
    for low, high in region.axes:
        least = scope.ends(scope.linear(low), relaxed)[0]
        greatest = scope.ends(scope.linear(high), relaxed)[1]
        box.append(None if least is None or greatest is None else Bound(least, greatest))
    return tuple(box)


def _slice(buffer: t.Buffer, axis: int, bounds: list[Bound | None], scope: Scope) -> str:
    known = [bound for bound in bounds if bound is not None]
    joined = union(known, scope) if known and len(known) == len(bounds) else None
    if joined is None:
        return ":"
    low, high = joined.low, joined.high
    extent = literal(buffer.shape[axis], None)
    if low.constant is not None and low.constant < 0:
        low = Form({}, 0)
    if high.constant is not None and extent is not None and high.constant >= extent:
        high = Form({}, extent - 1)
    if low.same_as(high):
        return script(scope.index(low))
    return f"{script(scope.index(low))}:{script(scope.index(high.shifted(1)))}"
