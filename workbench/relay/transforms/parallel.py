"""Combining calls that read the same data into one larger call, of which each reader takes its part.

    conv(x, w0), conv(x, w1), conv(x, w2)   ->   y = conv(x, concatenate(w0, w1, w2));  y[0:a], y[a:b], y[b:c]

What follows in every branch alike (bias, relu) is combined as well, until the branches differ.  A pass says by a
`Kind` which calls fit together and how their operands are joined; this module finds the groups and rebuilds.

Calls are combined within one block, and only if what they read besides the data depends on no candidate: so no
combined call can come to depend on itself.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...core import origin, rewrite
from ...core.equal import structural_equal
from ...core.errors import WorkbenchError
from .. import op as relay
from ..ir import expr as e
from ..ir.operator import Fusion, Operator
from ..ir.plan import LEAVES, Plan, expressions, operands
from ..ir.types import TensorType
from .rules import is_kernel, rebuild

COMBINE = rewrite.step("combine", "Calls on the same data become one call, of which each branch takes its part.")

Shape = tuple[int, ...]


class Kind(Protocol):
    """What calls are combined, and how."""

    def fits(self, call: e.Call) -> Any:
        """What calls that may be combined have in common (hashable); None if this one may not be."""
        ...

    def combined(self, data: e.Expr, calls: Sequence[e.Call]) -> e.Expr:
        """One call for all."""
        ...

    def joined(self, reader: e.Call, others: Sequence[e.Expr], calls: Sequence[e.Call]) -> e.Expr | None:
        """The other operands of an operator that follows in every branch, as one operand; None if they do not fit."""
        ...

    def parts(self, whole: e.Expr, calls: Sequence[e.Call]) -> list[e.Expr]:
        """Each branch's part of a combined result."""
        ...


@dataclass(frozen=True)
class Level:
    """Operators that follow alike in every branch: which operand comes from the branch, and the other one, joined."""

    readers: tuple[e.Call, ...]
    operand: int
    other: e.Expr | None


@dataclass(frozen=True)
class Group:
    """Calls to combine and the operators after them that are combined too."""

    calls: tuple[e.Call, ...]
    levels: tuple[Level, ...]

    @property
    def ends(self) -> tuple[e.Call, ...]:
        return self.levels[-1].readers if self.levels else self.calls


def checked_branches(number: Any) -> int:
    """The option min_num_branches.  Raises `WorkbenchError` unless it is an int of at least 2."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 2:
        raise WorkbenchError(
            "E-PASS-OPTION", "min_num_branches must be an int of at least 2", found=repr(number), expected="3"
        )
    return number


def combine(func: e.Function, kind: Kind, least: int) -> e.Function:
    """The function with groups of at least `least` calls combined."""
    checked_branches(least)
    if func.is_primitive:
        return func
    groups = _Finder(func, kind).groups(least)
    if not groups:
        return func
    owner = {id(end): (group, at) for group in groups for at, end in enumerate(group.ends)}
    made: dict[int, list[e.Expr]] = {}
    news: dict[int, e.Expr] = {}

    def visit(old: e.Expr, new: e.Expr) -> e.Expr | None:
        answer = None
        if id(old) in owner:
            group, at = owner[id(old)]
            if id(group) not in made:
                made[id(group)] = _build(kind, group, news[id(group.calls[0].args[0])])
            answer = made[id(group)][at]
        news[id(old)] = new if answer is None else answer
        return answer

    return rebuild(func, visit, into_kernels=False)


def _build(kind: Kind, group: Group, data: e.Expr) -> list[e.Expr]:
    started = time.perf_counter_ns()
    whole = kind.combined(data, group.calls)
    origin.derived(whole, *group.calls)
    for level in group.levels:
        whole = _again(level, whole)
        origin.derived(whole, *level.readers)
    found = kind.parts(whole, group.calls)
    for part, end in zip(found, group.ends, strict=True):
        origin.derived(part, end)
    rewrite.fired(COMBINE, group.calls[0], whole, started)
    return found


def _again(level: Level, whole: e.Expr) -> e.Expr:
    reader = level.readers[0]
    if level.other is None:
        return relay.call(type(_operator(reader)), whole, **_operator(reader).attributes)
    pair = (whole, level.other) if level.operand == 0 else (level.other, whole)
    name = "add" if _operator(reader).name == "nn.bias_add" else _operator(reader).name
    return relay.call(name, *pair)


def _operator(call: e.Call) -> Operator:
    assert isinstance(call.op, Operator)
    return call.op


class _Finder:
    """Looks for groups in one function."""

    def __init__(self, func: e.Function, kind: Kind) -> None:
        self.kind = kind
        self.plan = Plan(func)
        self.order = [expr for expr in expressions(func, into_kernels=False) if not isinstance(expr, LEAVES)]
        self.keys: dict[int, Any] = {}
        self.dependent: set[int] = set()
        """Candidates and all that depends on one."""
        self.reader: dict[int, e.Expr] = {}
        for expr in self.order:
            self._meet(expr)

    def _meet(self, expr: e.Expr) -> None:
        if is_kernel(expr):
            return
        below = operands(expr)
        for operand in below:
            self.reader[id(operand)] = expr
        if isinstance(expr, e.Call) and isinstance(expr.op, Operator):
            typed = all(argument.type_or_none is not None for argument in expr.args)
            key = self.kind.fits(expr) if typed else None
            if key is not None:
                self.keys[id(expr)] = key
        if id(expr) in self.keys or any(id(operand) in self.dependent for operand in below):
            self.dependent.add(id(expr))

    def groups(self, least: int) -> list[Group]:
        """All groups of at least so many calls, in the order of their first call."""
        found: dict[Any, list[e.Call]] = {}
        for expr in self.order:
            if id(expr) in self.keys and isinstance(expr, e.Call) and self._independent(expr.args[1:]):
                place = id(self.plan.place[id(expr)])
                found.setdefault((id(expr.args[0]), place, self.keys[id(expr)]), []).append(expr)
        chosen = [tuple(calls) for calls in found.values() if len(calls) >= least]
        return [Group(calls, self._levels(calls)) for calls in chosen]

    def _independent(self, exprs: Sequence[e.Expr]) -> bool:
        return not any(id(expr) in self.dependent for expr in exprs)

    def _levels(self, calls: tuple[e.Call, ...]) -> tuple[Level, ...]:
        found: list[Level] = []
        ends: tuple[e.Call, ...] = calls
        while True:
            level = self._next(ends, calls)
            if level is None:
                return tuple(found)
            found.append(level)
            ends = level.readers

    def _next(self, ends: tuple[e.Call, ...], calls: tuple[e.Call, ...]) -> Level | None:
        """The operators that alone read the ends of all branches, if they are alike."""
        readers = tuple(self.reader.get(id(end)) for end in ends)
        known = tuple(reader for reader in readers if isinstance(reader, e.Call) and isinstance(reader.op, Operator))
        if len(known) < len(ends) or any(self.plan.uses[id(end)] != 1 for end in ends):
            return None
        if any(self.plan.place[id(reader)] is not self.plan.place[id(calls[0])] for reader in known):
            return None
        first = known[0]
        places = {next(at for at, argument in enumerate(reader.args) if argument is end)
                  for reader, end in zip(known, ends, strict=True)}  # fmt: skip
        alike = all(structural_equal(reader.op, first.op) and len(reader.args) == len(first.args) for reader in known)
        if not alike or len(places) != 1 or len(first.args) > 2:
            return None
        return self._level(known, ends, places.pop(), calls)

    def _level(
        self, readers: tuple[e.Call, ...], ends: tuple[e.Call, ...], at: int, calls: tuple[e.Call, ...]
    ) -> Level | None:
        operator = _operator(readers[0])
        if any(reader.type_or_none is None or _shape(reader) != _shape(end)
               for reader, end in zip(readers, ends, strict=True)):  # fmt: skip
            return None
        if len(readers[0].args) == 1:
            return Level(readers, 0, None) if operator.fusion is Fusion.ELEMWISE else None
        if operator.fusion is not Fusion.BROADCAST or (operator.field_names and operator.name != "nn.bias_add"):
            return None
        others = [reader.args[1 - at] for reader in readers]
        if not self._independent(others):
            return None
        joined = self.kind.joined(readers[0], others, calls)
        return None if joined is None else Level(readers, at, joined)


def _shape(expr: e.Expr) -> Any:
    found = expr.type_or_none
    return found.shape if isinstance(found, TensorType) else None


# --- what kinds share ---------------------------------------------------------------------------------------------


def static_shape(expr: e.Expr) -> Shape | None:
    """The shape of a tensor whose extents are all known."""
    found = expr.type_or_none
    return found.concrete_shape if isinstance(found, TensorType) and found.is_static else None


def known_shape(expr: e.Expr) -> Shape:
    """The shape of a tensor of which `static_shape` has been asked already."""
    found = static_shape(expr)
    assert found is not None
    return found


def joined_along(
    reader: e.Call, others: Sequence[e.Expr], extents: Sequence[int], axis: int, rank: int
) -> e.Expr | None:
    """Operands that broadcast against parts of a tensor, as one that broadcasts against the whole.

    The parts have `extents` along `axis` of `rank` axes.  Operands that vary along it are concatenated; one that
    does not must be the same in every branch.
    """
    operator = _operator(reader)
    if operator.name == "nn.bias_add":
        if operator.attributes["axis"] % rank != axis:
            return None
        return _wide(concatenated(others, 0), rank - 1 - axis)
    shapes = [static_shape(other) for other in others]
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    from_end = rank - axis
    if all(len(shape) >= from_end and shape[-from_end] == extent for shape, extent in zip(known, extents, strict=True)):
        rest = {(*shape[:-from_end], *shape[len(shape) - from_end + 1 :]) for shape in known}
        return concatenated(others, len(known[0]) - from_end) if len(rest) == 1 else None
    shared = all(same_value(other, others[0]) for other in others)
    return others[0] if shared and _constant_along(known[0], from_end) else None


def _constant_along(shape: Shape, from_end: int) -> bool:
    return len(shape) < from_end or shape[-from_end] == 1


def _wide(vector: e.Expr, after: int) -> e.Expr:
    return relay.call("expand_dims", vector, axis=1, num_newaxis=after) if after else vector


def same_value(one: e.Expr, other: e.Expr) -> bool:
    """Whether two operands are the same expression or equal constants."""
    if one is other:
        return True
    return isinstance(one, e.Constant) and isinstance(other, e.Constant) and one.data == other.data


def concatenated(parts: Sequence[e.Expr], axis: int) -> e.Expr:
    return relay.call("concatenate", e.Tuple(tuple(parts)), axis=axis)


def slices(whole: e.Expr, extents: Sequence[int], axis: int) -> list[e.Expr]:
    """Consecutive parts of a tensor along an axis."""
    found: list[e.Expr] = []
    begin = 0
    for extent in extents:
        found.append(relay.call("strided_slice", whole, begin=(begin,), end=(begin + extent,), axes=(axis,)))
        begin += extent
    return found
