"""PackWeights: which convolutions and products are packed, how, and that the numbers stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relay.generate import assert_close
from workbench import relay, te
from workbench.core.module import IRModule
from workbench.core.rewrite import why_not
from workbench.relay import transform
from workbench.relay.interpret import interpret
from workbench.relay.transforms.pack_weights import pack_rules
from workbench.target import Target


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def conv2d(channels: int, weight: tuple[int, ...], **attributes: Any) -> Any:
    x = relay.var("x", shape=(2, channels, 9, 7))
    return relay.Function([x], relay.nn.relu(relay.nn.conv2d(x, relay.const(normal(*weight)), **attributes)))


def conv1d(channels: int, weight: tuple[int, ...], bias: bool = False, **attributes: Any) -> Any:
    x = relay.var("x", shape=(2, channels, 20))
    made = relay.nn.conv1d(x, relay.const(normal(*weight)), **attributes)
    made = relay.nn.bias_add(made, relay.const(normal(weight[0]))) if bias else made
    return relay.Function([x], relay.nn.relu(made))


def transposed(weight: tuple[int, ...], **attributes: Any) -> Any:
    x = relay.var("x", shape=(2, 6, 5, 4))
    return relay.Function([x], relay.nn.relu(relay.nn.conv2d_transpose(x, relay.const(normal(*weight)), **attributes)))


def channels_last(weight: tuple[int, ...], constant: bool, **attributes: Any) -> Any:
    """Data NHWC of 9 rows and 7 columns, weight HWIO."""
    x, held = relay.var("x", shape=(2, 9, 7, 3)), relay.var("w", shape=weight)
    taps = relay.const(normal(*weight)) if constant else held
    made = relay.nn.conv2d(x, taps, data_layout="NHWC", kernel_layout="HWIO", **attributes)
    return relay.Function([x] if constant else [x, held], relay.nn.relu(made))


def depthwise_last(channels: int) -> Any:
    x = relay.var("x", shape=(2, 9, 7, channels))
    taps = relay.const(normal(3, 3, channels, 1))
    made = relay.nn.conv2d(x, taps, groups=channels, padding=1, data_layout="NHWC", kernel_layout="HWOI")
    return relay.Function([x], relay.nn.relu(made))


def variable(data: tuple[int, ...], weight: tuple[int, ...], operator: Any, **attributes: Any) -> Any:
    """A weight that each run brings."""
    x, w = relay.var("x", shape=data), relay.var("w", shape=weight)
    return relay.Function([x, w], relay.nn.relu(operator(x, w, **attributes)))


def turned(rows: int) -> Any:
    """A product with a matrix that each run brings, as ONNX writes it: through its transposed form."""
    x, w = relay.var("x", shape=(rows, 5)), relay.var("w", shape=(5, 12))
    return relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, relay.transpose(w, axes=(1, 0)))))


@pytest.mark.parametrize(("rows", "operator"), [(1, "nn.matmul"), (7, "nn.matmul"), (8, "nn.contrib_dense_pack")])
def test_what_is_read_too_rarely_to_be_packed_is_not_transposed_either(rows: int, operator: str) -> None:
    module = transform.InferType()(IRModule.from_expr(turned(rows)))
    made = transform.InferType()(transform.PackWeights(lanes=4)(module))
    assert f"R.{operator}(" in made.script() and ("R.transpose" in made.script()) == (rows == 8)
    given = operands(module["main"])
    assert_close(interpret(made["main"], *given), interpret(module["main"], *given))
    lib = relay.build(IRModule.from_expr(turned(rows)), target="llvm")
    (found,) = lib.run(dict(zip("xw", given, strict=True))).values()
    assert_close(found, interpret(module["main"], *given))


def infer(function: Any) -> Any:
    return transform.InferType()(IRModule.from_expr(function))["main"]


def test_what_is_computed_from_nothing_is_no_convolution() -> None:
    ones = relay.squeeze(relay.ones(shape=(1, 4, 1, 6), dtype="float32"), axis=(2,))
    mod = transform.InferType()(IRModule.from_expr(relay.Function([], relay.nn.relu(ones))))
    with Target("llvm"):
        assert "squeeze" in transform.PackWeights()(mod).script()


CASES = {
    "transposed": (transposed((6, 3, 2, 3), strides=(2, 3)), {"blocks"}),
    "transposed to one channel": (transposed((6, 1, 2, 2), strides=2), {"blocks"}),
    "transposed, overlapping": (transposed((6, 3, 3, 3), strides=2), set()),
    "transposed, cut": (transposed((6, 3, 2, 2), strides=2, padding=1), set()),
    "plain": (conv2d(3, (8, 3, 3, 3), padding=1), {"blocks"}),
    "whole groups": (conv2d(6, (8, 3, 3, 3), groups=2), {"blocks"}),
    "broken groups": (conv2d(6, (10, 3, 3, 3), groups=2, strides=2, padding=1), {"blocks", "filled"}),
    "three broken groups": (conv2d(6, (9, 2, 1, 1), groups=3), {"blocks", "filled"}),
    "depthwise": (conv2d(6, (6, 1, 3, 3), groups=6), set()),
    "small groups": (conv2d(8, (4, 2, 1, 1), groups=4), set()),
    "sequence": (conv1d(3, (8, 3, 5), strides=2), {"blocks", "widened"}),
    "sequence, padding": (
        conv1d(3, (6, 3, 3), True, padding=(1, 2), dilation=2),
        {"blocks", "widened"},
    ),
    "sequence in groups": (conv1d(4, (8, 2, 3), groups=2), {"blocks", "widened"}),
    "sequence in broken groups": (conv1d(4, (6, 2, 3), groups=2), set()),
    "channels last": (channels_last((3, 3, 3, 8), True, padding=1), {"blocks"}),
    "channels last, filled up": (channels_last((1, 2, 3, 6), True, strides=2), {"blocks"}),
    "channels last, variable": (channels_last((3, 3, 3, 8), False, padding=1, dilation=2), {"blocks"}),
    "channels last, depthwise": (depthwise_last(8), set()),
    "variable": (variable((2, 3, 9, 7), (8, 3, 3, 3), relay.nn.conv2d, padding=1), {"blocks"}),
    "variable, broken groups": (
        variable((2, 6, 9, 7), (10, 3, 3, 3), relay.nn.conv2d, groups=2), {"blocks", "filled"},
    ),
    "variable sequence": (variable((2, 3, 20), (8, 3, 5), relay.nn.conv1d), {"blocks", "widened"}),
    "variable, transposed": (
        variable((2, 6, 5, 4), (6, 3, 2, 3), relay.nn.conv2d_transpose, strides=(2, 3)), {"blocks"},
    ),
    "variable, few positions": (variable((1, 3, 2, 3), (8, 3, 1, 1), relay.nn.conv2d), set()),
    "variable product": (variable((9, 5), (7, 5), relay.nn.dense), {"rows"}),
    "variable product of many axes": (variable((2, 4, 5), (7, 5), relay.nn.dense), {"rows"}),
    "variable product, few rows": (variable((7, 5), (8, 5), relay.nn.dense), set()),
}  # fmt: skip


def operands(function: Any) -> list[np.ndarray]:
    return [normal(*(int(extent) for extent in one.checked_type.shape)) for one in function.params]


@pytest.mark.parametrize("name", CASES)
def test_numbers_stay_and_weights_lie_in_blocks(name: str) -> None:
    function, changes = CASES[name]
    module = transform.InferType()(IRModule.from_expr(function))
    made = transform.InferType()(transform.PackWeights(lanes=4)(module))
    given = operands(module["main"])
    assert_close(interpret(made["main"], *given), interpret(module["main"], *given))
    text = made.script()
    assert ("NC4n" in text) == ("rows" in changes)
    assert ("OIHW4o" in text) == ("blocks" in changes)
    assert made["main"].checked_type == module["main"].checked_type
    assert ("squeeze" in text) == ("widened" in changes)
    assert ("strided_slice" in text) == ("filled" in changes)
    if "widened" in changes:
        assert text.index("relu") < text.index("squeeze"), "the squeeze comes last, so that relu is fused"


@pytest.mark.parametrize("name", CASES)
def test_native_code_agrees(name: str) -> None:
    function, _ = CASES[name]
    typed = infer(function)
    given = operands(typed)
    lib = relay.build(IRModule.from_expr(function), target="llvm -mcpu=x86-64-v3")
    (found,) = lib.run(dict(zip("xw", given, strict=False))).values()
    assert_close(found, interpret(typed, *given))


REFUSALS = {
    "transposed, overlapping": "the strides are the kernel's extents; found (2, 2) and (3, 3)",
    "transposed, cut": "nothing is cut from the result; found padding (1, 1, 1, 1), output_padding (0, 0)",
    "depthwise": "there is one group, or each has at least 2 output channels; found 6 groups of 1",
    "small groups": "there is one group, or each has at least 2 output channels; found 4 groups of 1",
    "variable, few positions": (
        "the weight is a constant, or the data have at least 8 positions; found 6 positions"
    ),
    "variable product, few rows": (
        "the weight is a constant, or the data have at least 8 positions; found 7 positions"
    ),
    "sequence in broken groups": (
        "there is one group of channels, or each has a multiple of 4 output channels; found 2 groups of 3"
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_not_packed_says_why(name: str) -> None:
    function, _ = CASES[name]
    (rule, *_) = pack_rules(lanes=4)
    assert str(why_not(rule, infer(function).body.args[0])) == REFUSALS[name]


def test_few_channels_and_unknown_shapes_say_why() -> None:
    (rule, *_) = pack_rules(lanes=16)
    x, any_x = relay.var("x", shape=(1, 3, 5, 5)), relay.var("x", shape=(1, 3, te.var("n"), 5))
    weight = relay.const(normal(8, 3, 1, 1))
    found = [
        why_not(rule, relay.nn.conv2d(x, relay.const(normal(4, 3, 1, 1)))),
        why_not(rule, relay.nn.conv2d(any_x, weight)),
        why_not(rule, relay.nn.dense(relay.var("x", shape=(9, 5)), relay.var("w", shape=(te.var("m"), 5)))),
        why_not(rule, relay.nn.conv2d(x, weight, out_layout="NHWC")),
    ]
    assert [str(one).split(";")[0] for one in found] == [
        "there are at least 8 output channels", "the shapes of data and weight are known",
        "the shapes of data and weight are known", "the result lies as NCHW",
    ]  # fmt: skip


@pytest.mark.parametrize("constant", [True, False])
def test_weights_in_blocks_of_inputs_as_well_are_packed_anew(constant: bool) -> None:
    """NCHW16c with OIHW16i16o, as others write such networks: no kernel reads it, and it took 20 times as long."""
    x, held = relay.var("x", shape=(1, 2, 9, 7, 16)), relay.var("w", shape=(3, 2, 3, 3, 16, 16))
    taps = relay.const(normal(3, 2, 3, 3, 16, 16)) if constant else held
    made = relay.nn.conv2d(
        x, taps, padding=1, channels=48, kernel_size=3, data_layout="NCHW16c", kernel_layout="OIHW16i16o"
    )
    func = relay.Function([x] if constant else [x, held], made)
    mod = transform.PackWeights(lanes=16)(transform.InferType()(IRModule.from_expr(func)))
    assert 'kernel_layout="OIHW16o"' in mod.script() and 'dst_layout="OIHW"' in mod.script()
    given = [normal(1, 2, 9, 7, 16), *([] if constant else [normal(3, 2, 3, 3, 16, 16)])]
    assert_close(interpret(mod, *given), interpret(IRModule.from_expr(func), *given))
