"""An evaluator of tensor expressions in NumPy, whole stages at a time: a judge of `compute` that knows no loops.

Each stage's index variables become arrays over the stage's box; an expression is evaluated on all of them at once.
A load outside its tensor is an error, except where every condition around it is false.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench import te
from workbench.arith import nodes as n
from workbench.arith.intrinsics import INTRINSICS
from workbench.core.node import post_order
from workbench.te.nodes import ComputeOp, Operation, ProducerLoad, Reduce

BINARY: dict[type, Any] = {
    n.Add: np.add, n.Sub: np.subtract, n.Mul: np.multiply, n.FloorDiv: np.floor_divide, n.FloorMod: np.remainder,
    n.Mod: np.fmod, n.Min: np.minimum, n.Max: np.maximum, n.EQ: np.equal, n.NE: np.not_equal, n.LT: np.less,
    n.LE: np.less_equal, n.GT: np.greater, n.GE: np.greater_equal, n.And: np.logical_and, n.Or: np.logical_or,
}  # fmt: skip


def evaluate(outputs: Sequence[te.Tensor], inputs: dict[te.Tensor, np.ndarray]) -> list[np.ndarray]:
    """The values of `outputs`, given those of the placeholders."""
    values: dict[tuple[int, int], np.ndarray] = {(id(key.op), key.value_index): value for key, value in inputs.items()}
    for op in post_order(list(outputs)):
        if isinstance(op, ComputeOp):
            for index, value in enumerate(_stage(op, values)):
                values[id(op), index] = value
        elif isinstance(op, Operation):
            assert (id(op), 0) in values, f"placeholder {op.name} has no value"
    return [values[id(tensor.op), tensor.value_index] for tensor in outputs]


def _extent(value: Any) -> int:
    return int(getattr(value, "value", value))


def _stage(op: ComputeOp, values: dict[tuple[int, int], np.ndarray]) -> list[np.ndarray]:
    rank = len(op.axis) + len(op.reduce_axis)
    place: dict[int, Any] = {}
    shape = []
    for at, axis in enumerate((*op.axis, *op.reduce_axis)):
        extent, begin = _extent(axis.dom.extent), _extent(axis.dom.min)
        shape.append(extent)
        place[id(axis.var)] = (begin + np.arange(extent)).reshape([-1 if k == at else 1 for k in range(rank)])
    box = shape[: len(op.axis)]
    first = op.body[0]
    if not isinstance(first, Reduce):
        return [
            np.array(np.broadcast_to(_of(body, place, values, None), shape), body.dtype.to_numpy()) for body in op.body
        ]
    sources = [np.broadcast_to(_of(source, place, values, None), shape).reshape(*box, -1) for source in first.source]
    return _reduced(first, sources, box)


def _reduced(body: Reduce, sources: list[np.ndarray], box: list[int]) -> list[np.ndarray]:
    """The combiner applied one element after the other, as loops would."""
    combiner = body.combiner
    totals: list[np.ndarray] = [
        np.full(box, _of(value, {}, {}, None)).astype(value.dtype.to_numpy()) for value in combiner.identity
    ]
    for k in range(sources[0].shape[-1]):
        known: dict[int, Any] = {id(var): total for var, total in zip(combiner.lhs, totals, strict=True)}
        known.update({id(var): source[..., k] for var, source in zip(combiner.rhs, sources, strict=True)})
        with np.errstate(all="ignore"):
            totals = [
                np.asarray(_of(result, known, {}, None)).astype(result.dtype.to_numpy()) for result in combiner.result
            ]
    return [np.broadcast_to(total, box) for total in totals]


def _of(expr: Any, place: dict[int, Any], values: dict[tuple[int, int], np.ndarray], mask: Any) -> Any:
    """The value of an expression; `mask` is where it is needed (None: everywhere)."""
    with np.errstate(all="ignore"):
        return _value(expr, place, values, mask)


def _value(expr: Any, place: dict[int, Any], values: dict[tuple[int, int], np.ndarray], mask: Any) -> Any:
    if isinstance(expr, n.Var):
        return place[id(expr)]
    if isinstance(expr, (n.IntImm, n.FloatImm)):
        return np.asarray(expr.value, expr.dtype.to_numpy())
    if isinstance(expr, ProducerLoad):
        return _load(expr, place, values, mask)
    if isinstance(expr, n.Cast):
        from workbench.topi.clip_cast import cast_numpy

        return cast_numpy(np.asarray(_value(expr.value, place, values, mask)), expr.dtype)
    if isinstance(expr, n.Not):
        return np.logical_not(_value(expr.a, place, values, mask))
    if isinstance(expr, n.Div):
        a, b = (_value(item, place, values, mask) for item in (expr.a, expr.b))
        return a / b if expr.dtype.is_float else np.trunc(a / np.where(b == 0, 1, b)).astype(a.dtype)
    if type(expr) in BINARY:
        return BINARY[type(expr)](_value(expr.a, place, values, mask), _value(expr.b, place, values, mask))
    if isinstance(expr, n.Select):
        parts = (expr.condition, expr.true_value, expr.false_value)
        return np.where(*(_value(item, place, values, mask) for item in parts))
    assert isinstance(expr, n.Call), type(expr).__name__
    if expr.op == "if_then_else":
        test, a, b = expr.args
        condition = np.asarray(_value(test, place, values, mask))
        inside = condition if mask is None else condition & mask
        outside = ~condition if mask is None else ~condition & mask
        return np.where(condition, _value(a, place, values, inside), _value(b, place, values, outside))
    function = INTRINSICS[expr.op].evaluate if expr.op != "reinterpret" else lambda x: x.view(expr.dtype.to_numpy())
    assert function is not None, expr.op
    found = np.asarray(function(*(_value(item, place, values, mask) for item in expr.args)))
    return found if expr.dtype.is_bool else found.astype(expr.dtype.to_numpy())


def _load(expr: ProducerLoad, place: dict[int, Any], values: dict[tuple[int, int], np.ndarray], mask: Any) -> Any:
    source = values[id(expr.producer.op), expr.producer.value_index]
    where = [np.asarray(_value(index, place, values, mask)) for index in expr.indices]
    if mask is None:
        for axis, index in enumerate(where):
            assert index.size == 0 or (index.min() >= 0 and index.max() < source.shape[axis]), "a load outside"
    else:
        for axis, index in enumerate(where):
            wrong = ((index < 0) | (index >= source.shape[axis])) & mask
            assert not wrong.any(), f"a load outside of {expr.producer.name}"
        where = [np.clip(index, 0, max(0, extent - 1)) for index, extent in zip(where, source.shape, strict=True)]
        if 0 in source.shape:
            return np.zeros(np.broadcast_shapes(*(index.shape for index in where)), source.dtype)
    return source[tuple(where)]
