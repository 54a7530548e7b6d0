"""CombineParallelBatchMatmul: stacked matrix products with the same first operand become one.

batch_matmul(a, b0), batch_matmul(a, b1), batch_matmul(a, b2)
->  y = batch_matmul(a, concatenate((b0, b1, b2), axis=1));  y[..., 0:n0], ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.module import IRModule
from ...core.transform import PassContext, function_pass
from ...relay.transforms.combine_dense import rank_of
from .. import op as relay
from ..ir import expr as e
from ..ir.types import TensorType
from .parallel import combine, concatenated, joined_along, known_shape, slices, static_shape


class BatchMatmulKind:
    """Products that differ in the number of columns only."""

    def fits(self, call: e.Call) -> Any:
        op: Any = call.op
        if op.name != "nn.batch_matmul":
            return None
        shape, found = static_shape(call.args[1]), call.args[1].checked_type
        if shape is None or not isinstance(found, TensorType):
            return None
        rest = tuple(extent for at, extent in enumerate(shape) if at != len(shape) + _columns(op))
        return (op.out_dtype, op.transpose_a, op.transpose_b, rest, len(shape), str(found.dtype))

    def combined(self, data: e.Expr, calls: Sequence[e.Call]) -> e.Expr:
        op: Any = calls[0].op
        other = concatenated([call.args[1] for call in calls], _columns(op))
        return relay.call("nn.batch_matmul", data, other, **op.attributes)

    def joined(self, reader: e.Call, others: Sequence[e.Expr], calls: Sequence[e.Call]) -> e.Expr | None:
        rank = rank_of(calls[0])
        return joined_along(reader, others, _extents(calls), rank - 1, rank)

    def parts(self, whole: e.Expr, calls: Sequence[e.Call]) -> list[e.Expr]:
        return slices(whole, _extents(calls), rank_of(calls[0]) - 1)


def _columns(op: Any) -> int:
    """The place of the result's columns in the second operand, from the end."""
    return -2 if op.transpose_b else -1


def _extents(calls: Sequence[e.Call]) -> list[int]:
    return [known_shape(call.args[1])[_columns(calls[0].op)] for call in calls]


@function_pass(opt_level=4, name="CombineParallelBatchMatmul", required=["InferType"], applies_to=e.Function)
def CombineParallelBatchMatmul(
    func: e.Function, mod: IRModule, ctx: PassContext, *, min_num_branches: int = 3
) -> e.Function:
    """Combine at least `min_num_branches` stacked products with the same first operand into one."""
    return combine(func, BatchMatmulKind(), min_num_branches)
