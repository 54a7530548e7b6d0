"""Classic name: `relay.ty`; the types are those of `relay.ir.types`."""

from .ir.types import (
    Any,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeData,
    TypeVar,
    scalar_type,
)
from .ir.types import Kind as TypeKind

__all__ = [
    "Any",
    "FuncType",
    "GlobalTypeVar",
    "IncompleteType",
    "RefType",
    "TensorType",
    "TupleType",
    "Type",
    "TypeCall",
    "TypeData",
    "TypeKind",
    "TypeVar",
    "scalar_type",
]
