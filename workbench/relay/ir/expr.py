"""Relay expressions.

A program is a graph: an expression object used twice is computed once (sharing is part of the meaning).  `Let`
makes the order explicit.  Every expression knows its type: `checked_type` is computed from those of its operands when
it is first asked, and remembered.  What is remembered stands outside equality, text and pickles and is right for as
long as the expression lives, because expressions and the types of variables never change.  Inference over a program
(`infer_type`) finds the types of variables without annotation, and of what needs the module.

>>> x = Var("x", TensorType((2, 3)))
>>> Tuple((x, x)).checked_type
(Tensor[(2, 3), float32], Tensor[(2, 3), float32])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..._lazy import bundle_of, relay_binary, relay_cast, relay_unary
from ...core.arguments import unmasked
from ...core.equal import free_variables
from ...core.errors import WorkbenchError
from ...core.node import EMPTY, FrozenMap, Node, node
from ...core.tensor import Tensor
from .operator import Operator
from .operator_type import operator_type
from .tell import Clock, all_told, same_type, tell, told
from .types import FuncType, RefType, TensorType, TupleType, Type, TypeVar, scalar_type


class Expr(Node):
    """The base of relay expressions.  Operators build calls: `x + y` is ``add(x, y)``."""

    __slots__ = ("inferred",)
    inferred: Type | int
    """The type once it is known; else the tick at which it could not be told."""
    is_graph: ClassVar[bool] = True

    @property
    def checked_type(self) -> Type:
        """The type.  Raises `WorkbenchError` if operands do not fit, or if more than the operands must be known."""
        found = getattr(self, "inferred", None)
        if isinstance(found, Type):
            return found
        tell(self, strict=True)
        found = self.remembered_type
        if found is None:
            raise WorkbenchError(
                "E-TYPE-UNKNOWN",
                "the type of this expression is not known yet",
                found=repr(self),
                fix="run InferType()(mod)",
            )
        return found

    @property
    def type_or_none(self) -> Type | None:
        """The type, or None where it cannot be told from the operands."""
        found = getattr(self, "inferred", -1)
        if not isinstance(found, Type) and found != Clock.ticks:
            tell(self)
        return self.remembered_type

    @property
    def remembered_type(self) -> Type | None:
        """The type if it has been found already; nothing is computed."""
        found = getattr(self, "inferred", None)
        return found if isinstance(found, Type) else None

    @property
    def untold_at(self) -> int:
        """The tick at which the type could not be told; -1 if that was not tried."""
        found = getattr(self, "inferred", -1)
        return found if isinstance(found, int) else -1

    def asked_before(self) -> Sequence[Expr]:
        """The expressions whose types this one's rule reads."""
        return ()

    def told_type(self) -> Type | None:
        """The type by this expression's own rule from the remembered types of its operands; None where they do not
        tell it, or where inference has more to check.
        """
        return None

    def set_type(self, found: Type) -> None:
        """Remember the type (of variables; of all else inference only)."""
        object.__setattr__(self, "inferred", found)
        Clock.ticks += 1

    def astext(self, show_meta_data: bool = False) -> str:
        """The classic text of this expression (`script` is the Python-syntax one)."""
        from .classic import astext

        return astext(self, show_meta_data)

    def __call__(self, *args: Expr) -> Call:
        return Call(self, tuple(args))

    def __add__(self, other: Any) -> Expr:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> Expr:
        return _binary("add", other, self)

    def __sub__(self, other: Any) -> Expr:
        return _binary("subtract", self, other)

    def __rsub__(self, other: Any) -> Expr:
        return _binary("subtract", other, self)

    def __mul__(self, other: Any) -> Expr:
        return _binary("multiply", self, other)

    def __rmul__(self, other: Any) -> Expr:
        return _binary("multiply", other, self)

    def __truediv__(self, other: Any) -> Expr:
        return _binary("divide", self, other)

    def __rtruediv__(self, other: Any) -> Expr:
        return _binary("divide", other, self)

    def __neg__(self) -> Expr:
        return _unary("negative", self)

    def __lt__(self, other: Any) -> Expr:
        return _binary("less", self, other)

    def __le__(self, other: Any) -> Expr:
        return _binary("less_equal", self, other)

    def __gt__(self, other: Any) -> Expr:
        return _binary("greater", self, other)

    def __ge__(self, other: Any) -> Expr:
        return _binary("greater_equal", self, other)

    def astype(self, dtype: str) -> Expr:
        return relay_cast(self, dtype)

    def __getitem__(self, index: int) -> Expr:
        return TupleGetItem(self, index)

    def __iter__(self) -> Iterator[Expr]:
        """The items of an expression whose type is known to be a tuple (`a, b = relay.split(x, 2)`)."""
        found = self.checked_type
        if not isinstance(found, TupleType):
            raise WorkbenchError("E-TYPE-TUPLE", "only tuples have items", found=repr(found), expected="a tuple")
        return iter([TupleGetItem(self, index) for index in range(len(found.fields))])


def _as_tuples(made: Node, *names: str) -> None:
    """Fields given as lists (or left out as None), as the classic API allows, become tuples."""
    for name in names:
        value = getattr(made, name)
        if type(value) is not tuple:
            object.__setattr__(made, name, tuple(value or ()))


def _binary(name: str, a: Any, b: Any) -> Expr:
    return relay_binary(name, a, b)


def _unary(name: str, a: Expr) -> Expr:
    return relay_unary(name, a)


@node
class Var(Expr):
    """A parameter or a let-bound name; its annotation is its type when given."""

    name_hint: str
    type_annotation: Type | None = None
    is_variable: ClassVar[bool] = True
    renameable: ClassVar[tuple[str, ...]] = ("name_hint",)

    def __post_init__(self) -> None:
        if self.type_annotation is not None:
            object.__setattr__(self, "inferred", self.type_annotation)


@node
class GlobalVar(Expr):
    """A reference to a function of the module, by name; which object holds the name is no part of the meaning."""

    name_hint: str
    is_graph: ClassVar[bool] = False


@node
class Constant(Expr):
    """A tensor known at compile time; compared and printed by the fingerprint of its data, never by sharing."""

    data: Tensor
    is_graph: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "inferred", TensorType(self.data.shape, self.data.dtype))


@node
class Call(Expr):
    """`op` applied to `args`; `op` is an operator (with its attributes), a function, or an expression giving one."""

    op: Operator | Expr
    args: tuple[Expr, ...]
    type_args: tuple[Type, ...] = ()

    def __post_init__(self) -> None:
        _as_tuples(self, "args", "type_args")
        if isinstance(self.op, type):  # the classic API calls operators without attributes by `op.get(name)`
            object.__setattr__(self, "op", self.op())

    def asked_before(self) -> Sequence[Expr]:
        return (self.op, *self.args) if isinstance(self.op, Expr) else self.args

    def told_type(self) -> Type | None:
        types = all_told(self.args)
        if types is None:
            return None
        if isinstance(self.op, Operator):
            return operator_type(self.op, types, self.args)
        callee = told(self.op)
        if not isinstance(callee, FuncType) or callee.type_params or self.type_args:
            return None
        fits = len(types) == len(callee.arg_types) and all(map(same_type, types, callee.arg_types))
        return callee.ret_type if fits else None

    @property
    def attrs(self) -> Operator | None:
        """The operator, which holds its attributes; None for calls of functions."""
        return self.op if isinstance(self.op, Operator) else None


@node
class Function(Expr):
    """A function.  Attributes in use: ``Primitive`` (1: fused, becomes one kernel), ``hash``, ``name``."""

    params: tuple[Var, ...]
    body: Expr
    ret_type: Type | None = None
    type_params: tuple[TypeVar, ...] = ()
    attrs: FrozenMap = EMPTY
    binds: ClassVar[tuple[str, ...]] = ("params", "type_params")

    def __post_init__(self) -> None:
        _as_tuples(self, "params", "type_params")
        given: Any = self.attrs  # a dict or None in the classic API
        if not isinstance(given, FrozenMap):
            object.__setattr__(self, "attrs", FrozenMap(given or {}))

    def __str__(self) -> str:
        """The function's script: what ``print(function)`` shows."""
        from .script import script

        return script(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return bundle_of(self)

    def asked_before(self) -> Sequence[Expr]:
        return (*self.params, self.body)

    def told_type(self) -> Type | None:
        types, result = all_told(self.params), told(self.body)
        if types is None or result is None or (self.ret_type is not None and not same_type(self.ret_type, result)):
            return None
        return FuncType(types, result, self.type_params)

    @property
    def is_primitive(self) -> bool:
        return bool(self.attrs.get("Primitive", 0))

    def completed(self, module: Any, before: Node | None) -> None:
        """Infer the types that a pass has left open, if those of the function before it were known."""
        if self.type_or_none is None and (not isinstance(before, Expr) or before.type_or_none is not None):
            from .infer import infer_type

            infer_type(self, module)

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> Function:
        """This function with one attribute more (or those of a mapping)."""
        added = {key: value} if isinstance(key, str) else dict(key)
        return self.replace(attrs=FrozenMap({**self.attrs, **added}))

    def without_attr(self, key: str) -> Function:
        """This function without an attribute."""
        return self.replace(attrs=self.attrs.without(key))


@node
class Let(Expr):
    """`body` with `var` standing for the value of `value`, computed first."""

    var: Var
    value: Expr
    body: Expr
    binds: ClassVar[tuple[str, ...]] = ("var",)

    def asked_before(self) -> Sequence[Expr]:
        if self.var.remembered_type is None:
            found = told(self.value)
            if found is None:
                return (self.value,)
            self.var.set_type(found)
        return (self.value, self.body)

    def told_type(self) -> Type | None:
        types = all_told((self.var, self.value, self.body))
        return types[2] if types is not None and same_type(types[0], types[1]) else None


@node
class If(Expr):
    """One of two branches, by a scalar bool."""

    cond: Expr
    true_branch: Expr
    false_branch: Expr

    def asked_before(self) -> Sequence[Expr]:
        return (self.cond, self.true_branch, self.false_branch)

    def told_type(self) -> Type | None:
        types = all_told((self.cond, self.true_branch, self.false_branch))
        if types is None or not same_type(types[0], scalar_type("bool")):
            return None
        return types[1] if same_type(types[1], types[2]) else None


@node
class Tuple(Expr):
    fields: tuple[Expr, ...]

    def __post_init__(self) -> None:
        _as_tuples(self, "fields")

    def asked_before(self) -> Sequence[Expr]:
        return self.fields

    def told_type(self) -> Type | None:
        types = all_told(self.fields)
        return None if types is None else TupleType(types)


@node
class TupleGetItem(Expr):
    tuple_value: Expr
    index: int

    def asked_before(self) -> Sequence[Expr]:
        return (self.tuple_value,)

    def told_type(self) -> Type | None:
        whole = told(self.tuple_value)
        inside = isinstance(whole, TupleType) and 0 <= self.index < len(whole.fields)
        return whole.fields[self.index] if inside and isinstance(whole, TupleType) else None


@node
class RefCreate(Expr):
    """A new mutable cell holding `value`."""

    value: Expr

    def asked_before(self) -> Sequence[Expr]:
        return (self.value,)

    def told_type(self) -> Type | None:
        held = told(self.value)
        return None if held is None else RefType(held)


@node
class RefRead(Expr):
    ref: Expr

    def asked_before(self) -> Sequence[Expr]:
        return (self.ref,)

    def told_type(self) -> Type | None:
        cell = told(self.ref)
        return cell.value if isinstance(cell, RefType) else None


@node
class RefWrite(Expr):
    ref: Expr
    value: Expr

    def asked_before(self) -> Sequence[Expr]:
        return (self.ref, self.value)

    def told_type(self) -> Type | None:
        cell, held = told(self.ref), told(self.value)
        fits = isinstance(cell, RefType) and held is not None and same_type(cell.value, held)
        return TupleType(()) if fits else None


@node
class Constructor(Expr):
    """A constructor of an ADT of the module, by name; called like a function."""

    name_hint: str
    belong_to: str
    is_graph: ClassVar[bool] = False


class Pattern(Node):
    """The base of match patterns."""

    __slots__ = ()


@node
class PatternWildcard(Pattern):
    """Matches anything."""


@node
class PatternVar(Pattern):
    """Matches anything and names it."""

    var: Var
    binds: ClassVar[tuple[str, ...]] = ("var",)


@node
class PatternConstructor(Pattern):
    """Matches values made by a constructor."""

    constructor: Constructor
    patterns: tuple[Pattern, ...]


@node
class PatternTuple(Pattern):
    patterns: tuple[Pattern, ...]


@node
class Clause(Node):
    """One case of a match."""

    lhs: Pattern
    rhs: Expr


@node
class Match(Expr):
    """The right side of the first clause that fits; `complete` promises that one does."""

    data: Expr
    clauses: tuple[Clause, ...]
    complete: bool = True

    def __post_init__(self) -> None:
        _as_tuples(self, "clauses")


def const(value: Any, dtype: str | None = None) -> Constant:
    """A constant of a number, sequence or array.  Python floats become float32, ints int32 (classic rule)."""
    if isinstance(value, Tensor):
        return Constant(value)
    array = np.asarray(unmasked(value))
    if dtype is None and not isinstance(value, (np.ndarray, np.generic)):
        dtype = {"f": "float32", "i": "int32"}.get(array.dtype.kind)
    return Constant(Tensor.of(array, dtype))


def var(name_hint: str, type_annotation: Type | None = None, shape: Any = None, dtype: str = "float32") -> Var:
    """A variable; give its type, or shape and dtype, or neither."""
    if type_annotation is not None and shape is not None:
        raise WorkbenchError("E-RELAY-VAR", "give either type_annotation or shape, not both", where=f"var {name_hint}")
    if shape is not None:
        type_annotation = TensorType(tuple(shape), dtype)  # type: ignore[arg-type]
    elif isinstance(type_annotation, str):
        type_annotation = TensorType((), type_annotation)  # type: ignore[arg-type]
    return Var(name_hint, type_annotation)


def as_function(expr: Expr) -> Function:
    """A function of the expression's free variables, in order of first use; functions stay as they are."""
    if isinstance(expr, Function):
        return expr
    free = tuple(variable for variable in free_variables(expr) if isinstance(variable, Var))
    return Function(free, expr)
