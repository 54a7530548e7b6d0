"""Relay types.  Types are values: `==` compares them (up to the identity of variables) and they hash accordingly.

A dimension is a Python int when known, a scalar expression when symbolic, `Any()` when known only at run time.

>>> TensorType((1, 3), "float32")
Tensor[(1, 3), float32]
"""

from __future__ import annotations

from enum import Enum
from typing import Any as AnyValue
from typing import ClassVar, Final
from weakref import ref

from ...arith.nodes import IntImm, PrimExpr
from ...core.dtype import DataType
from ...core.equal import first_difference
from ...core.errors import WorkbenchError
from ...core.node import Node, children, node


class Type(Node):
    """The base of relay types."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Type):
            return False
        return first_difference(self, other, names=False, map_free_variables=False) is None

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(type(self).__name__)

    def __repr__(self) -> str:
        from .classic import type_text

        return type_text(self)


class Kind(Enum):
    """What a type variable ranges over."""

    TYPE = 0
    SHAPE_VAR = 1
    BASE_TYPE = 2
    CONSTRAINT = 4
    ADT_HANDLE = 5
    TYPE_DATA = 6


@node
class Any(Node):
    """A dimension that is known only at run time."""


Dimension = int | PrimExpr | Any


@node
class TensorType(Type):
    """A tensor of `shape` and `dtype`; the empty shape is a scalar."""

    shape: tuple[Dimension, ...]
    dtype: DataType = DataType("float32")

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(_dimension(extent) for extent in self.shape))
        object.__setattr__(self, "dtype", DataType(self.dtype))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TensorType) and self.is_static and other.is_static:
            return self.shape == other.shape and self.dtype == other.dtype
        return Type.__eq__(self, other)

    def __hash__(self) -> int:
        return hash((len(self.shape), self.dtype))

    @property
    def is_static(self) -> bool:
        return all(isinstance(extent, int) for extent in self.shape)

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The shape as ints.  Raises `WorkbenchError` when some dimension is not known."""
        if not self.is_static:
            raise WorkbenchError(
                "E-TYPE-DYNAMIC",
                "a static shape is needed here",
                found=repr(self),
                fix="give shape= when opening the model",
            )
        return tuple(extent for extent in self.shape if isinstance(extent, int))

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.concrete_shape:
            count *= extent
        return count


def _dimension(extent: AnyValue) -> Dimension:
    if isinstance(extent, IntImm):
        extent = extent.value
    if isinstance(extent, (PrimExpr, Any)):
        return extent
    try:
        whole = int(extent)
    except (TypeError, ValueError):
        raise WorkbenchError(
            "E-TYPE-DIMENSION", "a dimension is an int, an expression or Any()", found=repr(extent)
        ) from None
    if whole < 0:
        raise WorkbenchError("E-TYPE-DIMENSION", "a dimension cannot be negative", found=str(whole))
    return whole


@node
class TupleType(Type):
    fields: tuple[Type, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))


@node
class TypeVar(Type):
    """A type parameter of a polymorphic function or an ADT."""

    name: str
    kind: Kind = Kind.TYPE
    is_variable: ClassVar[bool] = True
    renameable: ClassVar[tuple[str, ...]] = ("name",)

    __hash__ = object.__hash__


@node
class FuncType(Type):
    """Argument types to a result, for all `type_params`."""

    arg_types: tuple[Type, ...]
    ret_type: Type
    type_params: tuple[TypeVar, ...] = ()
    binds: ClassVar[tuple[str, ...]] = ("type_params",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arg_types", tuple(self.arg_types))
        object.__setattr__(self, "type_params", tuple(self.type_params or ()))


@node
class RefType(Type):
    """A mutable cell holding a value."""

    value: Type


@node
class GlobalTypeVar(Type):
    """The name of an algebraic data type of the module."""

    name_hint: str
    kind: Kind = Kind.ADT_HANDLE


@node
class TypeCall(Type):
    """An ADT applied to arguments: ``List[Tensor[...]]``."""

    function: Type
    args: tuple[Type, ...]


@node
class IncompleteType(Type):
    """Not known yet; inference replaces it."""

    kind: Kind = Kind.TYPE
    is_variable: ClassVar[bool] = True

    __hash__ = object.__hash__


@node
class ConstructorSignature(Node):
    """One constructor of an ADT: its name and the types of what it holds."""

    name_hint: str
    inputs: tuple[Type, ...]


@node
class TypeData(Type):
    """The definition of an algebraic data type."""

    header: str
    type_vars: tuple[TypeVar, ...]
    constructors: tuple[ConstructorSignature, ...]
    binds: ClassVar[tuple[str, ...]] = ("type_vars",)


def scalar_type(dtype: str) -> TensorType:
    """The type of a tensor without axes."""
    return TensorType((), DataType(dtype))


_COMPLETE: Final[dict[int, ref[Node]]] = {}
"""Types with nothing unknown in them, by identity (types are equal by structure): they stay so, and a type that holds
them need not look into them again."""


def _is_known(part: Node) -> bool:
    held = _COMPLETE.get(id(part))
    return held is not None and held() is part


def _note_complete(part: Node) -> None:
    key = id(part)

    def forget(gone: ref[Node]) -> None:
        if _COMPLETE.get(key) is gone:  # else another type has its place in memory already
            _COMPLETE.pop(key, None)

    _COMPLETE[key] = ref(part, forget)


def is_complete(found: Type) -> bool:
    """True if nothing in the type is still unknown."""
    if isinstance(found, TensorType):
        return True
    if isinstance(found, TupleType) and all([type(part) is TensorType for part in found.fields]):
        return True  # asked again for each element that is taken of it
    waiting: list[Node] = [found]
    seen: dict[int, Node] = {}
    while waiting:
        part = waiting.pop()
        if isinstance(part, IncompleteType):
            return False
        if id(part) not in seen and not isinstance(part, TensorType) and not _is_known(part):
            seen[id(part)] = part
            waiting.extend(children(part))
    for part in seen.values():
        _note_complete(part)
    return True
