"""Types of weights and vectors that nobody wrote down are told from attributes and data."""

from __future__ import annotations

from typing import Any

import pytest

from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.relay import transform

CASES: dict[str, tuple[str, tuple[int, ...], dict[str, Any], list[tuple[int, ...]]]] = {
    "conv2d": ("nn.conv2d", (1, 6, 8, 8), {"channels": 4, "kernel_size": (3, 2)}, [(4, 6, 3, 2)]),
    "grouped": ("nn.conv2d", (1, 6, 8, 8), {"channels": 4, "kernel_size": (3, 3), "groups": 2}, [(4, 3, 3, 3)]),
    "nhwc": (
        "nn.conv2d",
        (1, 8, 8, 6),
        {"channels": 4, "kernel_size": (3, 2), "data_layout": "NHWC", "kernel_layout": "HWIO"},
        [(3, 2, 6, 4)],
    ),
    "conv1d": ("nn.conv1d", (1, 6, 8), {"channels": 4, "kernel_size": (3,)}, [(4, 6, 3)]),
    "conv3d": ("nn.conv3d", (1, 6, 4, 4, 4), {"channels": 4, "kernel_size": (1, 2, 3)}, [(4, 6, 1, 2, 3)]),
    "transposed": ("nn.conv2d_transpose", (1, 6, 8, 8), {"channels": 4, "kernel_size": (3, 2)}, [(6, 4, 3, 2)]),
    "transposed 1d": ("nn.conv1d_transpose", (1, 6, 8), {"channels": 4, "kernel_size": (3,)}, [(6, 4, 3)]),
    "transposed 3d": (
        "nn.conv3d_transpose",
        (1, 6, 4, 4, 4),
        {"channels": 4, "kernel_size": (2, 2, 2), "groups": 2},
        [(6, 2, 2, 2, 2)],
    ),
    "dense": ("nn.dense", (5, 7), {"units": 3}, [(3, 7)]),
    "bias": ("nn.bias_add", (5, 7), {"axis": -1}, [(7,)]),
    "prelu": ("nn.prelu", (5, 7, 2), {}, [(7,)]),
    "layer norm": ("nn.layer_norm", (5, 7), {}, [(7,)] * 2),
    "instance norm": ("nn.instance_norm", (5, 7, 3), {}, [(7,)] * 2),
    "batch norm": ("nn.batch_norm", (5, 7, 3), {"axis": 2}, [(3,)] * 4),
}


@pytest.mark.parametrize("case", CASES)
def test_types_are_told(case: str) -> None:
    name, shape, attributes, expected = CASES[case]
    data = relay.var("data", shape=shape, dtype="float64")
    weights = [relay.var(f"w{index}") for index in range(len(expected))]
    function = relay.Function([data, *weights], relay.op.call(name, data, *weights, **attributes))
    transform.InferType()(IRModule.from_expr(function))
    assert [weight.checked_type for weight in weights] == [relay.TensorType(one, "float64") for one in expected]


@pytest.mark.parametrize(
    ("name", "shape", "attributes"),
    [
        ("nn.conv2d", (1, 6, 8, 8), {"channels": 4}),
        ("nn.conv2d", (1, 6, 8, 8), {"channels": 4, "kernel_size": (3, 3), "groups": 5}),
        ("nn.conv2d", (1, 6, 8, 8), {"channels": 4, "kernel_size": (3, 3), "kernel_layout": "OIHW4o"}),
        ("nn.dense", (5, 7), {}),
        ("nn.bias_add", (5, 7), {"axis": 4}),
    ],
)
def test_what_is_not_told_is_refused(name: str, shape: tuple[int, ...], attributes: dict[str, Any]) -> None:
    data, weight = relay.var("data", shape=shape), relay.var("weight")
    function = relay.Function([data, weight], relay.op.call(name, data, weight, **attributes))
    with pytest.raises(WorkbenchError, match="cannot be inferred"):
        transform.InferType()(IRModule.from_expr(function))


def test_two_uses_must_agree() -> None:
    data, weight = relay.var("data", shape=(5, 7)), relay.var("weight")
    twice = relay.Tuple((relay.nn.dense(data, weight, units=3), relay.nn.dense(data, weight, units=4)))
    with pytest.raises(WorkbenchError) as caught:
        transform.InferType()(IRModule.from_expr(relay.Function([data, weight], twice)))
    assert caught.value.code.startswith("E-TYPE")
