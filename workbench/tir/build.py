"""Building statements: the small constructors that keep programs in their normal shape.

>>> from workbench.tir.nodes import Evaluate
>>> from workbench.arith.build import const
>>> seq(Evaluate(const(0)))
Evaluate(value=<IntImm>)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any
from typing import cast as cast_type

from ..arith.build import INDEX, cast, const, convert
from ..arith.nodes import IntImm, PrimExpr, Var
from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from ..core.node import EMPTY, FrozenMap
from . import nodes as t


def seq(*stmts: t.Stmt | Iterable[t.Stmt] | None) -> t.Stmt:
    """Statements in order: nested sequences are spliced, Nones dropped, a single one stands alone."""
    flat: list[t.Stmt] = []
    for stmt in stmts:
        if stmt is None:
            continue
        if isinstance(stmt, t.SeqStmt):
            flat.extend(stmt.stmts)
        elif isinstance(stmt, t.Stmt):
            flat.append(stmt)
        else:
            flat.extend(part for item in stmt for part in (item.stmts if isinstance(item, t.SeqStmt) else (item,)))
    if not flat:
        return t.Evaluate(const(0))
    return flat[0] if len(flat) == 1 else t.SeqStmt(tuple(flat))


def decl_buffer(
    shape: Sequence[Any],
    dtype: str = "float32",
    name: str = "buffer",
    scope: str = "global",
    strides: Sequence[Any] = (),
) -> t.Buffer:
    """A buffer of `shape` (ints or expressions, in elements)."""
    return t.Buffer(name, indices(shape), DataType(dtype), scope, indices(strides))


def listed(value: Any) -> list[Any]:
    """A tuple or list as a list; anything else alone in one."""
    return list(cast_type("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else [value]


def indices(values: Sequence[Any]) -> tuple[PrimExpr, ...]:
    """Values as index expressions (int64)."""
    return tuple(value if isinstance(value, PrimExpr) and value.dtype.code == "int" and value.dtype.bits == 64
                 else cast(INDEX.with_lanes(convert(value).dtype.lanes), value) for value in values)  # fmt: skip


def load(buffer: t.Buffer, *where: Any) -> t.BufferLoad:
    """buffer[where]; the number of indices must be the buffer's rank."""
    _check_rank(buffer, where)
    return t.BufferLoad(buffer, indices(where))


def store(buffer: t.Buffer, value: Any, *where: Any) -> t.BufferStore:
    """buffer[where] = value, the value converted to the buffer's dtype."""
    _check_rank(buffer, where)
    made = convert(value, buffer.dtype)
    return t.BufferStore(buffer, cast(buffer.dtype.with_lanes(made.dtype.lanes), made), indices(where))


def _check_rank(buffer: t.Buffer, where: Sequence[Any]) -> None:
    if len(where) != len(buffer.shape):
        raise WorkbenchError(
            "E-TIR-RANK",
            f"buffer {buffer.name} has {len(buffer.shape)} axes",
            found=f"{len(where)} indices",
            nodes=(buffer,),
        )


def loop(
    var: Var,
    extent: Any,
    body: t.Stmt,
    kind: t.ForKind = t.ForKind.SERIAL,
    begin: Any = 0,
    annotations: FrozenMap = EMPTY,
) -> t.For:
    """for var in range(begin, begin + extent)."""
    return t.For(var, cast(var.dtype, begin), cast(var.dtype, extent), kind, body, "", annotations)


def nest(loops: Sequence[tuple[Var, Any]], body: t.Stmt) -> t.Stmt:
    """Serial loops around `body`, the first one outermost."""
    for var, extent in reversed(loops):
        body = loop(var, extent, body)
    return body


def full_region(buffer: t.Buffer) -> t.BufferRegion:
    """All of a buffer."""
    return t.BufferRegion(buffer, tuple(t.Range(const(0), extent) for extent in buffer.shape))


def point_region(buffer: t.Buffer, where: Sequence[PrimExpr]) -> t.BufferRegion:
    """One element of a buffer."""
    return t.BufferRegion(buffer, tuple(t.Range(index, const(1)) for index in where))


def stored(buffers: Sequence[t.Buffer], values: Sequence[PrimExpr], where: tuple[PrimExpr, ...]) -> t.Stmt:
    """Stores of several values at once: each is computed before any is stored."""
    if len(buffers) == 1:
        return t.BufferStore(buffers[0], values[0], where)
    held = [Var(f"{buffer.name}_value", buffer.dtype) for buffer in buffers]
    body = seq(t.BufferStore(buffer, var, where) for buffer, var in zip(buffers, held, strict=True))
    for var, value in reversed(list(zip(held, values, strict=True))):
        body = t.LetStmt(var, value, body)
    return body


def constant_size(buffer: t.Buffer) -> int | None:
    """The number of a buffer's elements, where its shape is constant."""
    extents = [extent.value for extent in buffer.shape if isinstance(extent, IntImm)]
    return prod(extents) if len(extents) == len(buffer.shape) else None
