"""FoldScaleAxis: multiplications by a constant for each channel move into the weights of a convolution or product.

    R.multiply(R.nn.conv2d(x, w), s)   ->   R.nn.conv2d(x, R.multiply(w, s'))      (backward: after it)
    R.nn.conv2d(R.multiply(x, s), w)   ->   R.nn.conv2d(x, R.multiply(w, s'))      (forward: before it)

Only constant weights are scaled, so that FoldConstant finishes the work; sums may round differently.  Before that,
FoldScaleAxis makes one factor and one summand of chains of them (`fold_affine`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.module import IRModule
from ...core.rewrite import Match, RuleTable
from ...core.transform import PassContext, function_pass
from .. import op as relay
from ..ir import expr as e
from ..ir.operator import ChannelAxes
from ..ir.types import TensorType
from ..patterns import any_, constant, op, where
from .fold_affine import AFFINE, LINEAR, WEIGHTED
from .rules import apply_rules

BACKWARD = RuleTable("BackwardFoldScaleAxis")
FORWARD = RuleTable("ForwardFoldScaleAxis")


def channel_vector(scale: e.Constant, rank: int, axis: int, extent: int) -> np.ndarray | None:
    """The factors along one axis of a tensor of `rank` axes, if a constant varies along no other."""
    shape = scale.data.shape
    if len(shape) > rank or (scale.data.fill_value is not None and scale.data.size > extent):
        return None
    full = (1,) * (rank - len(shape)) + shape
    if any(size != 1 for place, size in enumerate(full) if place != axis) or full[axis] not in (1, extent):
        return None
    return np.broadcast_to(scale.data.numpy().reshape(full[axis]), (extent,))


def _axes(m: Match) -> ChannelAxes:
    found = m["heavy"].op.channel_axes()
    assert found is not None
    return found


def _output_factors(m: Match) -> np.ndarray | None:
    """Factors of each output channel of the bound convolution or product."""
    found, axes, weight = m["heavy"].checked_type, _axes(m), m["weight"].data
    axis, extent = axes.result % len(found.shape), weight.shape[axes.weight_output]
    return channel_vector(m["scale"], len(found.shape), axis, extent) if found.shape[axis] == extent else None


_PER_CHANNEL = where(
    "the factor varies by output channel only", lambda m: _output_factors(m) is not None, lambda m: m["scale"].data
)
_SAME_DTYPE = where(
    "the factor and the weight have the same dtype",
    lambda m: m["scale"].data.dtype == m["weight"].data.dtype,
    lambda m: f"{m['scale'].data.dtype} and {m['weight'].data.dtype}",
)


def _along(factors: np.ndarray, weight: e.Constant, *axes: int) -> e.Constant:
    """Factors (a vector, or a table) as a constant that varies along `axes` of the weight only."""
    rank = len(weight.data.shape)
    places = [axis % rank for axis in axes]
    ordered = factors if sorted(places) == places else factors.T
    shape = [1] * rank
    for place, extent in zip(sorted(places), ordered.shape, strict=True):
        shape[place] = extent
    return e.const(ordered.reshape(shape).astype(weight.data.dtype.to_numpy()))


def _scaled_outputs(m: Match, factors: np.ndarray) -> e.Call:
    """The heavy call with the output channels of its weight scaled."""
    heavy, weight = m["heavy"], m["weight"]
    scaled = relay.call("multiply", weight, _along(factors, weight, _axes(m).weight_output))
    return e.Call(heavy.op, (heavy.args[0], scaled))


_AFTER = op(LINEAR, any_("data"), constant("weight"), name="heavy", once=True)
"""A convolution or product with constant weights, used here only."""
_SUMS = ("add", "subtract")


@BACKWARD.rule(
    "scale-after", op("multiply", _AFTER, constant("scale"), commutative=True), when=[_PER_CHANNEL, _SAME_DTYPE]
)
def scale_after(m: Match) -> Any:
    """(w * x) s is (s w) * x."""
    factors = _output_factors(m)
    return None if factors is None else _scaled_outputs(m, factors)


@BACKWARD.rule(
    "scale-after-sum",
    op(
        "multiply",
        op(_SUMS, _AFTER, any_("other"), name="sum", once=True),
        constant("scale"),
        commutative=True,
    ),
    when=[
        _PER_CHANNEL,
        _SAME_DTYPE,
        where("the other summand is a constant", lambda m: isinstance(m["other"], e.Constant), lambda m: m["other"]),
    ],
)
def scale_after_sum(m: Match) -> Any:
    """(w * x + b) s is (s w) * x + s b."""
    factors = _output_factors(m)
    if factors is None:
        return None
    return e.Call(m["sum"].op, (_scaled_outputs(m, factors), relay.call("multiply", m["other"], m["scale"])))


@BACKWARD.rule(
    "scale-after-bias",
    op(
        "multiply",
        op("nn.bias_add", _AFTER, constant("other"), name="sum", once=True),
        constant("scale"),
        commutative=True,
    ),
    when=[
        _PER_CHANNEL,
        _SAME_DTYPE,
        where(
            "the bias is along the output channels",
            lambda m: (m["sum"].op.axis - _axes(m).result) % len(m["sum"].checked_type.shape) == 0,
            lambda m: m["sum"].op.axis,
        ),
    ],
)
def scale_after_bias(m: Match) -> Any:
    """bias_add(w * x, b) s is bias_add((s w) * x, s b)."""
    factors = _output_factors(m)
    if factors is None or m["other"].data.shape != factors.shape:
        return None
    bias = relay.call("multiply", m["other"], e.const(factors.astype(m["other"].data.dtype.to_numpy())))
    return e.Call(m["sum"].op, (_scaled_outputs(m, factors), bias))


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


_CONSTANT_SUM = op(_SUMS, any_("inner"), constant())
_BIAS = op("nn.bias_add", any_("inner"), constant())


def _leads_to_heavy(expr: e.Expr) -> bool:
    """Whether a factor after `expr` would reach a weight, through sums with constants."""
    while True:
        match = Match(expr)
        if WEIGHTED.match(expr, match) is None:
            return True
        if _CONSTANT_SUM.match(expr, match) is not None and _BIAS.match(expr, match) is not None:
            return False
        expr = match["inner"]


def _input_factors(m: Match) -> np.ndarray | None:
    """Factors of each input channel of the bound convolution or product."""
    found = m["data"].checked_type
    if not isinstance(found, TensorType) or m["heavy"].args[0].checked_type != found:
        return None
    axis = _axes(m).data % len(found.shape)
    extent = found.shape[axis]
    return channel_vector(m["scale"], len(found.shape), axis, extent) if isinstance(extent, int) else None


_BEFORE = op("multiply", any_("data"), constant("scale"), commutative=True, once=True)


@FORWARD.rule(
    "scale-before",
    op(LINEAR, _BEFORE, constant("weight"), name="heavy"),
    when=[
        where(
            "the factor varies by input channel only",
            lambda m: _input_factors(m) is not None,
            lambda m: m["scale"].data,
        ),
        _SAME_DTYPE,
    ],
)
def scale_before(m: Match) -> Any:
    """w * (s x) is (w s) * x: the input channels of the weight take the factors."""
    heavy, weight, factors, axes = m["heavy"], m["weight"], _input_factors(m), _axes(m)
    if factors is None:
        return None
    if axes.groups == 1:
        column = _along(factors, weight, axes.weight_input)
    else:
        each = weight.data.shape[axes.weight_output] // axes.groups
        table = np.repeat(factors.reshape(axes.groups, -1), each, axis=0)
        column = _along(table, weight, axes.weight_output, axes.weight_input)
    return e.Call(heavy.op, (m["data"], relay.call("multiply", weight, column)))


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
    """Join constant factors and summands; then fold factors into weights, those after a convolution first."""
    if func.is_primitive:
        return func
    for rules in (AFFINE, BACKWARD, FORWARD):
        func = apply_rules(func, rules, mod)
    return func
