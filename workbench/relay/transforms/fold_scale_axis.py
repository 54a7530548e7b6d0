"""FoldScaleAxis: multiplications by a constant for each channel move into the weights of a convolution or product.

    R.multiply(R.nn.conv2d(x, w), s)   ->   R.nn.conv2d(x, R.multiply(w, s'))      (backward: after it)
    R.nn.conv2d(R.multiply(x, s), w)   ->   R.nn.conv2d(x, R.multiply(w, s'))      (forward: before it)

Only constant weights are scaled, so that FoldConstant finishes the work; sums may round differently.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.module import IRModule
from ...core.rewrite import Match, RuleTable
from ...core.transform import PassContext, function_pass
from .. import op as relay
from ..ir import expr as e
from ..ir.types import TensorType
from ..patterns import any_, constant, op, where
from .rules import apply_rules

BACKWARD = RuleTable("BackwardFoldScaleAxis")
FORWARD = RuleTable("ForwardFoldScaleAxis")


def is_plain(layout: str) -> bool:
    """Whether a result's layout is that of plain data."""
    return layout in ("", "NCHW")


_PLAIN: dict[str, Any] = {
    "data_layout": "NCHW",
    "kernel_layout": "OIHW",
    "out_layout": is_plain,
}


def channel_vector(scale: e.Constant, rank: int, axis: int, extent: int) -> np.ndarray | None:
    """The factors along one axis of a tensor of `rank` axes, if a constant varies along no other."""
    shape = scale.data.shape
    if len(shape) > rank or (scale.data.fill_value is not None and scale.data.size > extent):
        return None
    full = (1,) * (rank - len(shape)) + shape
    if any(size != 1 for place, size in enumerate(full) if place != axis) or full[axis] not in (1, extent):
        return None
    return np.broadcast_to(scale.data.numpy().reshape(full[axis]), (extent,))


def _output_factors(m: Match, name: str = "scale") -> np.ndarray | None:
    """Factors of each output channel of the bound conv2d or dense."""
    heavy = m["heavy"]
    found = heavy.checked_type
    axis = 1 if heavy.op.name == "nn.conv2d" else len(found.shape) - 1
    extent = m["weight"].data.shape[0]
    return channel_vector(m[name], len(found.shape), axis, extent) if found.shape[axis] == extent else None


_PER_CHANNEL = where(
    "the factor varies by output channel only", lambda m: _output_factors(m) is not None, lambda m: m["scale"].data
)


def _scaled_rows(m: Match, factors: np.ndarray) -> e.Call:
    """The heavy call with its weight's rows (output channels) scaled."""
    heavy, weight = m["heavy"], m["weight"]
    column = factors.reshape((-1,) + (1,) * (len(weight.data.shape) - 1)).astype(weight.data.dtype.to_numpy())
    return e.Call(heavy.op, (heavy.args[0], relay.call("multiply", weight, e.const(column))))


class _Either:
    """The first of two patterns that fits."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second

    def match(self, node: Any, match: Match) -> Any:
        mark = match.mark()
        failure = self.first.match(node, match)
        if failure is None:
            return None
        match.back_to(mark)
        other = self.second.match(node, match)
        if other is None:
            return None
        is_second = isinstance(node, e.Call) and getattr(node.op, "name", "") == "nn.dense"
        return other if is_second else failure


_AFTER = _Either(
    op("nn.conv2d", any_("data"), constant("weight"), name="heavy", once=True, attrs=_PLAIN),
    op("nn.dense", any_("data"), constant("weight"), name="heavy", once=True),
)
"""A convolution or dense product with constant weights, used here only."""


@BACKWARD.rule("scale-after", op("multiply", _AFTER, constant("scale"), commutative=True), when=[_PER_CHANNEL])
def scale_after(m: Match) -> Any:
    """(w * x) s is (s w) * x."""
    factors = _output_factors(m)
    return None if factors is None else _scaled_rows(m, factors)


@BACKWARD.rule(
    "scale-after-sum",
    op(
        "multiply",
        op(("add", "subtract"), _AFTER, any_("other"), name="sum", once=True),
        constant("scale"),
        commutative=True,
    ),
    when=[
        _PER_CHANNEL,
        where("the other summand is a constant", lambda m: isinstance(m["other"], e.Constant), lambda m: m["other"]),
    ],
)
def scale_after_sum(m: Match) -> Any:
    """(w * x + b) s is (s w) * x + s b."""
    factors = _output_factors(m)
    if factors is None:
        return None
    return e.Call(m["sum"].op, (_scaled_rows(m, factors), relay.call("multiply", m["other"], m["scale"])))


@BACKWARD.rule(
    "scale-after-bias",
    op(
        "multiply",
        op("nn.bias_add", _AFTER, constant("other"), name="sum", once=True),
        constant("scale"),
        commutative=True,
    ),
    when=[_PER_CHANNEL],
)
def scale_after_bias(m: Match) -> Any:
    """bias_add(w * x, b) s is bias_add((s w) * x, s b)."""
    factors = _output_factors(m)
    if factors is None or m["other"].data.shape != factors.shape:
        return None
    bias = relay.call("multiply", m["other"], e.const(factors.astype(m["other"].data.dtype.to_numpy())))
    return e.Call(m["sum"].op, (_scaled_rows(m, factors), bias))


@BACKWARD.rule(
    "scale-before-relu",
    op("multiply", op("nn.relu", any_("inner"), once=True), constant("scale"), commutative=True),
    when=[
        where(
            "every factor is positive", lambda m: bool(np.all(m["scale"].data.numpy() > 0)), lambda m: m["scale"].data
        ),
        where(
            "a convolution or product stands before the relu",
            lambda m: _leads_to_heavy(m["inner"]),
            lambda m: m["inner"],
        ),
        where("the shape stays", lambda m: m["inner"].checked_type == m.root.checked_type, lambda m: m.root),  # type: ignore[attr-defined]
    ],
)
def scale_before_relu(m: Match) -> Any:
    """relu(y) s is relu(y s) for s > 0."""
    return relay.call("nn.relu", relay.call("multiply", m["inner"], m["scale"]))


def _leads_to_heavy(expr: e.Expr) -> bool:
    while isinstance(expr, e.Call):
        name = getattr(expr.op, "name", "")
        if name in ("nn.conv2d", "nn.dense"):
            return isinstance(expr.args[1], e.Constant)
        if name not in ("add", "subtract", "nn.bias_add") or not isinstance(expr.args[1], e.Constant):
            return False
        expr = expr.args[0]
    return False


def _input_factors(m: Match) -> np.ndarray | None:
    """Factors of each input channel of the bound conv2d or dense."""
    found = m["data"].checked_type
    if not isinstance(found, TensorType) or m["heavy"].args[0].checked_type != found:
        return None
    axis = 1 if m["heavy"].op.name == "nn.conv2d" else len(found.shape) - 1
    extent = found.shape[axis]
    return channel_vector(m["scale"], len(found.shape), axis, extent) if isinstance(extent, int) else None


_BEFORE = op("multiply", any_("data"), constant("scale"), commutative=True, once=True)


@FORWARD.rule(
    "scale-before",
    _Either(
        op("nn.conv2d", _BEFORE, constant("weight"), name="heavy", attrs=_PLAIN),
        op("nn.dense", _BEFORE, constant("weight"), name="heavy"),
    ),
    when=[
        where(
            "the factor varies by input channel only",
            lambda m: _input_factors(m) is not None,
            lambda m: m["scale"].data,
        )
    ],
)
def scale_before(m: Match) -> Any:
    """w * (s x) is (w s) * x: columns of the weight take the factors."""
    heavy, weight, factors = m["heavy"], m["weight"], _input_factors(m)
    if factors is None:
        return None
    shape = weight.data.shape
    groups = getattr(heavy.op, "groups", 1)
    table = np.repeat(factors.reshape(groups, -1), shape[0] // groups, axis=0)
    column = table.reshape((*table.shape, *(1,) * (len(shape) - 2))).astype(weight.data.dtype.to_numpy())
    scaled = relay.call("multiply", weight, e.const(column if groups > 1 else column[:1]))
    return e.Call(heavy.op, (m["data"], scaled))


@function_pass(opt_level=3, name="BackwardFoldScaleAxis", required=["InferType"], applies_to=e.Function)
def BackwardFoldScaleAxis(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Fold factors that follow a convolution or product into its weights."""
    return func if func.is_primitive else apply_rules(func, BACKWARD, mod)


@function_pass(opt_level=3, name="ForwardFoldScaleAxis", required=["InferType"], applies_to=e.Function)
def ForwardFoldScaleAxis(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Fold factors that precede a convolution or product into its weights."""
    return func if func.is_primitive else apply_rules(func, FORWARD, mod)


@function_pass(opt_level=3, name="FoldScaleAxis", required=["InferType"], applies_to=e.Function)
def FoldScaleAxis(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Fold factors into weights, those after a convolution first, then those before one."""
    if func.is_primitive:
        return func
    return apply_rules(apply_rules(func, BACKWARD, mod), FORWARD, mod)
