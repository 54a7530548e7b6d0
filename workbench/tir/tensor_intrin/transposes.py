"""Tiles that change rows and columns by shuffles of whole vectors: `transpose_16x14_uint8` is B[i, j] = A[j, i].

A row of A is a vector.  Interleaving rows i and i + n / 2 of n, for all i < n / 2, rotates the bits of an element's
place by one: after log2(n) such steps, a vector is a column (the perfect shuffle: Stone 1971, "Parallel Processing with
the Perfect Shuffle").  Sides that are no power of two are filled up with zeros, which nobody stores.

There is one for any sides and any number dtype of a power of two of bytes; each is made when it is asked for.
"""

from __future__ import annotations

import re
from typing import Final

from ...core.dtype import DataType
from ..nodes import PrimFunc
from ..script import parse
from .registry import TENSOR_INTRINSICS, TensorIntrin

PREFIX: Final = "transpose_"
MOST: Final = 16
"""Rows or columns of a tile, at most."""
DTYPES: Final = {
    f"{kind}{bits}": f"{short}{bits}"
    for kind, short, widths in (("int", "i", (8, 16, 32, 64)), ("uint", "i", (8, 16, 32, 64)), ("float", "f", (32, 64)))
    for bits in widths
}
"""The numbers that can be moved, and what LLVM calls them."""
_NAME: Final = re.compile(rf"{PREFIX}(\d+)x(\d+)_(\w+)")

_DESCRIBED: Final = """
@T.prim_func
def described(A: T.Buffer(({columns}, {rows}), "{dtype}"), B: T.Buffer(({rows}, {columns}), "{dtype}")):
    with T.block("root"):
        T.reads(A[0:{columns}, 0:{rows}])
        T.writes(B[0:{rows}, 0:{columns}])
        for i in T.serial({rows}):
            for j in T.serial({columns}):
                with T.block("moved"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vj, vi]
"""
_FILL: Final = """
        for i in T.unroll({lacking}):
            shuffled[0, {columns} + i, T.ramp(0, 1, {side})] = {zeros}"""
_IMPLEMENTED: Final = """
@T.prim_func
def implemented(A: T.Buffer(({columns}, {rows}), "{dtype}"), B: T.Buffer(({rows}, {columns}), "{dtype}")):
    with T.block("root"):
        T.reads(A[0:{columns}, 0:{rows}])
        T.writes(B[0:{rows}, 0:{columns}])
        shuffled = T.alloc_buffer(({stages}, {side}, {side}), "{dtype}", scope="local")
        for i in T.unroll({columns}):
            shuffled[0, i, T.ramp(0, 1, {side})] = {row}{fill}
        for step in T.unroll({steps}):
            for i in T.unroll({half}):
                shuffled[step + 1, 2 * i, T.ramp(0, 1, {side})] = {low}
                shuffled[step + 1, 2 * i + 1, T.ramp(0, 1, {side})] = {high}
        for i in T.unroll({rows}):
            B[i, T.ramp(0, 1, {columns})] = {column}
"""


def name_of(rows: int, columns: int, dtype: DataType) -> str | None:
    """The intrinsic that fills a tile of so many rows and columns; None where there is none."""
    fits = 2 <= rows <= MOST and 2 <= columns <= MOST and str(dtype) in DTYPES
    return f"{PREFIX}{rows}x{columns}_{dtype}" if fits else None


def transposition(name: str) -> TensorIntrin | None:
    """The intrinsic of a name; None where the name is of no tile."""
    found = _NAME.fullmatch(name)
    if found is None or found[3] not in DTYPES:
        return None
    rows, columns, dtype = int(found[1]), int(found[2]), DataType(found[3])
    if name_of(rows, columns, dtype) != name:
        return None
    described = parse(_DESCRIBED.format(rows=rows, columns=columns, dtype=dtype))
    implemented = parse(_IMPLEMENTED.format(**_parts(rows, columns, dtype)))
    assert isinstance(described, PrimFunc) and isinstance(implemented, PrimFunc)
    return TensorIntrin(name, described, implemented)


def _parts(rows: int, columns: int, dtype: DataType) -> dict[str, object]:
    """What fills the gaps of the implementation's text."""
    side = 1 << (max(rows, columns) - 1).bit_length()
    row, column = f"A[i, T.ramp(0, 1, {rows})]", f"shuffled[{side.bit_length() - 1}, i, T.ramp(0, 1, {side})]"
    zeros = f'T.broadcast(T.Cast("{dtype}", 0), {side})'
    fill = _FILL.format(lacking=side - columns, columns=columns, side=side, zeros=zeros) if columns < side else ""
    if rows < side:
        row = _called("insert", dtype, (side, rows), side, f"{zeros}, {row}, T.int64(0)")
    if columns < side:
        column = _called("extract", dtype, (columns, side), columns, f"{column}, T.int64(0)")
    first, second = (f"shuffled[step, i{more}, T.ramp(0, 1, {side})]" for more in ("", f" + {side // 2}"))
    both = _called("interleave2", dtype, (2 * side,), 2 * side, f"{first}, {second}")
    low, high = (
        _called("extract", dtype, (side, 2 * side), side, f"{both}, T.int64({at})") for at in (0, side)
    )  # fmt: skip
    return {
        "rows": rows, "columns": columns, "dtype": dtype, "side": side, "half": side // 2,
        "steps": side.bit_length() - 1, "stages": side.bit_length(), "fill": fill, "row": row, "column": column,
        "low": low, "high": high,
    }  # fmt: skip


def _called(operation: str, dtype: DataType, widths: tuple[int, ...], lanes: int, arguments: str) -> str:
    """A call of one of LLVM's intrinsics on vectors, whose name holds the vectors' types."""
    types = "".join(f".v{width}{DTYPES[dtype]}" for width in widths)
    return f'T.call_llvm_pure_intrin("llvm.vector.{operation}{types}", {arguments}, dtype="{dtype}x{lanes}")'


TENSOR_INTRINSICS.family(PREFIX, transposition)
