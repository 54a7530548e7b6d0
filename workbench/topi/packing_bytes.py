"""Products of bytes for instructions that add four of them to each number of a vector (`Target.dot_dtypes`).

    R.nn.conv2d(x, w, out_dtype="int32")  ->  R.nn.conv2d(x, R.layout_transform(w, ...), kernel_layout="OIHW16o4i")
    R.nn.dense(x, w, out_dtype="int32")   ->  R.nn.contrib_dense_pack(x, ..., weight_layout="NC16n4c")
    three input channels                  ->  a fourth of zeros
    int8 data for an instruction that takes uint8
                                          ->  R.subtract(R.nn.conv2d(x + 128, w), 128 * sum(w))

Sums are the same to the last bit: int32 wraps around in all forms alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.rewrite import Failure
from ..relay.ir.expr import Call, Expr, const
from . import layout as layouts
from .calls import call
from .packing import not_packable, worth

FOUR = 4
"""Products that are added to one number."""
SHIFTED = 128
"""How far apart int8 and uint8 lie."""


def are_bytes(op: Any, data: Any, weight: Any) -> bool:
    """Whether an operator multiplies bytes, those of the weight with a sign, and adds up in int32."""
    return str(data.dtype) in ("int8", "uint8") and str(weight.dtype) == "int8" and op.out_dtype == "int32"


def convolution(op: Any, lanes: int, dot: tuple[str, str], data: Expr, weight: Expr) -> Expr | Failure:
    """nn.conv2d in one group of channels."""
    refusal = not_packable(op, lanes, data, weight) or _not_bytes(op, data, weight)
    if refusal is not None:
        return refusal
    if op.groups != 1:
        return Failure("there is one group of channels", f"{op.groups} groups")
    source, kernel = layouts.parse(op.data_layout), layouts.parse(op.kernel_layout)
    around: dict[str, tuple[int, int]] = dict.fromkeys("NCHW", (0, 0))
    away = _away(dot, data)
    if away and any(op.padding):
        top, left, bottom, right = op.padding
        around |= {"H": (top, bottom), "W": (left, right)}
        op = op.replace(padding=(0, 0, 0, 0))
    own = weight
    missing = -_shape(weight)[kernel.index_of("I")] % FOUR
    if missing:
        if source.factors:
            return Failure("input channels in blocks are a multiple of four", op.data_layout)
        around["C"] = (0, missing)
        weight = call("nn.pad", weight, pad_width=[(0, missing if letter == "I" else 0) for letter in kernel.letters])
    moved = _moved(data, dot, away)
    widths = [(0, 0) if factor else around[letter] for letter, factor in source.axes]
    if any(pair != (0, 0) for pair in widths):
        moved = call("nn.pad", moved, widths, const(np.array(away, dot[0])))
    layout = f"OIHW{lanes}o{FOUR}i"
    blocks = call("layout_transform", weight, src_layout=op.kernel_layout, dst_layout=layout)
    channels = _shape(weight)[kernel.index_of("O")]
    made = Call(op.replace(kernel_layout=layout, channels=channels), (moved, blocks))
    if not away:
        return made
    taken = _taken(own, away, tuple(axis for axis, letter in enumerate(kernel.letters) if letter != "O"))
    place = [-1 if letter == "C" and not factor else 1 for letter, factor in source.axes]
    if source.factors:
        taken = call("reshape", taken, newshape=(channels // lanes, lanes))
        place = [{("C", 0): channels // lanes, ("C", lanes): lanes}.get(axis, 1) for axis in source.axes]
    return call("subtract", made, call("reshape", taken, newshape=tuple(place)))


def dense(op: Any, lanes: int, dot: tuple[str, str], data: Expr, weight: Expr) -> Expr | Failure:
    """nn.dense."""
    refusal = worth(lanes, data, weight, 0, -1) or _not_bytes(op, data, weight)
    if refusal is not None:
        return refusal
    away, own = _away(dot, data), weight
    units, inner = _shape(weight)
    missing = -inner % FOUR
    moved = _moved(data, dot, away)
    if missing:
        weight = call("nn.pad", weight, pad_width=[(0, 0), (0, missing)])
        moved = call("nn.pad", moved, pad_width=[*((0, 0) for _ in _shape(data)[1:]), (0, missing)])
    layout = f"NC{lanes}n{FOUR}c"
    blocks = call("layout_transform", weight, src_layout="NC", dst_layout=layout)
    made = call("nn.contrib_dense_pack", moved, blocks, weight_layout=layout, units=units, out_dtype="int32")
    return call("subtract", made, _taken(own, away, (1,))) if away else made


def _not_bytes(op: Any, data: Expr, weight: Expr) -> Failure | None:
    if are_bytes(op, data.checked_type, weight.checked_type):
        return None
    found = f"{_dtype(data)} and {_dtype(weight)} in {op.out_dtype or _dtype(data)}"
    return Failure("bytes are multiplied, those of the weight int8, and added up in int32", found)


def _away(dot: tuple[str, str], data: Expr) -> int:
    """What is added to the data for them to have the instruction's dtype."""
    return 0 if _dtype(data) == dot[0] else SHIFTED if dot[0] == "uint8" else -SHIFTED


def _moved(data: Expr, dot: tuple[str, str], away: int) -> Expr:
    if not away:
        return data
    return call("cast", call("add", call("cast", data, dtype="int32"), const(np.int32(away))), dtype=dot[0])


def _taken(weight: Expr, away: int, axes: tuple[int, ...]) -> Expr:
    """What the sums of each output channel have too much."""
    sums = call("sum", call("cast", weight, dtype="int32"), axis=axes)
    return call("multiply", sums, const(np.int32(away)))


def _shape(expr: Expr) -> tuple[int, ...]:
    return expr.checked_type.concrete_shape  # type: ignore[union-attr]


def _dtype(expr: Expr) -> str:
    return str(expr.checked_type.dtype)  # type: ignore[union-attr]
