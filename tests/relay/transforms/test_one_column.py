"""SimplifyExpr: convolutions over pictures of one column are one-dimensional ones, with the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relay.generate import assert_close
from workbench import relay
from workbench.core.module import IRModule
from workbench.relay import transform
from workbench.relay.analysis import list_op_freqs
from workbench.relay.interpret import interpret
from workbench.relay.ir.verify import verify


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def simplified(data: tuple[int, ...], weight: tuple[int, ...], **attributes: Any) -> tuple[IRModule, IRModule]:
    x = relay.var("x", shape=data)
    body = relay.nn.relu(relay.nn.conv2d(x, relay.const(random(*weight)), **attributes))
    before = transform.InferType()(IRModule.from_expr(relay.Function([x], body)))
    return before, transform.SimplifyExpr()(before)


@pytest.mark.parametrize(
    ("data", "weight", "attributes"),
    [
        ((1, 3, 9, 1), (4, 3, 3, 1), {}),
        ((2, 3, 9, 1), (4, 3, 5, 1), {"padding": (2, 0, 1, 0), "strides": (2, 1)}),
        ((1, 4, 12, 1), (6, 2, 3, 1), {"groups": 2, "dilation": (3, 1)}),
        ((1, 4, 6, 1), (4, 1, 2, 1), {"groups": 4, "channels": 4, "strides": (1, 2)}),
        ((1, 4, 6, 1), (8, 4, 1, 1), {}),
    ],
    ids=["plain", "padded and strided", "groups, dilated", "of each channel", "one tap"],
)
def test_one_column_is_one_dimension(data: Any, weight: Any, attributes: dict[str, Any]) -> None:
    before, after = simplified(data, weight, **attributes)
    verify(after)
    assert list_op_freqs(after).get("nn.conv1d") == 1 and "nn.conv2d" not in list_op_freqs(after)
    x = random(*data)
    assert_close(interpret(after["main"], x), interpret(before["main"], x))
    (found,) = relay.build(before, target="llvm").run({"x": x}).values()
    assert_close(found, interpret(before["main"], x))


@pytest.mark.parametrize(
    ("data", "weight", "attributes"),
    [
        ((1, 3, 9, 2), (4, 3, 3, 1), {}),
        ((1, 3, 9, 1), (4, 3, 3, 3), {"padding": (0, 1)}),
        ((1, 3, 9, 1), (4, 3, 3, 1), {"padding": (0, 1)}),
        ((1, 3, 1, 1), (4, 3, 1, 1), {}),
        ((1, 9, 1, 3), (4, 3, 3, 1), {"data_layout": "NHWC"}),
    ],
    ids=["two columns", "taps beside it", "columns of zeros", "one pixel", "channels last"],
)
def test_other_convolutions_stay(data: Any, weight: Any, attributes: dict[str, Any]) -> None:
    before, after = simplified(data, weight, **attributes)
    assert after is before
