"""Reductions.  Axes are an attribute or, from opset 13 or 18 on, an operand; one table gives all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...core.tensor import Tensor
from ...relay.ir.expr import Constant, Expr
from .emit import call, dtype_of, like, rank_of, reshaped, shape_of
from .ops_elementwise import cast, in_float32
from .site import Site
from .table import onnx_op

Reduction = Callable[[Expr, tuple[int, ...], bool], Expr]


def _plain(name: str) -> Reduction:
    return lambda x, axes, keep: call(name, x, axis=axes, keepdims=keep)


def _sum(x: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
    return call("sum", x, axis=axes, keepdims=keep)


def _extreme(name: str) -> Reduction:
    """Of booleans, the greatest is "any" and the least is "all"; of nothing, the least or greatest number."""

    def reduce(x: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
        kind, shape = dtype_of(x), shape_of(x)
        if kind.is_bool:
            return call({"max": "any", "min": "all"}[name], x, axis=axes, keepdims=keep)
        if any(shape[axis] == 0 for axis in axes):
            low, high = (-math.inf, math.inf) if kind.is_float else kind.limits()
            kept = [1 if axis in axes else extent for axis, extent in enumerate(shape) if keep or axis not in axes]
            return Constant(Tensor.full(tuple(kept), low if name == "max" else high, kind))
        return call(name, x, axis=axes, keepdims=keep)

    return reduce


def _log_sum_exp(x: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
    """Shifted by the greatest element, so that exp cannot overflow."""
    if not dtype_of(x).is_float:
        return cast(_log_sum_exp(cast(x, "float64"), axes, keep), dtype_of(x))
    top = _extreme("max")(x, axes, True)
    finite = call("where", call("isfinite", top), top, like(0, top))
    total = _sum(call("exp", call("subtract", x, finite)), axes, True)
    found = call("add", call("log", total), finite)
    return found if keep else call("squeeze", found, axis=axes)


def _in_float(x: Expr, name: str) -> Expr:
    """An elementwise function that integers take through float64."""
    return call(name, x) if dtype_of(x).is_float else cast(call(name, cast(x, "float64")), dtype_of(x))


_REDUCTIONS: dict[str, Reduction] = {
    "ReduceSum": _sum,
    "ReduceMean": _plain("mean"),
    "ReduceProd": _plain("prod"),
    "ReduceMax": _extreme("max"),
    "ReduceMin": _extreme("min"),
    "ReduceL1": lambda x, axes, keep: _sum(call("abs", x), axes, keep),
    "ReduceL2": lambda x, axes, keep: in_float32(
        x, lambda wide: _in_float(_sum(call("multiply", wide, wide), axes, keep), "sqrt")
    ),
    "ReduceSumSquare": lambda x, axes, keep: _sum(call("multiply", x, x), axes, keep),
    "ReduceLogSum": lambda x, axes, keep: in_float32(x, lambda wide: _in_float(_sum(wide, axes, keep), "log")),
    "ReduceLogSumExp": _log_sum_exp,
}


def _reduced(node: Site, x: Expr, axes: Sequence[int], keepdims: int, empty_means_none: bool) -> Expr:
    rank = rank_of(x)
    reduction = _REDUCTIONS[node.record.op_type]
    if not axes and empty_means_none:
        # Each element alone: what is done before and after the sum (absolute value, square, root) is still done.
        return reshaped(reduction(reshaped(x, (*shape_of(x), 1)), (rank,), False), shape_of(x))
    chosen = tuple(sorted(node.axes(axes, rank))) if axes else tuple(range(rank))
    return reduction(x, chosen, bool(keepdims)) if rank else reduction(reshaped(x, (1,)), (0,), False)


def _by_attribute(node: Site, x: Expr, *, axes: tuple[int, ...] = (), keepdims: int = 1) -> Expr:
    return _reduced(node, x, axes, keepdims, False)


def _by_operand(
    node: Site, x: Expr, axes: Expr | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Expr:
    return _reduced(node, x, () if axes is None else node.ints(axes, "axes"), keepdims, bool(noop_with_empty_axes))


for _name in _REDUCTIONS:
    _since = 13 if _name == "ReduceSum" else 18
    onnx_op(_name, since=1, until=_since - 1)(_by_attribute)
    onnx_op(_name, since=_since)(_by_operand)
