"""Exact dependences between iterations, through islpy (imported lazily, here only).

A program's accesses become integer relations between loop iterations and elements.  Two questions are asked of them:
may the iterations of a loop run in any order (`carried`), and may loops be interchanged (`violated`).  The answers
are a `Conflict` (a *witness*: two iterations, and the element that both touch), None, or `NotAffine`.

Invariant: declared regions are what counts; they contain all that a block touches.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..arith import nodes as a
from ..arith.nodes import PrimExpr, Var
from ..tir import nodes as t
from .conditions import conjuncts
from .recovery import Touch, touches
from .tree import BlockSite


class NotAffine(Exception):
    """The question cannot be put exactly; the message says what stands in the way."""


@dataclass(frozen=True)
class Conflict:
    """Two iterations of the program that touch one element, at least one of them writing it."""

    first: Touch
    second: Touch
    first_at: dict[str, int]
    second_at: dict[str, int]
    element: tuple[int, ...]

    def text(self) -> str:
        """iteration i=0, j=14 writes A[1, 13], which iteration i=1, j=13 reads"""
        element = f"{self.first.region.buffer.name}[{', '.join(map(str, self.element))}]"
        verb = "writes" if self.first.writes else "reads"
        other = "writes" if self.second.writes else "reads"
        same = " too" if verb == other else ""
        return f"iteration {_at(self.first_at)} {verb} {element}, which iteration {_at(self.second_at)} {other}{same}"


def _at(values: dict[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def available() -> bool:
    """Whether islpy is installed."""
    return importlib.util.find_spec("islpy") is not None


# --- expressions as isl text --------------------------------------------------------------------------------------


class _Writer:
    """Writes expressions in isl's notation; names variables, collects parameters."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.parameters: dict[int, str] = {}
        self.values: dict[int, PrimExpr] = {}

    def name(self, var: Var) -> str:
        known = self.names.get(id(var)) or self.parameters.get(id(var))
        if known is None:
            known = self.parameters[id(var)] = f"p{len(self.parameters)}"
        return known

    def expr(self, root: PrimExpr, depth: int = 0) -> str:
        if depth > 200:
            raise NotAffine("an index is nested too deeply")
        if isinstance(root, a.IntImm):
            return str(root.value)
        if isinstance(root, Var):
            bound = self.values.get(id(root))
            return self.expr(bound, depth + 1) if bound is not None else self.name(root)
        rule = _TEXTS.get(type(root))
        if rule is None or not isinstance(root, a.BinaryExpr):
            raise NotAffine(f"an index contains {_kind(root)}")
        if isinstance(root, (a.FloorDiv, a.FloorMod)) and not _positive(root.b):
            raise NotAffine("an index is divided by something that is not a positive constant")
        if isinstance(root, a.Mul) and not (isinstance(root.a, a.IntImm) or isinstance(root.b, a.IntImm)):
            raise NotAffine("an index is a product of variables")
        if isinstance(root, a.Mul):
            number, other = (root.a, root.b) if isinstance(root.a, a.IntImm) else (root.b, root.a)
            return f"{self.expr(number)}*({self.expr(other, depth + 1)})"
        return rule(self.expr(root.a, depth + 1), self.expr(root.b, depth + 1))

    def condition(self, root: PrimExpr) -> str | None:
        """A comparison, or None if it is not affine (a domain without it is larger, which is safe)."""
        sign = _COMPARISONS.get(type(root))
        if sign is None or not isinstance(root, a.CompareExpr) or not root.a.dtype.is_integer:
            return None
        try:
            return f"{self.expr(root.a)} {sign} {self.expr(root.b)}"
        except NotAffine:
            return None


def _positive(expr: PrimExpr) -> bool:
    return isinstance(expr, a.IntImm) and expr.value > 0


def _kind(expr: PrimExpr) -> str:
    if isinstance(expr, t.BufferLoad):
        return f"a value loaded from {expr.buffer.name}"
    return f"a call of {expr.op}" if isinstance(expr, a.Call) else type(expr).__name__


_TEXTS: dict[type, Callable[[str, str], str]] = {
    a.Add: lambda x, y: f"({x} + {y})",
    a.Sub: lambda x, y: f"({x} - {y})",
    a.Mul: lambda x, y: f"{x}*({y})",
    a.FloorDiv: lambda x, y: f"floor(({x})/{y})",
    a.FloorMod: lambda x, y: f"(({x}) mod {y})",
    a.Min: lambda x, y: f"min({x}, {y})",
    a.Max: lambda x, y: f"max({x}, {y})",
}
_COMPARISONS: dict[type, str] = {a.LT: "<", a.LE: "<=", a.GT: ">", a.GE: ">=", a.EQ: "=", a.NE: "!="}


@dataclass
class _Relation:
    """One access: { [all loops of its block] -> [element] }, and how many of the loops are common to all."""

    touch: Touch
    map: Any
    loops: tuple[t.For, ...]


def _relation(isl: Any, touch: Touch) -> _Relation:
    site = touch.site
    writer = _Writer()
    writer.names = {id(loop.var): f"x{number}" for number, loop in enumerate(site.loops)}
    writer.values = {id(iter_var.var): value for iter_var, value in site.bindings}
    conditions: list[str] = []
    for number, loop in enumerate(site.loops):
        low, extent = writer.expr(loop.min), writer.expr(loop.extent)
        conditions.append(f"{low} <= x{number} < {low} + {extent}")
    conditions.extend(text for text in map(writer.condition, conjuncts(site.realize.predicate)) if text is not None)
    element: list[str] = []
    for number, axis in enumerate(touch.region.region):
        low, extent = writer.expr(axis.min), writer.expr(axis.extent)
        conditions.append(f"{low} <= e{number} < {low} + {extent}")
        element.append(f"e{number}")
    inputs = ", ".join(f"x{number}" for number in range(len(site.loops)))
    parameters = ", ".join(writer.parameters.values())
    text = f"[{parameters}] -> {{ [{inputs}] -> [{', '.join(element)}] : {' and '.join(conditions) or 'true'} }}"
    return _Relation(touch, isl.Map(_with_parameters(text, writer)), site.loops)


def _with_parameters(text: str, writer: _Writer) -> str:
    """Parameters renamed by identity, so that one variable has one name in all relations of a question."""
    import re

    unique = {short: f"q{identity}" for identity, short in writer.parameters.items()}
    return re.sub(r"\bp\d+\b", lambda found: unique[found.group()], text)


def _project(isl: Any, relation: _Relation, count: int) -> Any:
    """The relation over its first `count` loops only."""
    inner = relation.map.dim(isl.dim_type.in_) - count
    return relation.map.project_out(isl.dim_type.in_, count, inner)


# --- questions ----------------------------------------------------------------------------------------------------


def carried(loop: t.For, sites: Sequence[BlockSite], skip: frozenset[int] = frozenset()) -> Conflict | None:
    """Two different iterations of `loop` (outer loops standing still) in conflict, or None.

    `skip` names buffers (by identity) to leave out.  Raises `NotAffine`.
    """
    return _search(sites, skip, lambda site: _depth(site, loop), lambda depth: _differ(depth), None)


def violated(
    before: Sequence[t.For], after: Sequence[t.For], sites: Sequence[BlockSite], excused: Callable[[Touch, Touch], bool]
) -> Conflict | None:
    """Two iterations of the nest `before` whose order changes when the loops run as `after`, or None.

    `excused` says which pairs of accesses may change order (sums).  Raises `NotAffine`.
    """
    order = [next(i for i, loop in enumerate(before) if loop is item) for item in after]
    return _search(
        sites,
        frozenset(),
        lambda site: _depth(site, before[-1]),
        lambda depth: _swapped(depth, len(before), order),
        excused,
    )


def _depth(site: BlockSite, loop: t.For) -> int:
    return next(i for i, item in enumerate(site.loops) if item is loop) + 1


def _differ(depth: int) -> str:
    """Pairs of iterations that agree on all loops but the last."""
    same = [f"x{i} = y{i}" for i in range(depth - 1)]
    return " and ".join([*same, f"x{depth - 1} < y{depth - 1}"])


def _swapped(depth: int, count: int, order: list[int]) -> str:
    """Pairs that ran x before y, and would run y before x."""
    base = depth - count
    same = [f"x{i} = y{i}" for i in range(base)]
    earlier = _lexicographic("x", "y", [base + i for i in range(count)])
    later = _lexicographic("y", "x", [base + i for i in order])
    return " and ".join([*same, f"({earlier})", f"({later})"])


def _lexicographic(left: str, right: str, positions: list[int]) -> str:
    cases: list[str] = []
    for number, position in enumerate(positions):
        equal = [f"{left}{i} = {right}{i}" for i in positions[:number]]
        cases.append("(" + " and ".join([*equal, f"{left}{position} < {right}{position}"]) + ")")
    return " or ".join(cases)


def _search(
    sites: Sequence[BlockSite],
    skip: frozenset[int],
    depth_of: Callable[[BlockSite], int],
    pairs: Callable[[int], str],
    excused: Callable[[Touch, Touch], bool] | None,
) -> Conflict | None:
    import islpy as isl

    for buffer, touched in touches(sites).items():
        if buffer in skip:
            continue
        relations = [_relation(isl, touch) for touch in touched]
        for one in relations:
            for other in relations:
                if not (one.touch.writes or other.touch.writes):
                    continue
                if excused is not None and excused(one.touch, other.touch):
                    continue
                depth = depth_of(one.touch.site)
                found = _pair(isl, one, other, depth, pairs(depth))
                if found is not None:
                    return found
    return None


def _pair(isl: Any, one: _Relation, other: _Relation, depth: int, condition: str) -> Conflict | None:
    left, right = _project(isl, one, depth), _project(isl, other, depth)
    xs = ", ".join(f"x{i}" for i in range(depth))
    ys = ", ".join(f"y{i}" for i in range(depth))
    order = isl.Map(f"{{ [{xs}] -> [{ys}] : {condition} }}")
    meeting = left.apply_range(right.reverse()).intersect(order.align_params(left.get_space()))
    if meeting.is_empty():
        return None
    point = meeting.wrap().sample_point()
    values = [int(str(point.get_coordinate_val(isl.dim_type.set, i))) for i in range(2 * depth)]
    first, second = values[:depth], values[depth:]
    element = _element(isl, left, right, point, first, second)
    names = [loop.var.name for loop in one.loops[:depth]]
    return Conflict(
        one.touch, other.touch, dict(zip(names, first, strict=True)), dict(zip(names, second, strict=True)), element
    )


def _element(isl: Any, left: Any, right: Any, point: Any, first: list[int], second: list[int]) -> tuple[int, ...]:
    def image(relation: Any, at: list[int]) -> Any:
        for number, value in enumerate(at):
            relation = relation.fix_val(isl.dim_type.in_, number, isl.Val(value))
        return relation.range()

    shared = image(left, first).intersect(image(right, second))
    sample = shared.sample_point()
    count = shared.dim(isl.dim_type.set)
    return tuple(int(str(sample.get_coordinate_val(isl.dim_type.set, i))) for i in range(count))


def uncovered(loop: t.For, buffer: t.Buffer, sites: Sequence[BlockSite]) -> bool:
    """Whether some read of `buffer` inside `loop` may want an element not written before in the same iteration.

    Raises `NotAffine`.  Blocks count as writing all of their regions only if these are single elements.
    """
    import islpy as isl

    touched = touches(sites).get(id(buffer), [])
    writes = [touch for touch in touched if touch.writes and _is_point(touch) and _is_plain(touch.site)]
    for read in touched:
        if read.writes:
            continue
        wanted = _relation(isl, read)
        depth = _depth(read.site, loop)
        left = wanted.map
        for write in writes:
            if write.site.order < read.site.order:
                made = _relation(isl, write)
                common = _common(read.site, write.site)
                if common < depth:
                    continue
                left = left.subtract(_made_before(isl, made, len(wanted.loops), common, left))
        if not left.is_empty():
            return True
    return False


def _made_before(isl: Any, made: _Relation, arity: int, common: int, like: Any) -> Any:
    """{ [reader's loops] -> element } for elements written at the same values of the common loops."""
    projected = _project(isl, made, common)
    widened = projected.insert_dims(isl.dim_type.in_, common, arity - common)
    return widened.align_params(like.get_space())


def _common(one: BlockSite, other: BlockSite) -> int:
    count = 0
    for left, right in zip(one.loops, other.loops, strict=False):
        if left is not right:
            break
        count += 1
    return count


def _is_point(touch: Touch) -> bool:
    return all(isinstance(axis.extent, a.IntImm) and axis.extent.value == 1 for axis in touch.region.region)


def _is_plain(site: BlockSite) -> bool:
    """A block whose stores run unconditionally."""
    stack: list[t.Stmt] = [site.block.body]
    while stack:
        stmt = stack.pop()
        if isinstance(stmt, t.SeqStmt):
            stack.extend(stmt.stmts)
        elif not isinstance(stmt, t.BufferStore):
            return False
    affine = _Writer()
    return all(affine.condition(condition) is not None for condition in conjuncts(site.realize.predicate))
