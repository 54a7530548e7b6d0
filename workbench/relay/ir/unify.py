"""Unification of relay types: making two types equal by finding what their unknown parts stand for.

An `IncompleteType` stands for any type and is bound at most once (union-find with path compression).  A dimension
`Any()` meets every dimension and stays `Any()`: the check is left to run time.  Type variables are rigid.

>>> from .types import IncompleteType, TensorType
>>> unknown, solver = IncompleteType(), Unifier()
>>> solver.unify(unknown, TensorType((2,), "int32"))
Tensor[(2), int32]
>>> solver.resolve(unknown)
Tensor[(2), int32]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any as AnyValue

from ...arith.nodes import PrimExpr
from ...arith.nodes import Var as DimensionVar
from ...core.equal import structural_equal
from ...core.node import Node, map_children, post_order, rewrite, substitute
from ...core.trampoline import Task, run
from . import types as t
from .dimension import dimension_text, substitute_dimensions
from .types import IncompleteType, Type


class Mismatch(Exception):
    """Two types cannot be made equal: the innermost parts that differ."""

    def __init__(self, left: AnyValue, right: AnyValue, reason: str) -> None:
        super().__init__(reason)
        self.left, self.right, self.reason = left, right, reason


class Unifier:
    """What unknown types stand for, so far."""

    def __init__(self) -> None:
        self._bound: dict[int, tuple[IncompleteType, Type]] = {}

    def shallow(self, found: Type) -> Type:
        """The type that `found` stands for, its parts left as they are."""
        passed: list[IncompleteType] = []
        while isinstance(found, IncompleteType) and id(found) in self._bound:
            passed.append(found)
            found = self._bound[id(found)][1]
        for one in passed[:-1]:
            self._bound[id(one)] = (one, found)
        return found

    def resolve(self, found: Type) -> Type:
        """`found` with every part that is known filled in."""
        return found if t.is_complete(found) else run(self._resolve(found, {}))

    def _resolve(self, found: Node, done: dict[int, Node]) -> Task:
        if isinstance(found, IncompleteType):
            target = self.shallow(found)
            return target if isinstance(target, IncompleteType) else (yield self._resolve(target, done))
        if not isinstance(found, Type) or isinstance(found, t.TypeVar) or t.is_complete(found):
            return found
        if id(found) not in done:
            parts: dict[int, Node] = {}
            for part in _parts(found):
                parts[id(part)] = yield self._resolve(part, done)
            done[id(found)] = map_children(found, lambda part: parts.get(id(part), part))
        return done[id(found)]

    def unify(self, left: Type, right: Type) -> Type:
        """A type that both stand for.  Raises `Mismatch`."""
        return run(self._unify(left, right))

    def _unify(self, left: Type, right: Type) -> Task:
        left, right = self.shallow(left), self.shallow(right)
        if left is right:
            return left
        if isinstance(left, IncompleteType):
            return self._bind(left, right)
        if isinstance(right, IncompleteType):
            return self._bind(right, left)
        left, right = _applied(left, right), _applied(right, left)
        if isinstance(left, t.TensorType) and isinstance(right, t.TensorType):
            return _unify_tensors(left, right)
        if isinstance(left, t.FuncType) and isinstance(right, t.FuncType):
            return (yield self._unify_functions(left, right))
        if isinstance(left, t.GlobalTypeVar) and isinstance(right, t.GlobalTypeVar):
            if left.name_hint == right.name_hint:
                return left
            raise Mismatch(left, right, "different data types")
        if type(left) is not type(right) or isinstance(left, t.TypeVar):
            raise Mismatch(left, right, "different kinds of type")
        return (yield self._unify_parts(left, right))

    def _unify_parts(self, left: Type, right: Type) -> Task:
        mine, theirs = _parts(left), _parts(right)
        if len(mine) != len(theirs):
            raise Mismatch(left, right, f"{len(mine)} parts against {len(theirs)}")
        joined: list[Type] = []
        for one, other in zip(mine, theirs, strict=True):
            joined.append((yield self._unify(one, other)))
        if all(new is old for new, old in zip(joined, mine, strict=True)):
            return left
        return _rebuilt(left, joined)

    def _unify_functions(self, left: t.FuncType, right: t.FuncType) -> Task:
        if bool(left.type_params) != bool(right.type_params):
            left, right = self.instantiate(left), self.instantiate(right)
        if len(left.type_params) != len(right.type_params) or len(left.arg_types) != len(right.arg_types):
            raise Mismatch(left, right, "functions of different arity")
        renamed = dict(zip(right.type_params, left.type_params, strict=True))
        right = substitute(right, renamed) if renamed else right
        arguments: list[Type] = []
        for one, other in zip(left.arg_types, right.arg_types, strict=True):
            arguments.append((yield self._unify(one, other)))
        result = yield self._unify(left.ret_type, right.ret_type)
        return t.FuncType(tuple(arguments), result, left.type_params)

    def _bind(self, unknown: IncompleteType, found: Type) -> Type:
        if isinstance(found, t.TensorType):
            self._bound[id(unknown)] = (unknown, found)
            return found
        whole = self.resolve(found)
        if not t.is_complete(whole) and any(part is unknown for part in post_order(whole)):
            raise Mismatch(unknown, whole, "a type cannot contain itself")
        self._bound[id(unknown)] = (unknown, whole)
        return whole

    def instantiate(self, found: t.FuncType, given: tuple[Type, ...] = ()) -> t.FuncType:
        """A polymorphic function type with its parameters replaced: by `given`, then by fresh unknowns."""
        if not found.type_params:
            return found
        fresh = [*given, *(IncompleteType(param.kind) for param in found.type_params[len(given) :])]
        plain = t.FuncType(found.arg_types, found.ret_type)
        return substitute(plain, dict(zip(found.type_params, fresh, strict=True)))


def _parts(found: Type) -> tuple[Type, ...]:
    """The types directly inside a composite type."""
    if isinstance(found, t.TupleType):
        return found.fields
    if isinstance(found, t.FuncType):
        return (*found.arg_types, found.ret_type)
    if isinstance(found, t.RefType):
        return (found.value,)
    if isinstance(found, t.TypeCall):
        return (found.function, *found.args)
    return ()


def _rebuilt(found: Type, parts: list[Type]) -> Type:
    if isinstance(found, t.TupleType):
        return t.TupleType(tuple(parts))
    if isinstance(found, t.RefType):
        return t.RefType(parts[0])
    return t.TypeCall(parts[0], tuple(parts[1:]))


def _applied(found: Type, partner: Type) -> Type:
    """A bare data type name beside an applied one is the application to nothing."""
    if isinstance(found, t.GlobalTypeVar) and isinstance(partner, t.TypeCall):
        return t.TypeCall(found, ())
    return found


def _unify_tensors(left: t.TensorType, right: t.TensorType) -> t.TensorType:
    if left.dtype != right.dtype:
        raise Mismatch(left, right, f"dtype {left.dtype} against {right.dtype}")
    if len(left.shape) != len(right.shape):
        raise Mismatch(left, right, f"{len(left.shape)} axes against {len(right.shape)}")
    shape: list[t.Dimension] = []
    for axis, (one, other) in enumerate(zip(left.shape, right.shape, strict=True)):
        joined = join_dimensions(one, other)
        if joined is None:
            raise Mismatch(left, right, f"axis {axis} is {dimension_text(one)} against {dimension_text(other)}")
        shape.append(joined)
    if all(new is old for new, old in zip(shape, left.shape, strict=True)):
        return left
    return t.TensorType(tuple(shape), left.dtype)


def join_dimensions(one: t.Dimension, other: t.Dimension) -> t.Dimension | None:
    """The dimension that both agree on: `Any()` if either is, None if they are known to differ."""
    if isinstance(one, t.Any):
        return one
    if isinstance(other, t.Any):
        return other
    if isinstance(one, int) and isinstance(other, int):
        return one if one == other else None
    if isinstance(one, PrimExpr) and isinstance(other, PrimExpr):
        return one if structural_equal(one, other) else None
    return None


def bind_dimensions(expected: Type, found: Type, rigid: set[int], bound: dict[int, AnyValue]) -> None:
    """Find what the symbolic dimensions of a parameter's type stand for at a call (first meeting decides).

    `bound` maps variables, by identity, to dimensions; the variables in `rigid` stand for themselves.
    """
    pairs: list[tuple[Type, Type]] = [(expected, found)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, t.TensorType) and isinstance(other, t.TensorType):
            for extent, actual in zip(one.shape, other.shape, strict=False):
                if isinstance(extent, DimensionVar) and id(extent) not in rigid:
                    bound.setdefault(id(extent), actual)
        elif isinstance(one, t.TupleType) and isinstance(other, t.TupleType):
            pairs.extend(reversed(list(zip(one.fields, other.fields, strict=False))))


def with_dimensions(found: Type, bound: Mapping[int, AnyValue]) -> Type:
    """`found` with symbolic dimensions replaced by what they stand for."""

    def post(part: Node) -> Node | None:
        if not isinstance(part, t.TensorType) or part.is_static:
            return None
        return t.TensorType(tuple(substitute_dimensions(extent, bound) for extent in part.shape), part.dtype)

    return rewrite(found, post)
