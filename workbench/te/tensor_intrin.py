"""Tensor intrinsics declared by a tensor expression: what they compute, and the call that computes it.

    a = placeholder((l,), name="a"); b = placeholder((m, l), name="b"); k = reduce_axis((0, l), name="k")
    c = compute((m,), lambda i: sum(a[k] * b[i, k], axis=k), name="c")

    def body(ins, outs):
        return tir.call_extern("int32", "gemv", outs[0].access_ptr("w"), ins[0].access_ptr("r"), ...)

    gemv = decl_tensor_intrin(c.op, body)
    s[C].tensorize(yi, gemv)

It is a `tir.TensorIntrin` whose description is the expression as a block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..arith.build import const
from ..arith.nodes import PrimExpr
from ..core.errors import WorkbenchError
from ..core.node import FrozenMap
from ..tir import nodes as t
from ..tir.op import decl_buffer
from ..tir.tensor_intrin.registry import TensorIntrin
from .nodes import ComputeOp, Operation, PlaceholderOp, Tensor, several
from .prim_func import create_prim_func
from .scanning import operands


def decl_tensor_intrin(
    op: Operation,
    fcompute: Callable[[list[t.Buffer], list[t.Buffer]], Any],
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, t.Buffer] | None = None,
    scalar_params: Any = None,
    default_buffer_params: Mapping[str, Any] | None = None,
) -> TensorIntrin:
    """The intrinsic that computes `op` by what `fcompute(ins, outs)` answers.

    That is a statement or expression for the whole; or three of them, (body, reset, update), of which reset makes the
    initial values and update adds to them: needed when the reduction goes on outside the tile.  `binds` gives buffers
    of one's own, with variables for strides; `default_buffer_params` are those of `tir.decl_buffer` for the others.
    Raises `WorkbenchError` (E-TE-INTRIN).
    """
    if not isinstance(op, ComputeOp):
        raise _refuse(name, "a tensor intrinsic is declared by a compute", type(op).__name__, "te.compute(...).op")
    if scalar_params:
        raise _refuse(name, "a tensor intrinsic has no scalar parameters here", repr(scalar_params)[:60], "none")
    inputs = list({(id(x.op), x.value_index): x for x in reversed(operands(op))}.values())
    inputs = _in_order(inputs, operands(op))
    for tensor in inputs:
        if not isinstance(tensor.op, PlaceholderOp):
            raise _refuse(
                name, f"{tensor.name} is computed", "a stage inside an intrinsic", "placeholders and one compute"
            )
    outputs = [op.output(index) for index in range(op.num_outputs)]
    given = {(id(tensor.op), tensor.value_index): buffer for tensor, buffer in (binds or {}).items()}
    buffers = [_buffer(tensor, given, dict(default_buffer_params or {})) for tensor in (*inputs, *outputs)]
    made = fcompute(buffers[: len(inputs)], buffers[len(inputs) :])
    parts = tuple(several(made)) if isinstance(made, (tuple, list)) else (made, None, None)
    if len(parts) not in (2, 3):
        raise _refuse(
            name, "fcompute answers one statement or three", f"{len(parts)}", "body, or (body, reset, update)"
        )
    body, reset, update = parts if len(parts) == 3 else (parts[0], None, parts[1])
    functions = [_function(name, word, part, buffers) for word, part in
                 (("", body), ("_reset", reset), ("_update", update))]  # fmt: skip
    intrinsic = TensorIntrin(
        name,
        create_prim_func([*inputs, *outputs], name=f"{name}_description"),
        functions[0],
        functions[1],
        functions[2],
    )
    intrinsic.check()
    return intrinsic


def _in_order(inputs: list[Tensor], used: list[Tensor]) -> list[Tensor]:
    """Inputs in the order in which they first appear in the body."""
    order = [(id(tensor.op), tensor.value_index) for tensor in used]
    return sorted(inputs, key=lambda tensor: order.index((id(tensor.op), tensor.value_index)))


def _buffer(tensor: Tensor, given: Mapping[Any, t.Buffer], options: dict[str, Any]) -> t.Buffer:
    own = given.get((id(tensor.op), tensor.value_index))
    return own if own is not None else decl_buffer(tensor.shape, tensor.dtype, tensor.name, **options)


def _function(name: str, word: str, part: Any, buffers: list[t.Buffer]) -> t.PrimFunc | None:
    if part is None:
        return None
    if isinstance(part, PrimExpr):
        part = t.Evaluate(part)
    if not isinstance(part, t.Stmt):
        raise _refuse(name, "fcompute answers what to run", type(part).__name__, "a statement, an expression, or None")
    root = t.Block("root", (), (), (), (), None, part)
    attrs = FrozenMap({"global_symbol": f"{name}{word}"})
    return t.PrimFunc(tuple(buffers), t.BlockRealize((), const(True), root), attrs)


def _refuse(name: str, message: str, found: str, expected: str) -> WorkbenchError:
    return WorkbenchError(
        "E-TE-INTRIN", message, where=f"tensor intrinsic {name}", found=found, expected=expected,
        fix="see the example of te.decl_tensor_intrin",
    )  # fmt: skip
