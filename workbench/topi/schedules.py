"""Classic schedules for results of `topi` functions: what `topi.generic`, `topi.x86` and `topi.cuda` give.

    with wb.target.Target("llvm"):
        s = topi.x86.schedule_injective([out])
    wb.build(s, [x, out])

Each makes a te schedule of the outputs, inlines what only moves or maps elements, and says how the rest runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import te
from ..target.target import Target
from .utils import traverse_inline

Outputs = te.Tensor | Sequence[te.Tensor]
_THREADS = 256
"""Threads of a block, as far as nothing is known of the device."""


def _several(outs: Outputs) -> list[te.Tensor]:
    return list(outs) if isinstance(outs, (list, tuple)) else [outs]


def _begun(outs: Outputs) -> tuple[Any, list[te.Tensor], list[Any]]:
    """The schedule, the outputs, and the operations that are left after inlining, consumers first."""
    tensors = _several(outs)
    s = te.create_schedule([tensor.op for tensor in tensors])
    left: list[Any] = []
    for tensor in tensors:
        traverse_inline(s, tensor.op, left.append)
    return s, tensors, left


def default(outs: Outputs) -> Any:
    """The loops as they are written."""
    return te.create_schedule([tensor.op for tensor in _several(outs)])


def cpu_injective(outs: Outputs) -> Any:
    """One loop over each output: parallel outside, vectors inside."""
    s, tensors, _ = _begun(outs)
    for tensor in tensors:
        _cpu_map(s, tensor)
    return s


def _cpu_map(s: Any, tensor: te.Tensor) -> None:
    stage = s[tensor]
    axes = list(stage.op.axis)
    if not axes:
        return
    # Flattened only as far as vectors stay rows: an index put together of parts is no vector.
    *outer, inner = axes
    target = Target.current() or Target("llvm")
    _, lane = stage.split(inner, factor=target.lanes)
    stage.vectorize(lane)
    if outer:
        stage.parallel(stage.fuse(*outer) if len(outer) > 1 else outer[0])


def cpu_reduce(outs: Outputs) -> Any:
    """Elements in parallel, each reduced by one thread; what is mapped onto a reduction follows it in its row."""
    s, tensors, left = _begun(outs)
    for op in left:
        axes = list(getattr(op, "axis", ()))
        if getattr(op, "reduce_axis", ()) and axes:
            s[op].parallel(s[op].fuse(*axes) if len(axes) > 1 else axes[0])
    for tensor in tensors:
        if not tensor.op.reduce_axis:
            _cpu_map(s, tensor)
    return s


def cpu_rows(outs: Outputs) -> Any:
    """Softmax and its like: rows in parallel, every stage of a row computed in it."""
    s, stage, row = _rows(outs)
    stage.parallel(row)
    return s


def _rows(outs: Outputs) -> tuple[Any, Any, Any]:
    """A schedule where each row of the output computes all that it needs; the output's stage, and its loop of rows."""
    s = default(outs)
    stage = s[_several(outs)[0]]
    axes = list(stage.op.axis)
    row = stage.fuse(*axes[:-1]) if len(axes) > 2 else axes[0]
    for other in s.stages:
        if other.op.input_tensors and other.op is not stage.op:
            other.compute_at(stage, row)
    return s, stage, row


def gpu_map(outs: Outputs) -> Any:
    """One thread an element of each output and of each reduction."""
    s, tensors, left = _begun(outs)
    for op in [*(tensor.op for tensor in tensors), *left]:
        axes = list(getattr(op, "axis", ()))
        inlined = op not in s.outputs and not getattr(op, "reduce_axis", ())
        if not axes or inlined or s[op].leaf_iter_vars != [*axes, *op.reduce_axis]:
            continue
        fused = s[op].fuse(*axes) if len(axes) > 1 else axes[0]
        block, thread = s[op].split(fused, factor=_THREADS)
        s[op].bind(block, te.thread_axis("blockIdx.x"))
        s[op].bind(thread, te.thread_axis("threadIdx.x"))
    return s


def gpu_rows(outs: Outputs) -> Any:
    """Softmax and its like: a block of threads a row."""
    s, stage, row = _rows(outs)
    stage.bind(row, te.thread_axis("blockIdx.x"))
    return s


_WINDOWS = (
    "schedule_conv1d_ncw", "schedule_conv1d_nwc", "schedule_conv2d_hwcn", "schedule_conv2d_nchw",
    "schedule_conv2d_nhwc", "schedule_conv3d_ncdhw", "schedule_conv3d_ndhwc", "schedule_conv2d_transpose_nchw",
    "schedule_depthwise_conv2d_nchw", "schedule_depthwise_conv2d_nhwc", "schedule_group_conv2d_nchw",
    "schedule_dense", "schedule_matmul", "schedule_batch_matmul", "schedule_reduce", "schedule_pool",
    "schedule_adaptive_pool", "schedule_global_pool", "schedule_einsum",
)  # fmt: skip
_MAPS = ("schedule_injective", "schedule_elemwise", "schedule_broadcast")
_ROWS = ("schedule_softmax", "schedule_fast_softmax", "schedule_log_softmax")
_AS_WRITTEN = ("schedule_extern", "default_schedule", "schedule_sort", "schedule_argsort", "schedule_topk")


def table(maps: Any, windows: Any, rows: Any) -> dict[str, Callable[[Outputs], Any]]:
    """The classic names of one target's schedules."""
    return {
        **dict.fromkeys(_MAPS, maps),
        **dict.fromkeys(_WINDOWS, windows),
        **dict.fromkeys(_ROWS, rows),
        **dict.fromkeys(_AS_WRITTEN, default),
    }


TABLES: dict[str, dict[str, Callable[[Outputs], Any]]] = {
    "generic": table(default, default, default),
    "x86": table(cpu_injective, cpu_reduce, cpu_rows),
    "arm_cpu": table(cpu_injective, cpu_reduce, cpu_rows),
    "cuda": table(gpu_map, gpu_map, gpu_rows),
}
"""Schedules by the classic module that they are in."""
