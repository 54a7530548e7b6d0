"""Rule of SimplifyExpr for bytes that are widened before they are multiplied: the products read the bytes.

    R.nn.conv2d(R.cast(x, "int32"), w)                 ->  R.nn.conv2d(x, w8, out_dtype="int32")
    R.nn.conv2d(R.subtract(R.cast(x, "int32"), z), w)  ->  R.subtract(R.nn.conv2d(R.nn.pad(x, z), w8, ...), z * sum(w))
    R.nn.dense(R.reshape(R.cast(x, "int32")), w)       ->  R.nn.dense(R.reshape(x), w8, out_dtype="int32")

`w` is a constant whose numbers have room in int8 (its own zero point was subtracted when constants were folded), `z`
the zero point, one byte: what a convolution adds around the data is z then.  Sums in int32 wrap around in both forms
alike, so that every bit stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.node import Node
from ...core.rewrite import Failure, Match, RuleTable
from .. import op as relay
from ..ir import expr as e
from ..ir.operator import Operator
from ..ir.types import TensorType
from ..patterns import constant, op, operators, where
from .fold_explicit_padding import spatial

NARROW = RuleTable("narrow")
_BYTES = ("int8", "uint8")


@dataclass(frozen=True)
class Widened:
    """Bytes in int32, less a zero point or not, reshaped or not: binds "bytes", and "zero", a byte, if there is one."""

    def fits(self, head: Any) -> bool:
        return isinstance(head, str)

    def match(self, node: Node, match: Match) -> Failure | None:
        found = _widened(node)
        if found is None:
            return Failure("the data are bytes in int32, perhaps less a zero point", lambda: _head(node))
        match.bound["bytes"], zero = found
        if zero is not None:
            match.bound["zero"] = zero
        return None


def _widened(node: Any) -> tuple[e.Expr, e.Expr | None] | None:
    """The bytes and the zero point."""
    name = _head(node)
    if name == "cast":
        return (node.args[0], None) if _dtype(node) == "int32" and _dtype(node.args[0]) in _BYTES else None
    if name == "subtract":
        found = _widened(node.args[0]) if _head(node.args[0]) == "cast" else None
        if found is None or _shape(node) != _shape(found[0]):  # a zero point of more axes adds some
            return None
        zero = _byte(node.args[1], _dtype(found[0]))
        return None if zero is None else (found[0], zero)
    if isinstance(node, e.Call) and isinstance(node.op, Operator) and node.op.aliasing == 0 and len(node.args) == 1:
        found = _widened(node.args[0])
        return None if found is None else (node.replace(args=(found[0],)), found[1])
    return None


def _byte(zero: e.Expr, dtype: str) -> e.Expr | None:
    """A zero point as one number of the bytes' dtype, without axes."""
    kind = zero.type_or_none
    if not isinstance(kind, TensorType) or not kind.is_static or kind.size != 1:
        return None
    if isinstance(zero, e.Constant):
        number, limits = zero.data.numpy().item(), np.iinfo(dtype)
        return e.const(np.array(number, dtype)) if limits.min <= number <= limits.max else None
    if not isinstance(zero, e.Call) or _head(zero) != "cast" or _dtype(zero.args[0]) != dtype:
        return None
    return zero.args[0] if not kind.shape else relay.call("reshape", zero.args[0], newshape=())


def _head(expr: Any) -> str:
    return expr.op.name if isinstance(expr, e.Call) and isinstance(expr.op, Operator) else type(expr).__name__


def _dtype(expr: e.Expr) -> str:
    found = expr.type_or_none
    return str(found.dtype) if isinstance(found, TensorType) else ""


def _shape(expr: e.Expr) -> tuple[Any, ...] | None:
    found = expr.type_or_none
    return found.shape if isinstance(found, TensorType) else None


def _linear(operator: Operator) -> bool:
    pads = "padding" in operator.field_names
    sums = operator.multiplies_and_adds and "out_dtype" in operator.field_names
    return sums and operator.channel_axes() is not None and (not pads or operator.padding_value == 0)


def _room(m: Match) -> bool:
    numbers = m["weight"].data.numpy()
    return numbers.size > 0 and bool(numbers.min() >= -128 and numbers.max() <= 127)


def _range(m: Match) -> str:
    numbers = m["weight"].data.numpy()
    return f"{numbers.min()} to {numbers.max()}" if numbers.size else "no numbers"


def _one_matrix(m: Match) -> bool:
    return "padding" in m["heavy"].op.field_names or m["weight"].data.numpy().ndim == 2


_LINEAR = operators("a convolution or product that pads with zeros, if at all, and whose channels are axes", _linear)
_CONDITIONS = (
    where("sums are in int32", lambda m: _dtype(m["heavy"]) == "int32", lambda m: _dtype(m["heavy"])),
    where("the weight's numbers have room in int8", _room, _range),
    where("the weight is one matrix, or a convolution's", _one_matrix, lambda m: m["weight"].data.shape),
)


@NARROW.rule("product-of-bytes", op(_LINEAR, Widened(), constant("weight"), name="heavy"), when=_CONDITIONS)
def product_of_bytes(m: Match) -> Any:
    """Bytes are widened where they are multiplied, not before: the sum of (x - z) w is that of x w, less z sum(w)."""
    heavy, zero = m["heavy"].op, m.bound.get("zero")
    data, changes = m["bytes"], {"out_dtype": "int32"}
    if zero is not None and any(getattr(heavy, "padding", ())):
        data = relay.call("nn.pad", data, _widths(heavy), zero)
        changes["padding"] = (0,) * len(heavy.padding)  # type: ignore[assignment]
    made = e.Call(heavy.replace(**changes), (data, e.const(m["weight"].data.numpy().astype(np.int8))))
    if zero is None:
        return made
    sums = _sums(m)
    if isinstance(zero, e.Constant):
        return relay.call("subtract", made, e.const(zero.data.numpy().astype(np.int32) * sums))
    return relay.call("subtract", made, relay.call("multiply", relay.call("cast", zero, dtype="int32"), e.const(sums)))


def _sums(m: Match) -> np.ndarray:
    """The sum of the weights of each output channel, along that axis of the result; int32 wraps around."""
    axes, weight = m["heavy"].op.channel_axes(), m["weight"].data.numpy()
    output = axes.weight_output % weight.ndim
    total = weight.sum(axis=tuple(axis for axis in range(weight.ndim) if axis != output), dtype=np.int32)
    rank = len(m["heavy"].checked_type.shape)
    return total.reshape([-1 if axis == axes.result % rank else 1 for axis in range(rank)])


def _widths(heavy: Any) -> list[tuple[int, int]]:
    """What a convolution adds before and after each axis of the data."""
    inside = spatial(heavy.data_layout)
    before, after = heavy.padding[: len(inside)], heavy.padding[len(inside) :]
    found = dict(zip(inside, zip(before, after, strict=True), strict=True))
    return [found.get(axis, (0, 0)) for axis in range(len(heavy.data_layout))]
