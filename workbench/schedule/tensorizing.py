"""Comparing a tile of a program with the description of a tensor intrinsic; putting the implementation in its place.

The comparison is exact: the same loops with the same extents, the same iterators, the same expressions; only names,
loops and iterators over one value, and the place of a buffer's tile in its buffer may differ.  Invariant of a match:
an access at `index` of a description's buffer is one at `base + index` of the program's, where `base` does not change
inside the tile; axes that the description does not have stand still there.  These are the leading ones, unless just as
many as the description has do move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..arith import build
from ..arith import nodes as a
from ..arith.forms import Form
from ..arith.nodes import PrimExpr, Var, literal
from ..arith.scope import Scope
from ..core.node import Node, children, pre_order, rewrite, substitute
from ..tir import nodes as t
from ..tir.script import script
from ..tir.tensor_intrin.registry import TensorIntrin
from .errors import refuse
from .surgery import Names

CODE = "E-SCHEDULE-TENSORIZE"


@dataclass(frozen=True)
class Place:
    """Where a description's buffer lies: in a buffer of the program, from these indices on."""

    buffer: t.Buffer
    base: tuple[PrimExpr, ...]
    forms: tuple[Form, ...]
    axes: tuple[int, ...]
    """The program's axes that are those of the description, in order."""


@dataclass
class Match:
    """The comparison of one tile with one description."""

    intrinsic: TensorIntrin
    block: t.Block
    scope: Scope
    """Knows the iterators of the block around."""
    originals: tuple[t.For | t.Block, ...]
    """The block and the loops of the tile, as they stand in the program."""
    variables: dict[Any, Any] = field(default_factory=dict[Any, Any])
    places: dict[int, Place] = field(default_factory=dict[int, Place])
    """By the identity of a buffer of the description."""
    inside: set[int] = field(default_factory=set[int])
    """Atoms of the variables of the tile's own loops and iterators, in the program."""
    units: dict[Any, Any] = field(init=False)
    """Values of the outer block's iterators over one value."""

    def __post_init__(self) -> None:
        self.units = {
            item.var: item.dom.min for item in self.block.iter_vars if literal(item.dom.extent, 0) == 1
        }

    def statements(self, described: t.Stmt, actual: t.Stmt) -> None:
        """Compare two statements.  Raises `ScheduleError` at the first difference."""
        stack: list[tuple[Any, Any]] = [(without_units(described), without_units(actual))]
        while stack:
            one, other = stack.pop()
            if isinstance(one, PrimExpr):
                self._expression(one, other, stack)
                continue
            if type(one) is not type(other):
                self._differ("the statements differ", other, one)
            rule = _RULES.get(type(one))
            if rule is None:
                self._differ(f"the description holds a {type(one).__name__}", other, one)
            stack.extend(reversed(rule(self, one, other)))

    # --- statements ---

    def _loop(self, one: t.For, other: t.For) -> list[tuple[Any, Any]]:
        if one.kind is not other.kind:
            self._differ(f"loop {other.var.name} is {other.kind.value}", other, one)
        if not self._equal(one.extent, other.extent) or not self._equal(one.min, other.min):
            self._differ(f"loop {other.var.name} has another extent", other.extent, one.extent, other)
        self.variables[one.var] = other.var
        self.inside.add(self.scope.atoms.variable_number(other.var))
        return [(one.body, other.body)]

    def _realize(self, one: t.BlockRealize, other: t.BlockRealize) -> list[tuple[Any, Any]]:
        mine, its = one.block.iter_vars, other.block.iter_vars
        kinds = "".join(item.kind.value for item in mine), "".join(item.kind.value for item in its)
        if kinds[0] != kinds[1]:
            raise self._refusal("the iterators differ", kinds[1] or "none", kinds[0] or "none", other)
        pairs: list[tuple[Any, Any]] = []
        for left, right, value, actual in zip(mine, its, one.iter_values, other.iter_values, strict=True):
            if not self._equal(left.dom.extent, right.dom.extent):
                self._differ(f"iterator {right.var.name} has another extent", right.dom.extent, left.dom.extent, other)
            pairs.append((value, actual))
            self.variables[left.var] = right.var
            self.inside.add(self.scope.atoms.variable_number(right.var))
        return [*pairs, (one.predicate, other.predicate), (one.block.body, other.block.body)]

    def _sequence(self, one: t.SeqStmt, other: t.SeqStmt) -> list[tuple[Any, Any]]:
        if len(one.stmts) != len(other.stmts):
            self._differ(f"there are {len(other.stmts)} statements for {len(one.stmts)}", other, one)
        return list(zip(one.stmts, other.stmts, strict=True))

    def _store(self, one: t.BufferStore, other: t.BufferStore) -> list[tuple[Any, Any]]:
        self._access(one, other)
        return [(one.value, other.value)]

    def _if(self, one: t.IfThenElse, other: t.IfThenElse) -> list[tuple[Any, Any]]:
        if (one.else_case is None) != (other.else_case is None):
            self._differ("one of the conditions has an else", other, one)
        pairs: list[tuple[Any, Any]] = [(one.condition, other.condition), (one.then_case, other.then_case)]
        return pairs if one.else_case is None else [*pairs, (one.else_case, other.else_case)]

    def _let(self, one: t.LetStmt, other: t.LetStmt) -> list[tuple[Any, Any]]:
        self.variables[one.var] = other.var
        self.inside.add(self.scope.atoms.variable_number(other.var))
        return [(one.value, other.value), (one.body, other.body)]

    # --- expressions ---

    def _expression(self, one: PrimExpr, other: Any, stack: list[tuple[Any, Any]]) -> None:
        if isinstance(one, t.BufferLoad) and isinstance(other, t.BufferLoad):
            self._access(one, other)
            return
        if one.dtype.is_integer and isinstance(other, PrimExpr) and self._equal(one, other):
            return
        if type(one) is not type(other) or one.dtype != other.dtype:
            self._differ("the expressions differ", other, one)
        if isinstance(one, Var):
            if self.variables.get(one) is not other:
                self._differ("the variables differ", other, one)
            return
        names = [name for name in one.field_names if not _holds_nodes(getattr(one, name))]
        if any(getattr(one, name) != getattr(other, name) for name in names):
            self._differ("the expressions differ", other, one)
        mine, its = children(one), children(other)
        if len(mine) != len(its):
            self._differ("the expressions differ", other, one)
        stack.extend(reversed(list(zip(mine, its, strict=True))))

    def _access(self, one: t.BufferLoad | t.BufferStore, other: t.BufferLoad | t.BufferStore) -> None:
        buffer, actual = one.buffer, other.buffer
        if buffer.dtype != actual.dtype:
            raise self._refusal(
                f"{actual.name} holds another dtype", f"{actual.dtype}", f"{buffer.dtype} ({buffer.name})", other
            )
        extra = len(actual.shape) - len(buffer.shape)
        if extra < 0:
            raise self._refusal(
                f"{actual.name} has too few axes", f"{len(actual.shape)}", f"{len(buffer.shape)} ({buffer.name})", other
            )
        found = [self._form(index) for index in other.indices]
        axes = self._axes(found, len(buffer.shape))
        wanted = [Form({}, 0)] * len(found)
        for axis, index in zip(axes, one.indices, strict=True):
            wanted[axis] = self._form(substitute(index, self.variables))
        forms = tuple(form.minus(expected) for form, expected in zip(found, wanted, strict=True))
        known = self.places.get(id(buffer))
        moves = [form for form in forms if self.scope.moves(form, self.inside)]
        fits = known is None or (
            known.buffer is actual
            and known.axes == axes
            and all(form.same_as(base) for form, base in zip(forms, known.forms, strict=True))
        )
        if moves or not fits:
            self._differ(f"{actual.name} is accessed in another way", other, one)
        if known is None:
            self.places[id(buffer)] = Place(actual, tuple(map(self.scope.index, forms)), forms, axes)

    def _axes(self, forms: list[Form], count: int) -> tuple[int, ...]:
        """Which of a buffer's axes are the `count` ones of the description."""
        moving = tuple(axis for axis, form in enumerate(forms) if self.scope.moves(form, self.inside))
        return moving if len(moving) == count else tuple(range(len(forms) - count, len(forms)))

    def _form(self, expr: PrimExpr) -> Form:
        return self.scope.linear(expr)

    def _equal(self, one: PrimExpr, other: PrimExpr) -> bool:
        if one.dtype != other.dtype or not one.dtype.is_integer or one.dtype.is_vector:
            return False
        return self._form(substitute(one, self.variables)).same_as(self._form(substitute(other, self.units)))

    # --- refusals ---

    def _differ(self, message: str, actual: Node, described: Node, at: Node | None = None) -> NoReturn:
        raise self._refusal(message, _line(actual), _line(described), at or actual)

    def _refusal(self, message: str, found: str, expected: str, at: Node) -> Exception:
        wanted = id(at.var) if isinstance(at, t.For) else None
        where = next(
            (item for item in self.originals if isinstance(item, t.For) and id(item.var) == wanted), self.originals[0]
        )
        return refuse(
            CODE, f"{self.block.name} is not what tensor intrinsic {self.intrinsic.name} computes: {message}",
            found=found, expected=f"{expected}, as in the description",
            fix="split and reorder until the loops inside are those of the description", nodes=(where,),
        )  # fmt: skip


_RULES: dict[type, Any] = {
    t.For: Match._loop,
    t.BlockRealize: Match._realize,
    t.SeqStmt: Match._sequence,
    t.BufferStore: Match._store,
    t.IfThenElse: Match._if,
    t.LetStmt: Match._let,
    t.Evaluate: lambda self, one, other: [(one.value, other.value)],
}


def _holds_nodes(value: Any) -> bool:
    return isinstance(value, Node) or (isinstance(value, tuple) and any(isinstance(item, Node) for item in value))


def _line(node: Node) -> str:
    lines = [line.strip() for line in script(node).strip().split("\n") if line.strip()]
    return lines[0] if lines else type(node).__name__


def without_units(root: t.Stmt) -> t.Stmt:
    """`root` without loops and block iterators that take one value only."""
    values: dict[Any, Any] = {}

    def post(node: Any) -> Any:
        if isinstance(node, t.For) and _is_one(node.extent) and not node.thread:
            values[node.var] = node.min
            return node.body
        if isinstance(node, t.BlockRealize) and any(_is_one(item.dom.extent) for item in node.block.iter_vars):
            kept = [
                (item, value)
                for item, value in zip(node.block.iter_vars, node.iter_values, strict=True)
                if not _is_one(item.dom.extent)
            ]
            values.update({item.var: item.dom.min for item in node.block.iter_vars if _is_one(item.dom.extent)})
            block = node.block.replace(iter_vars=tuple(item for item, _ in kept))
            return node.replace(iter_values=tuple(value for _, value in kept), block=block)
        return None

    made = rewrite(root, post, lambda node: node if isinstance(node, t.Buffer) else None)
    return substitute(made, values) if values else made


def _is_one(extent: PrimExpr) -> bool:
    return isinstance(extent, a.IntImm) and extent.value == 1


# --- the implementation -------------------------------------------------------------------------------------------


def implementation(match: Match, function: t.PrimFunc, names: Names) -> tuple[t.Stmt, tuple[t.Buffer, ...]]:
    """(what `function` does, on the program's buffers, with names of its own; buffers to be allocated for it)."""
    body = function.body
    allocated: tuple[t.Buffer, ...] = ()
    if isinstance(body, t.BlockRealize) and not body.block.iter_vars and body.block.name == "root":
        allocated, body = body.block.alloc_buffers, body.block.body
    places: dict[int, Place] = {}
    scalars: dict[Any, Any] = {}
    for described, own in zip(match.intrinsic.desc.params, function.params, strict=True):
        place = match.places.get(id(described))
        if isinstance(own, t.Buffer) and place is not None:
            places[id(own)] = place
            scalars.update(_layout(own, place))
    body = _own_names(body, names)

    def post(node: Any) -> Any:
        if not isinstance(node, (t.BufferLoad, t.BufferStore)):
            return None
        place = places.get(id(node.buffer))
        if place is None:
            _require_own(match, node.buffer, function)
            return None
        return node.replace(buffer=place.buffer, indices=_moved(place, node.indices))

    made = rewrite(body, post, lambda node: node if isinstance(node, t.Buffer) else None)
    made = rewrite(made, lambda node: _moved_region(node, places))
    return substitute(made, scalars) if scalars else made, allocated


def _require_own(match: Match, buffer: t.Buffer, function: t.PrimFunc) -> None:
    if any(buffer is parameter for parameter in function.params):
        raise refuse(
            CODE, f"tensor intrinsic {match.intrinsic.name} uses {buffer.name}, which its description does not",
            found=f"{buffer.name} in the implementation", expected="buffers that the description accesses",
            fix="access it in the description, or leave it out", nodes=(match.originals[0],),
        )  # fmt: skip


def _moved(place: Place, indices: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
    moved = list(place.base)
    for axis, index in zip(place.axes, indices, strict=True):
        moved[axis] = _shifted(place.base[axis], index)
    return tuple(moved)


def _shifted(base: PrimExpr, index: PrimExpr) -> PrimExpr:
    if isinstance(index, a.Ramp):
        return a.Ramp(build.add(base, index.base), index.stride, index.lanes)
    if index.dtype.is_vector:
        return build.add(a.Broadcast(base, index.dtype.lanes), index)
    return build.add(base, index)


def _moved_region(node: Any, places: dict[int, Place]) -> Any:
    if not isinstance(node, t.BufferRegion) or id(node.buffer) not in places:
        return None
    place = places[id(node.buffer)]
    moved = [t.Range(base, build.const(1)) for base in place.base]
    for number, axis in zip(place.axes, node.region, strict=True):
        moved[number] = t.Range(build.add(place.base[number], axis.min), axis.extent)
    return t.BufferRegion(place.buffer, tuple(moved))


def _layout(own: t.Buffer, place: Place) -> dict[Any, Any]:
    """What variables among a buffer's strides and in its offset stand for."""
    strides: list[PrimExpr] = []
    step: PrimExpr = build.const(1)
    for extent in reversed(place.buffer.shape):
        strides.append(step)
        step = build.multiply(step, extent)
    actual = list(place.buffer.strides) or list(reversed(strides))
    found: dict[Any, Any] = {}
    for mine, axis in zip(own.strides, place.axes, strict=False):
        if isinstance(mine, Var):
            found[mine] = actual[axis]
    if isinstance(own.elem_offset, Var):
        total: PrimExpr = build.const(0)
        for base, its in zip(place.base, actual, strict=True):
            total = build.add(total, build.multiply(base, its))
        found[own.elem_offset] = total
    return found


def _own_names(body: t.Stmt, names: Names) -> t.Stmt:
    """`body` with variables, buffers and blocks of its own: an implementation may be used many times."""
    mapping: dict[Any, Any] = {}
    for node in pre_order(body):
        bound = [getattr(node, name) for name in node.binds]
        for item in (part for value in bound for part in (value if isinstance(value, tuple) else (value,))):
            if isinstance(item, (Var, t.Buffer)):
                mapping[item] = item.replace(name=names.fresh(item.name))
    made = substitute(body, mapping) if mapping else body

    def renamed(node: Any) -> Any:
        return node.replace(name=names.fresh(node.name)) if isinstance(node, t.Block) else None

    return rewrite(made, renamed, lambda node: node if isinstance(node, t.Buffer) else None)
