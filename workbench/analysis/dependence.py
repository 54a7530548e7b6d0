"""Exact dependences between iterations, through islpy (imported when it is first asked for: `library`).

A program's accesses become integer relations between loop iterations and elements; two accesses of one buffer become
one relation between the iterations that meet in an element.  That relation is made once for a program (kept with the
sites of its tree) and answers for all loops: may the iterations of a loop run in any order (`carried`), and may loops
be interchanged (`violated`)?  The answers are a `Conflict` (a *witness*: two iterations, and the element that both
touch), None, or `NotAffine`.

Invariant: declared regions are what counts; they contain all that a block touches.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ..arith import nodes as a
from ..arith.build import conjuncts, logical_not
from ..core.equal import same
from ..core.node import Node, post_order
from ..core.whole_import import import_whole
from ..tir import nodes as t
from .isl_text import NotAffine, Writer, bounds, relation, tuple_of
from .recovery import Touch, touches
from .tree import BlockSite, has_only_stores

__all__ = [
    "Conflict",
    "NotAffine",
    "available",
    "carried",
    "library",
    "overtaken",
    "runs_once",
    "uncovered",
    "violated",
]

_MANY = 4
"""With more loops than this, a witness names those apart first in which its two iterations differ."""


@dataclass(frozen=True)
class Conflict:
    """Two iterations of the program that touch one element, at least one of them writing it."""

    first: Touch
    second: Touch
    first_at: dict[str, int]
    second_at: dict[str, int]
    element: tuple[int, ...]

    @property
    def is_certain(self) -> bool:
        """Whether both iterations surely run: no condition was left out that may keep one from it."""
        return _runs_as_told(self.first.site) and _runs_as_told(self.second.site)

    def text(self) -> str:
        """iteration i=0, j=14 writes A[1, 13], which iteration i=1, j=13 reads"""
        element = f"{self.first.region.buffer.name}[{', '.join(map(str, self.element))}]"
        verb = "writes" if self.first.writes else "reads"
        other = "writes" if self.second.writes else "reads"
        too = " too" if verb == other else ""
        shared = {name for name, value in self.first_at.items() if self.second_at.get(name) == value}
        if len(self.first_at) <= _MANY or len(shared) == len(self.first_at):
            shared = set[str]()
        where = f" (both at {_at(self.first_at, shared)})" if shared else ""
        apart = set(self.first_at) - shared
        one, two = _at(self.first_at, apart), _at(self.second_at, apart)
        return f"iteration {one} {verb} {element}, which iteration {two} {other}{too}{where}"

    def distance(self) -> dict[str, int]:
        """How far apart the two iterations are along each loop."""
        return {name: self.second_at[name] - value for name, value in self.first_at.items()}

    def statements(self) -> tuple[Node, ...]:
        """The store or load that makes each of the two accesses."""
        return tuple(dict.fromkeys((_statement(self.first), _statement(self.second))))


def _at(values: dict[str, int], names: set[str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items() if name in names)


def _statement(touch: Touch) -> Node:
    """The store or load in a block's body that a region was declared for; the block where none is at that place."""
    found: Node | None = None
    for node in post_order(touch.site.block.body):
        if isinstance(node, t.BufferStore if touch.writes else t.BufferLoad) and node.buffer is touch.region.buffer:  # type: ignore[union-attr]
            if found is None or same(node.indices, tuple(axis.min for axis in touch.region.region)):  # type: ignore[union-attr]
                found = node
    return found if found is not None else touch.site.block


def available() -> bool:
    """Whether islpy is installed."""
    return importlib.util.find_spec("islpy") is not None


def library() -> Any:
    """The module islpy, for the analyses that ask it questions of their own.  Raises `NotAffine` without it."""
    if not available():
        raise NotAffine("islpy is not installed")
    return import_whole("islpy")


# --- relations ----------------------------------------------------------------------------------------------------


@dataclass
class _Relation:
    """One access: { [all loops of its block] -> [element] }."""

    touch: Touch
    map: Any
    loops: tuple[t.For, ...]


def loop_conditions(site: BlockSite, writer: Writer) -> list[str]:
    """The bounds of the loops around a block, and the conditions under which it runs, as far as they are affine, in
    isl's notation.  Raises `NotAffine`."""
    conditions = map(writer.condition, conditions_of(site))
    return [*bounds(writer, "x", site.loops), *(text for text in conditions if text is not None)]


def conditions_of(site: BlockSite) -> list[a.PrimExpr]:
    """What has to hold for a block to run, by its predicate and the statements around it."""
    found = conjuncts(site.realize.predicate)
    for stmt, inner in pairwise((*site.path, site.realize)):
        if isinstance(stmt, t.IfThenElse):
            found += conjuncts(stmt.condition if inner is stmt.then_case else logical_not(stmt.condition))
        elif isinstance(stmt, t.While):
            found += conjuncts(stmt.condition)
    return found


def _runs_as_told(site: BlockSite) -> bool:
    """Whether the relations of a block's accesses say exactly when it runs: all conditions are affine."""
    affine = Writer()
    return all(affine.condition(condition) is not None for condition in conditions_of(site))


def site_writer(site: BlockSite) -> Writer:
    """Names x0, x1, ... for the loops around a block, and what its iterators stand for."""
    return Writer(
        {id(loop.var): f"x{number}" for number, loop in enumerate(site.loops)},
        {id(iter_var.var): value for iter_var, value in site.bindings},
    )


def _relation(isl: Any, touch: Touch) -> _Relation:
    key = ("relation", id(touch.region))
    known = touch.site.facts.get(key)
    if known is not None:
        return _Relation(touch, known, touch.site.loops)
    site = touch.site
    writer = site_writer(site)
    region = touch.region.region
    conditions = [*loop_conditions(site, writer), *bounds(writer, "e", region)]
    body = f"[{tuple_of('x', len(site.loops))}] -> [{tuple_of('e', len(region))}]"
    made = site.facts[key] = isl.Map(relation(writer, body, conditions))
    return _Relation(touch, made, site.loops)


def _project(isl: Any, relation: _Relation, count: int) -> Any:
    """The relation over its first `count` loops only."""
    inner = relation.map.dim(isl.dim_type.in_) - count
    return relation.map.project_out(isl.dim_type.in_, count, inner)


@dataclass
class _Pair:
    """Which iterations of the loops around two accesses meet in an element; asked about one loop after another."""

    isl: Any
    one: _Relation
    other: _Relation
    left: Any
    right: Any
    stages: list[Any]
    """The meeting iterations x -> y that agree on the first 0, 1, 2, ... loops; made as far as was asked."""
    answers: dict[tuple[int, ...] | str, Any] = field(default_factory=dict[Any, Any])

    @property
    def depth(self) -> int:
        return self.left.dim(self.isl.dim_type.in_)

    def agreeing(self, count: int) -> Any:
        """The meeting iterations that agree on the first `count` loops."""
        while len(self.stages) <= count:
            at = len(self.stages) - 1
            kind = self.isl.dim_type
            self.stages.append(self.stages[-1].equate(kind.in_, at, kind.out, at))
        return self.stages[count]

    def ordered(self, base: int, smaller: Sequence[int], equal: Sequence[int], larger: Sequence[int]) -> Any:
        """Meeting iterations: x = y before `base` and at the loops `equal`, x < y at `smaller`, x > y at `larger`."""
        key = (base, *smaller, -1, *equal, -1, *larger)
        if key not in self.answers:
            kind = self.isl.dim_type
            found = self.agreeing(base)
            for at in equal:
                found = found.equate(kind.in_, at, kind.out, at)
            for at in smaller:
                found = found.order_lt(kind.in_, at, kind.out, at)
            for at in larger:
                found = found.order_gt(kind.in_, at, kind.out, at)
            self.answers[key] = None if found.is_empty() else found
        return self.answers[key]


def _pair(isl: Any, one: Touch, other: Touch) -> _Pair:
    key = ("pair", id(one.region), id(other.region), id(other.site))
    known = one.site.facts.get(key)
    if known is None:
        left, right = _relation(isl, one), _relation(isl, other)
        depth = _common(one.site, other.site)
        first, second = _project(isl, left, depth), _project(isl, right, depth)
        meeting = first.apply_range(second.reverse())
        known = one.site.facts[key] = _Pair(isl, left, right, first, second, [meeting])
    return known


# --- questions ----------------------------------------------------------------------------------------------------


def carried(
    loop: t.For,
    sites: Sequence[BlockSite],
    skip: frozenset[int] = frozenset(),
    excused: Callable[[Touch, Touch], bool] | None = None,
) -> Conflict | None:
    """Two different iterations of `loop` (outer loops standing still) in conflict, or None.

    `skip` names buffers (by identity) to leave out, `excused` says which pairs of accesses do not count.
    Raises `NotAffine`.
    """

    def found(pair: _Pair) -> Any:
        at = _depth(pair.one.touch.site, loop) - 1
        return pair.ordered(at, (at,), (), ())

    return _search(sites, skip, found, excused)


def violated(
    before: Sequence[t.For], after: Sequence[t.For], sites: Sequence[BlockSite], excused: Callable[[Touch, Touch], bool]
) -> Conflict | None:
    """Two iterations of the nest `before` whose order changes when the loops run as `after`, or None.

    `excused` says which pairs of accesses may change order (sums).  Raises `NotAffine`.
    """
    order = [next(i for i, loop in enumerate(before) if loop is item) for item in after]
    cases = _turned(order)

    def found(pair: _Pair) -> Any:
        base = _depth(pair.one.touch.site, before[0]) - 1
        for first, second, equal in cases:
            meeting = pair.ordered(base, (base + first,), tuple(base + at for at in equal), (base + second,))
            if meeting is not None:
                return meeting
        return None

    return _search(sites, frozenset(), found, excused)


def overtaken(chain: Sequence[t.For], parts: Sequence[Sequence[BlockSite]]) -> Conflict | None:
    """Two iterations of a nest in conflict, the earlier one in a later part of its body; or None.

    The body of the innermost loop of `chain` consists of `parts` in order.  Without such a pair the parts may as well
    run in nests of their own, one after the other, and nests like these may be merged.  Raises `NotAffine`.
    """
    number = {id(site): at for at, part in enumerate(parts) for site in part}

    def found(pair: _Pair) -> Any:
        if number[id(pair.one.touch.site)] <= number[id(pair.other.touch.site)]:
            return None
        base = _depth(pair.one.touch.site, chain[0]) - 1
        for at in range(len(chain)):
            meeting = pair.ordered(base, (base + at,), tuple(range(base, base + at)), ())
            if meeting is not None:
                return meeting
        return None

    return _search([site for part in parts for site in part], frozenset(), found, None)


def _turned(order: list[int]) -> list[tuple[int, int, tuple[int, ...]]]:
    """The ways in which x ran before y and now runs after it: (loop that told then, loop that tells now, equal loops).

    x ran before y if it is smaller at the first loop where they differ, in the old order; now y is smaller at the
    first loop where they differ in the new order, which must be another one.
    """
    cases: list[tuple[int, int, tuple[int, ...]]] = []
    for first in range(len(order)):
        for position, second in enumerate(order):
            earlier = order[:position]
            if second > first and first not in earlier:
                cases.append((first, second, tuple(sorted({*range(first), *earlier}))))
    return cases


def _depth(site: BlockSite, loop: t.For) -> int:
    return next(i for i, item in enumerate(site.loops) if item is loop) + 1


def _search(
    sites: Sequence[BlockSite],
    skip: frozenset[int],
    found: Callable[[_Pair], Any],
    excused: Callable[[Touch, Touch], bool] | None,
) -> Conflict | None:
    isl = library()
    for buffer, touched in touches(sites).items():
        if buffer in skip:
            continue
        for one in touched:
            for other in touched:
                if not (one.writes or other.writes):
                    continue
                if excused is not None and excused(one, other):
                    continue
                pair = _pair(isl, one, other)
                meeting = found(pair)
                if meeting is not None:
                    return _witness(pair, meeting, one, other)
    return None


def _witness(pair: _Pair, meeting: Any, one: Touch, other: Touch) -> Conflict:
    isl, depth = pair.isl, pair.depth
    point = meeting.wrap().sample_point()
    values = [int(str(point.get_coordinate_val(isl.dim_type.set, i))) for i in range(2 * depth)]
    first, second = values[:depth], values[depth:]
    element = _element(isl, pair.left, pair.right, first, second)
    names = [loop.var.name for loop in one.site.loops[:depth]]
    return Conflict(one, other, dict(zip(names, first, strict=True)), dict(zip(names, second, strict=True)), element)


def _element(isl: Any, left: Any, right: Any, first: list[int], second: list[int]) -> tuple[int, ...]:
    def image(relation: Any, at: list[int]) -> Any:
        for number, value in enumerate(at):
            relation = relation.fix_val(isl.dim_type.in_, number, isl.Val(value))
        return relation.range()

    shared = image(left, first).intersect(image(right, second))
    sample = shared.sample_point()
    count = shared.dim(isl.dim_type.set)
    return tuple(int(str(sample.get_coordinate_val(isl.dim_type.set, i))) for i in range(count))


def runs_once(site: BlockSite, inner: Sequence[t.For]) -> bool:
    """Whether no instance of a block runs twice while the loops `inner` run and those around stand still.

    Raises `NotAffine`.
    """
    isl = library()
    writer = site_writer(site)
    conditions = loop_conditions(site, writer)
    values = ", ".join(writer.expr(value) for _, value in site.bindings)
    held = ", ".join(f"x{i}" for i, loop in enumerate(site.loops) if all(loop is not item for item in inner))
    body = f"[{tuple_of('x', len(site.loops))}] -> [[{held}] -> [{values}]]"
    return bool(isl.Map(relation(writer, body, conditions)).is_injective())


def uncovered(loop: t.For, buffer: t.Buffer, sites: Sequence[BlockSite]) -> bool:
    """Whether some read of `buffer` inside `loop` may want an element not written before in the same iteration.

    Raises `NotAffine`.  Blocks count as writing all of their regions only if these are single elements.
    """
    isl = library()
    touched = touches(sites).get(id(buffer), [])
    writes = [touch for touch in touched if touch.writes and is_point(touch) and is_plain(touch.site)]
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


def is_point(touch: Touch) -> bool:
    """True for an access of a single element."""
    return all(isinstance(axis.extent, a.IntImm) and axis.extent.value == 1 for axis in touch.region.region)


def is_plain(site: BlockSite) -> bool:
    """A block whose stores run unconditionally."""
    return has_only_stores(site.block) and _runs_as_told(site)
