"""FoldScaleAxis: factors move into the weights of whatever says where its channels lie, and no number changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from workbench import IRModule, relay
from workbench.core.node import post_order
from workbench.core.rewrite import why_not
from workbench.core.tensor import Tensor
from workbench.relay import transform
from workbench.relay.interpret import interpret
from workbench.relay.ir import expr as e
from workbench.relay.ir.infer import infer_type
from workbench.relay.transforms import fold_scale_axis

rng = np.random.default_rng(7)


def constant(*shape: int, dtype: str = "float32") -> e.Constant:
    return relay.const(rng.integers(-4, 5, shape).astype(dtype))


def powers(*shape: int) -> e.Constant:
    """Powers of two, so that scaling rounds nothing."""
    return relay.const((2.0 ** rng.integers(-2, 3, shape)).astype("float32"))


def folded(body: e.Expr, *params: e.Var) -> tuple[e.Function, e.Function]:
    mod = infer_type(IRModule({"main": e.Function(params, body)}))
    return mod["main"], transform.FoldScaleAxis()(mod)["main"]


def agree(before: e.Function, after: e.Function) -> None:
    values = [rng.integers(-4, 5, one.checked_type.shape).astype(str(one.checked_type.dtype)) for one in before.params]
    np.testing.assert_array_equal(interpret(after, *values), interpret(before, *values))


Case = tuple[tuple[int, ...], tuple[int, ...], Callable[[Any, Any], Any], tuple[int, ...], tuple[int, ...]]
CASES: dict[str, Case] = {
    "conv2d": ((2, 4, 6, 5), (8, 4, 3, 3), relay.nn.conv2d, (8, 1, 1), (4, 1, 1)),
    "conv2d in groups": (
        (2, 4, 6, 5), (8, 2, 3, 3), lambda x, w: relay.nn.conv2d(x, w, groups=2), (8, 1, 1), (4, 1, 1),
    ),
    "conv2d NHWC": (
        (2, 6, 5, 4), (3, 3, 4, 8),
        lambda x, w: relay.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO"), (8,), (4,),
    ),
    "conv2d NHWC in groups": (
        (2, 6, 5, 4), (3, 3, 2, 8),
        lambda x, w: relay.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO", groups=2), (8,), (4,),
    ),
    "conv1d": ((2, 4, 6), (8, 4, 3), relay.nn.conv1d, (8, 1), (4, 1)),
    "conv3d": ((1, 2, 4, 4, 4), (3, 2, 2, 2, 2), relay.nn.conv3d, (3, 1, 1, 1), (2, 1, 1, 1)),
    "conv2d_transpose": ((2, 4, 3, 3), (4, 5, 2, 2), relay.nn.conv2d_transpose, (5, 1, 1), (4, 1, 1)),
    "conv1d_transpose": ((2, 4, 3), (4, 5, 2), relay.nn.conv1d_transpose, (5, 1), (4, 1)),
    "dense": ((3, 4), (8, 4), relay.nn.dense, (8,), (4,)),
    "matmul": ((3, 4), (4, 8), relay.nn.matmul, (8,), (4,)),
    "matmul, a transposed": ((4, 3), (4, 8), lambda x, w: relay.nn.matmul(x, w, transpose_a=True), (8,), (4, 1)),
    "batch_matmul": ((2, 3, 4), (2, 8, 4), relay.nn.batch_matmul, (8,), (4,)),
    "batch_matmul, plain": (
        (2, 3, 4), (1, 4, 8), lambda x, w: relay.nn.batch_matmul(x, w, transpose_b=False), (1, 1, 8), (4,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_factors_of_outputs_move_into_the_weight(name: str) -> None:
    shape, weight, build, outputs, _ = CASES[name]
    x = relay.var("x", shape=shape)
    before, after = folded(relay.multiply(build(x, constant(*weight)), powers(*outputs)), x)
    assert isinstance(after.body, e.Call) and after.body.op.name != "multiply"
    agree(before, after)


@pytest.mark.parametrize("name", CASES)
def test_factors_of_inputs_move_into_the_weight(name: str) -> None:
    shape, weight, build, _, inputs = CASES[name]
    x = relay.var("x", shape=shape)
    before, after = folded(build(relay.multiply(x, powers(*inputs)), constant(*weight)), x)
    assert after.body.args[0] is after.params[0]
    agree(before, after)


@pytest.mark.parametrize("wrap", ["sum", "bias", "relu of bias"])
def test_factors_pass_sums_and_relu(wrap: str) -> None:
    x = relay.var("x", shape=(2, 6, 5, 4))
    conv = relay.nn.conv2d(x, constant(3, 3, 4, 8), data_layout="NHWC", kernel_layout="HWIO")
    summed = relay.add(conv, constant(8)) if wrap == "sum" else relay.nn.bias_add(conv, constant(8), axis=-1)
    before, after = folded(relay.multiply(relay.nn.relu(summed) if "relu" in wrap else summed, powers(8)), x)
    assert after.body.op.name != "multiply"
    agree(before, after)


def test_a_bias_along_another_axis_of_that_extent_stays() -> None:
    x = relay.var("x", shape=(1, 3, 8, 8))
    conv = relay.nn.conv2d(x, constant(8, 3, 3, 3), padding=1)
    before, after = folded(relay.multiply(relay.nn.bias_add(conv, constant(8), axis=2), powers(8, 1, 1)), x)
    agree(before, after)
    found = why_not(fold_scale_axis.BACKWARD["scale-after-bias"], before.body)
    assert str(found) == "the bias is along the output channels; found 2"


@pytest.mark.parametrize(
    ("weights", "result", "factor"), [("int8", "int32", 300), ("float16", "float32", 70000), ("int8", "int16", 2)]
)
def test_a_factor_that_the_weight_cannot_hold_stays(weights: str, result: str, factor: float) -> None:
    x = relay.var("x", shape=(1, 3, 6, 6), dtype=weights)
    scale = relay.const(np.full((4, 1, 1), factor, result))
    conv = relay.nn.conv2d(x, constant(4, 3, 3, 3, dtype=weights), out_dtype=result)
    before, after = folded(relay.multiply(conv, scale), x)
    agree(before, after)
    found = why_not(fold_scale_axis.BACKWARD["scale-after"], before.body)
    assert str(found) == f"the factor and the weight have the same dtype; found {result} and {weights}"


def test_blocked_channels_are_no_axis() -> None:
    x = relay.var("x", shape=(1, 2, 6, 6, 4))
    conv = relay.nn.conv2d(x, constant(8, 8, 3, 3), data_layout="NCHW4c")
    found = why_not(fold_scale_axis.BACKWARD["scale-after"], relay.multiply(conv, powers(2, 1, 1, 4)))
    assert "a call of a convolution or product whose channels are axes" in str(found)


# --- chains of factors and summands -----------------------------------------------------------------------------------


def operators_of(function: e.Function) -> list[str]:
    return [node.op.name for node in post_order(function.body) if isinstance(node, e.Call)]


def test_two_batch_norms_after_a_convolution_become_weights_and_one_bias() -> None:
    x = relay.var("x", shape=(1, 3, 5, 5))
    body: e.Expr = relay.nn.conv2d(x, constant(4, 3, 3, 3))
    for _ in range(2):
        body = relay.add(relay.multiply(body, powers(4, 1, 1)), constant(4, 1, 1))
    before, after = folded(body, x)
    constants = transform.FoldConstant()(IRModule({"main": after}))["main"]
    assert operators_of(constants) == ["nn.conv2d", "add"]
    agree(before, after)


def test_a_bias_before_a_batch_norm_joins_its_summand() -> None:
    x = relay.var("x", shape=(1, 3, 5, 5))
    body: e.Expr = relay.add(relay.nn.conv2d(x, constant(4, 3, 3, 3)), constant(4, 1, 1))
    body = relay.nn.relu(relay.add(relay.multiply(body, powers(4, 1, 1)), constant(4, 1, 1)))
    before, after = folded(body, x)
    constants = transform.FoldConstant()(IRModule({"main": after}))["main"]
    assert operators_of(constants) == ["nn.conv2d", "add", "nn.relu"]
    agree(before, after)


def test_two_batch_norms_of_an_input_become_one() -> None:
    x = relay.var("x", shape=(1, 4, 5, 5))
    body: e.Expr = x
    for _ in range(3):
        body = relay.add(relay.multiply(powers(4, 1, 1), body), constant(4, 1, 1))
    before, after = folded(body, x)
    assert operators_of(after) == ["multiply", "add"]
    agree(before, after)


def test_a_sum_alone_keeps_its_factor() -> None:
    x = relay.var("x", shape=(1, 4, 5, 5))
    _, after = folded(relay.multiply(relay.add(x, constant(4, 1, 1)), powers(4, 1, 1)), x)
    assert operators_of(after) == ["add", "multiply"]


def number(value: float) -> e.Constant:
    return relay.const(np.float64(value))


def small(value: float) -> e.Constant:
    return relay.const(np.asarray(value).astype(ml_dtypes.bfloat16))


CHAINS_THAT_STAY: dict[str, Callable[[e.Expr], e.Expr]] = {
    "what saturates": lambda x: relay.multiply(relay.multiply(x, relay.const(1e38)), relay.const(2e-38)),
    "what vanishes": lambda x: relay.multiply(relay.multiply(x, relay.const(1e-30)), relay.const(1e30)),
    "a product beyond float32": lambda x: relay.multiply(relay.multiply(x, relay.const(1e30)), relay.const(1e30)),
    "a product below float32": lambda x: relay.multiply(relay.multiply(x, relay.const(1e-30)), relay.const(1e-30)),
    "an infinite factor": lambda x: relay.multiply(relay.multiply(x, relay.const(np.float32("inf"))), powers(1)),
    "a sum beyond float32": lambda x: relay.add(relay.add(x, relay.const(3e38)), relay.const(3e38)),
    "a product below float64": lambda x: relay.multiply(relay.multiply(x, number(1e-200)), number(1e-200)),
    "a product beyond float64": lambda x: relay.multiply(relay.multiply(x, number(1e200)), number(1e200)),
    "a product below bfloat16": lambda x: relay.multiply(relay.multiply(x, small(1e-30)), small(1e-30)),
    "a large number that rounds": lambda x: relay.add(relay.add(x, relay.const(12582912.0)), relay.const(-12582912.0)),
    "summands that nearly cancel": lambda x: relay.add(relay.add(x, relay.const(1e8)), relay.const(-1e8 + 8)),
    "a constant of more elements": lambda x: relay.add(relay.add(x, constant(4, 1, 1)), constant(1, 5)),
}


@pytest.mark.parametrize("name", CHAINS_THAT_STAY)
def test_constants_that_would_not_be_what_they_were_stay_apart(name: str) -> None:
    kind = next((one for one in ("float64", "bfloat16") if one in name), "float32")
    x = relay.var("x", shape=(1, 4, 5, 5), dtype=kind)
    before, after = folded(CHAINS_THAT_STAY[name](x), x)
    assert operators_of(after) == operators_of(before)


def test_integers_that_wrap_and_values_that_are_used_twice_stay() -> None:
    y = relay.var("y", shape=(4,), dtype="int8")
    before, after = folded(relay.multiply(relay.multiply(y, relay.const(np.int8(9))), relay.const(np.int8(9))), y)
    assert operators_of(after) == operators_of(before)
    x = relay.var("x", shape=(1, 4, 5, 5))
    inner = relay.multiply(x, powers(4, 1, 1))
    before, after = folded(relay.add(relay.multiply(inner, powers(4, 1, 1)), inner), x)
    assert operators_of(after) == operators_of(before)


def test_repeated_values_stay_one_number() -> None:
    x = relay.var("x", shape=(64, 64))
    twos = [e.Constant(Tensor.full((64, 64), 2.0, "float32")) for _ in range(2)]
    before, after = folded(relay.multiply(relay.multiply(x, twos[0]), twos[1]), x)
    (factor,) = [node for node in post_order(after.body) if isinstance(node, e.Constant)]
    assert factor.data.fill_value == 4 and factor.data.shape == (64, 64)
    agree(before, after)


def test_chains_of_doubles_are_combined() -> None:
    x = relay.var("x", shape=(3,), dtype="float64")
    factors = [relay.const(np.array([2.0, 3.0, 0.5])), relay.const(np.array([0.0, 5.0, 0.25]))]
    before, after = folded(relay.multiply(relay.multiply(x, factors[0]), factors[1]), x)
    assert operators_of(after) == ["multiply"]
    agree(before, after)


def test_half_precision_stays_within_its_range() -> None:
    """(2 x - 1000) 50 of 700 is 20,000; 100 x alone is beyond the dtype."""
    x = relay.var("x", shape=(4,), dtype="float16")
    two, shift, fifty = (relay.const(np.float16(value)) for value in (2, -1000, 50))
    before, after = folded(relay.multiply(relay.add(relay.multiply(x, two), shift), fifty), x)
    assert operators_of(after) == operators_of(before)
    np.testing.assert_array_equal(interpret(after, np.float16([700, 600, 500, 501])), [20000, 10000, 0, 100])


def test_numpys_own_settings_do_not_matter() -> None:
    x = relay.var("x", shape=(4,))
    with np.errstate(all="raise"):
        _, after = folded(relay.multiply(relay.multiply(x, relay.const(np.float32("inf"))), relay.const(0.0)), x)
    assert operators_of(after) == ["multiply", "multiply"]
