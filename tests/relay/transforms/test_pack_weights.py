"""PackWeights: which convolutions and products are packed, how, and that the numbers stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relay.generate import assert_close
from workbench import relay
from workbench.core.module import IRModule
from workbench.relay import transform
from workbench.relay.interpret import interpret


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


CASES = {
    "transposed": (transposed((6, 3, 2, 3), strides=(2, 3)), {"transposed-as-pointwise"}),
    "transposed to one channel": (transposed((6, 1, 2, 2), strides=2), {"transposed-as-pointwise"}),
    "transposed, overlapping": (transposed((6, 3, 3, 3), strides=2), set()),
    "transposed, cut": (transposed((6, 3, 2, 2), strides=2, padding=1), set()),
    "plain": (conv2d(3, (8, 3, 3, 3), padding=1), {"pack-conv2d"}),
    "whole groups": (conv2d(6, (8, 3, 3, 3), groups=2), {"pack-conv2d"}),
    "broken groups": (conv2d(6, (10, 3, 3, 3), groups=2, strides=2, padding=1), {"fill-groups"}),
    "three broken groups": (conv2d(6, (9, 2, 1, 1), groups=3), {"fill-groups"}),
    "depthwise": (conv2d(6, (6, 1, 3, 3), groups=6), set()),
    "small groups": (conv2d(8, (4, 2, 1, 1), groups=4), set()),
    "sequence": (conv1d(3, (8, 3, 5), strides=2), {"widen-conv1d", "epilogue-before-squeeze"}),
    "sequence, padding": (
        conv1d(3, (6, 3, 3), True, padding=(1, 2), dilation=2),
        {"widen-conv1d", "bias-before-squeeze", "epilogue-before-squeeze"},
    ),
    "sequence in groups": (conv1d(4, (8, 2, 3), groups=2), {"widen-conv1d", "epilogue-before-squeeze"}),
    "sequence in broken groups": (conv1d(4, (6, 2, 3), groups=2), set()),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_stay_and_the_rules_fire(name: str) -> None:
    function, rules = CASES[name]
    module = transform.InferType()(IRModule.from_expr(function))
    made = transform.InferType()(transform.PackWeights(lanes=4)(module))
    x = normal(*(int(extent) for extent in function.params[0].checked_type.shape))
    assert_close(interpret(made["main"], x), interpret(module["main"], x))
    text = made.script()
    assert ("OIHW4o" in text) == bool(rules)
    assert made["main"].checked_type == module["main"].checked_type
    assert ("squeeze" in text) == ("widen-conv1d" in rules)
    assert ("strided_slice" in text) == ("fill-groups" in rules)
    if "widen-conv1d" in rules:
        assert text.index("relu") < text.index("squeeze"), "the squeeze comes last, so that relu is fused"


@pytest.mark.parametrize("name", CASES)
def test_native_code_agrees(name: str) -> None:
    function, _ = CASES[name]
    x = normal(*(int(extent) for extent in function.params[0].checked_type.shape))
    (found,) = relay.build(IRModule.from_expr(function), target="llvm -mcpu=x86-64-v3").run({"x": x}).values()
    assert_close(found, interpret(transform.InferType()(IRModule.from_expr(function))["main"], x))
