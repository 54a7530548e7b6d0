"""Relay expressions.

A program is a graph: an expression object used twice is computed once (sharing is part of the meaning).  `Let`
makes the order explicit.  Every expression carries `checked_type` once inference has been there; it is a cache
outside equality, right for as long as the expression lives, because expressions and the types of variables never
change.

>>> x = Var("x", TensorType((2, 3)))
>>> Tuple((x, x)).fields[0] is x
True
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from ...core.equal import free_variables
from ...core.errors import WorkbenchError
from ...core.node import EMPTY, FrozenMap, Node, node
from ...core.tensor import Tensor
from .operator import Operator
from .types import TensorType, TupleType, Type, TypeVar


class Expr(Node):
    """The base of relay expressions.  Operators build calls: `x + y` is ``add(x, y)``."""

    __slots__ = ("inferred",)
    inferred: Type
    is_graph: ClassVar[bool] = True

    @property
    def checked_type(self) -> Type:
        """The type found by inference.  Raises `WorkbenchError` before it has run."""
        known = getattr(self, "inferred", None)
        if known is None:
            raise WorkbenchError(
                "E-TYPE-UNKNOWN",
                "the type of this expression is not known yet",
                found=repr(self),
                fix="run InferType()(mod)",
            )
        return known

    @property
    def type_or_none(self) -> Type | None:
        return getattr(self, "inferred", None)

    def astext(self, show_meta_data: bool = False) -> str:
        """The classic text of this expression (`script` is the Python-syntax one)."""
        from .classic import astext

        return astext(self, show_meta_data)

    def set_type(self, found: Type) -> None:
        """Remember the inferred type (inference only)."""
        object.__setattr__(self, "inferred", found)

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
        from ..._lazy import relay_cast

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
    from ..._lazy import relay_binary

    return relay_binary(name, a, b)


def _unary(name: str, a: Expr) -> Expr:
    from ..._lazy import relay_unary

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
            self.set_type(self.type_annotation)


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
        self.set_type(TensorType(self.data.shape, self.data.dtype))


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


@node
class If(Expr):
    """One of two branches, by a scalar bool."""

    cond: Expr
    true_branch: Expr
    false_branch: Expr


@node
class Tuple(Expr):
    fields: tuple[Expr, ...]

    def __post_init__(self) -> None:
        _as_tuples(self, "fields")


@node
class TupleGetItem(Expr):
    tuple_value: Expr
    index: int


@node
class RefCreate(Expr):
    """A new mutable cell holding `value`."""

    value: Expr


@node
class RefRead(Expr):
    ref: Expr


@node
class RefWrite(Expr):
    ref: Expr
    value: Expr


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
    array = np.asarray(value)
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
