"""Types in relay's classic spelling: ``Tensor[(1, ?), float32]``, ``(int32, bool)``, ``fn (int32) -> bool``.

>>> from .types import TupleType, scalar_type
>>> type_text(TupleType((scalar_type("int32"), scalar_type("bool"))))
'(int32, bool)'
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.node import Node
from ...core.text import Child, Piece, layout
from . import types as t
from .dimension import dimension_text


def type_text(found: Node) -> str:
    """A type as classic text."""
    return layout(found, type_pieces).text


def type_pieces(found: Node, context: object = None) -> list[Piece]:
    """The layout of one type; `context` is not used."""
    if isinstance(found, t.TensorType):
        return [_tensor(found)]
    if isinstance(found, t.TupleType):
        return ["(", *separated(found.fields), ",)" if len(found.fields) == 1 else ")"]
    if isinstance(found, t.FuncType):
        params = ["[", *separated(found.type_params), "]"] if found.type_params else []
        return ["fn ", *params, "(", *separated(found.arg_types), ") -> ", Child(found.ret_type)]
    if isinstance(found, t.RefType):
        return ["ref(", Child(found.value), ")"]
    if isinstance(found, t.TypeCall):
        return [Child(found.function), "[", *separated(found.args), "]"]
    if isinstance(found, t.TypeVar):
        return [found.name]
    if isinstance(found, t.GlobalTypeVar):
        return [found.name_hint]
    if isinstance(found, t.IncompleteType):
        return ["_"]
    if isinstance(found, t.TypeData):
        return _data(found)
    return [type(found).__name__]


def separated(items: Sequence[Node]) -> list[Piece]:
    """The items with commas between them."""
    pieces: list[Piece] = []
    for index, item in enumerate(items):
        pieces += [", ", Child(item)] if index else [Child(item)]
    return pieces


def _tensor(found: t.TensorType) -> str:
    if not found.shape:
        return str(found.dtype)
    shape = ", ".join(dimension_text(extent) for extent in found.shape)
    return f"Tensor[({shape}), {found.dtype}]"


def _data(found: t.TypeData) -> list[Piece]:
    params = ["[", *separated(found.type_vars), "]"] if found.type_vars else []
    pieces: list[Piece] = ["type ", found.header, *params, " {"]
    for constructor in found.constructors:
        held = ["(", *separated(constructor.inputs), ")"] if constructor.inputs else []
        pieces += ["\n  ", constructor.name_hint, *held, ","]
    return [*pieces, "\n}"]
