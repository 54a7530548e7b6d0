"""CombineParallelDense: matrix products of the same data become one.

    dense(x, w0), dense(x, w1), dense(x, w2)
    ->  y = batch_matmul(expand_dims(x), stack((w0, w1, w2)));  y[0], y[1], y[2]       (to_batch, equal weight shapes)
    ->  y = dense(x, concatenate((w0, w1, w2)));  y[:, 0:a], y[:, a:b], ...             (not to_batch)

Attention layers have three such products on their input.  BatchingOps is the first form with the usual options.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.module import IRModule
from ...core.transform import PassContext, function_pass
from .. import op as relay
from ..ir import expr as e
from ..ir.types import TensorType
from .parallel import combine, concatenated, joined_along, known_shape, same_value, slices, static_shape


def _same(call: e.Call, name: str) -> Any:
    """What products that may be combined have in common, apart from shapes."""
    op: Any = call.op
    if op.name != name:
        return None
    found = call.args[1].type_or_none
    if not isinstance(found, TensorType) or not found.is_static:
        return None
    return (op.out_dtype, str(found.dtype))


def rank_of(expr: e.Expr) -> int:
    found = expr.checked_type
    assert isinstance(found, TensorType)
    return len(found.shape)


class FlatKind:
    """Products side by side: weights of any number of rows."""

    def fits(self, call: e.Call) -> Any:
        return _same(call, "nn.dense")

    def combined(self, data: e.Expr, calls: Sequence[e.Call]) -> e.Expr:
        op: Any = calls[0].op
        weight = concatenated([call.args[1] for call in calls], 0)
        return relay.call("nn.dense", data, weight, units=sum(_rows(calls)), out_dtype=op.out_dtype)

    def joined(self, reader: e.Call, others: Sequence[e.Expr], calls: Sequence[e.Call]) -> e.Expr | None:
        rank = rank_of(calls[0])
        return joined_along(reader, others, _rows(calls), rank - 1, rank)

    def parts(self, whole: e.Expr, calls: Sequence[e.Call]) -> list[e.Expr]:
        return slices(whole, _rows(calls), rank_of(calls[0]) - 1)


def _rows(calls: Sequence[e.Call]) -> list[int]:
    return [known_shape(call.args[1])[0] for call in calls]


class StackedKind:
    """Products one above the other: weights of one shape."""

    def fits(self, call: e.Call) -> Any:
        same = _same(call, "nn.dense")
        return None if same is None or rank_of(call.args[0]) != 2 else (*same, static_shape(call.args[1]))

    def combined(self, data: e.Expr, calls: Sequence[e.Call]) -> e.Expr:
        op: Any = calls[0].op
        weight = relay.call("stack", e.Tuple(tuple(call.args[1] for call in calls)), axis=0)
        wide = relay.call("expand_dims", data, axis=0)
        return relay.call("nn.batch_matmul", wide, weight, out_dtype=op.out_dtype, transpose_b=True)

    def joined(self, reader: e.Call, others: Sequence[e.Expr], calls: Sequence[e.Call]) -> e.Expr | None:
        op: Any = reader.op
        if op.name == "nn.bias_add" and op.axis % 2 != 1:
            return None
        if all(same_value(other, others[0]) for other in others):
            return others[0]
        shapes = {static_shape(other) for other in others}
        shape = next(iter(shapes))
        if len(shapes) != 1 or shape is None:
            return None
        stacked = relay.call("stack", e.Tuple(tuple(others)), axis=0)
        missing = 2 - len(shape)
        return relay.call("expand_dims", stacked, axis=1, num_newaxis=missing) if missing else stacked

    def parts(self, whole: e.Expr, calls: Sequence[e.Call]) -> list[e.Expr]:
        rows = slices(whole, [1] * len(calls), 0)
        return [relay.call("squeeze", row, axis=(0,)) for row in rows]


@function_pass(opt_level=4, name="CombineParallelDense", required=["InferType"], applies_to=e.Function)
def CombineParallelDense(
    func: e.Function, mod: IRModule, ctx: PassContext, *, min_num_branches: int = 3, to_batch: bool = True
) -> e.Function:
    """Combine at least `min_num_branches` products of the same data: stacked (`to_batch`) or side by side."""
    return combine(func, StackedKind() if to_batch else FlatKind(), min_num_branches)


@function_pass(opt_level=4, name="BatchingOps", required=["InferType"], applies_to=e.Function)
def BatchingOps(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Stack three or more products of the same data into a batch_matmul."""
    return combine(func, StackedKind(), 3)
