"""How values lie after layouts were changed: told for every operator that computes on moved data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import relay
from workbench.core.transform import PASSES
from workbench.driver.intermediates import intermediates
from workbench.relay.ir.operator import Placed
from workbench.relay.placements import placements

NHWC = Placed("NHWC", "NCHW")
SHAPE = (1, 4, 6, 6)
"""Height and width are alike: the shape alone does not tell which is which."""


def opened(body: Any, x: Any, layout: str = "NHWC", shape: tuple[int, ...] = SHAPE) -> Any:
    """A session whose convolutions compute in `layout`."""
    weights = relay.const(np.random.default_rng(0).standard_normal((4, 4, 3, 3)).astype("float32"))
    function = relay.Function([x], body(lambda data: relay.nn.conv2d(data, weights, padding=1)))
    convert = PASSES["ConvertLayout"](desired_layouts={"nn.conv2d": [layout]})
    return wb.open(function).without("AlterOpLayout").rerun(insert={"PackWeights": convert})


def data() -> Any:
    return relay.var("x", shape=SHAPE, dtype="float32")


BODIES: dict[str, Any] = {
    "relu": lambda conv, x: relay.nn.relu(conv(x)),
    "bias": lambda conv, x: relay.nn.bias_add(conv(x), relay.const(np.arange(4, dtype="float32"))),
    "add": lambda conv, x: relay.add(conv(x), conv(relay.exp(x))),
    "pool": lambda conv, x: relay.nn.max_pool2d(conv(x), (2, 2), strides=(1, 1)),
    "mean": lambda conv, x: relay.mean(conv(x), axis=[3], keepdims=True),
    "gone": lambda conv, x: relay.exp(relay.sum(conv(x), axis=[2])),
    "turned": lambda conv, x: relay.exp(relay.transpose(conv(x), axes=[0, 1, 3, 2])),
    "joined": lambda conv, x: relay.concatenate([conv(x), conv(relay.exp(x))], axis=1),
    "cut": lambda conv, x: relay.exp(relay.split(conv(x), 2, axis=1)[1]),
    "softmax": lambda conv, x: relay.nn.softmax(conv(x), axis=1),
    "padded": lambda conv, x: relay.nn.pad(conv(x), pad_width=((0, 0), (0, 0), (1, 0), (0, 2))),
    "flat": lambda conv, x: relay.nn.relu(relay.nn.batch_flatten(conv(x))),
}


@pytest.mark.parametrize("step", ["ConvertLayout", "FuseOps"])
@pytest.mark.parametrize("name", BODIES)
def test_values_are_compared_in_the_order_in_which_they_lie(name: str, step: str) -> None:
    """Fused or not: each value stands beside an imported one, and none is wrong."""
    x = data()
    session = opened(lambda conv: BODIES[name](conv, x), x)
    given = {"x": np.random.default_rng(1).standard_normal(SHAPE).astype("float32")}
    moved = placements(session.step("ConvertLayout").stage.module["main"])
    assert NHWC in moved.values()
    found = [one for one in intermediates(session, given, step).tensors if one.gap is not None]
    assert any(one.value.shape == (1, 6, 6, 4) for one in found) or step == "FuseOps"
    assert found and all(one.gap is not None and one.gap.right for one in found)
    assert all(one.expected is not None and one.expected.shape == one.value.shape for one in found)


def test_every_convolution_of_a_chain_has_its_yardstick() -> None:
    x = data()
    session = opened(lambda conv: conv(relay.nn.relu(conv(relay.exp(x)))), x)
    given = {"x": np.ones(SHAPE, np.float32)}
    names = [one.against.split("(")[0] for one in intermediates(session, given, "FuseOps").tensors if one.gap]
    assert len([name for name in names if name.startswith(("nn.conv2d", "nn.relu"))]) >= 2


def test_what_lies_as_ever_is_left_out() -> None:
    x = data()
    session = opened(lambda conv: relay.exp(conv(x)), x)
    main = session.step("InferType").stage.module["main"]
    assert placements(main) == {}
    moved = placements(session.step("ConvertLayout").stage.module["main"])
    last = session.step("ConvertLayout").stage.module["main"].body
    assert id(last) not in moved, "the result was moved back"


def test_split_axes_are_left_out() -> None:
    x = data()
    session = opened(lambda conv: relay.exp(conv(x)), x, "NCHW4c")
    assert placements(session.step("ConvertLayout").stage.module["main"]) == {}
    given = {"x": np.ones(SHAPE, np.float32)}
    assert all(one.gap is None or one.gap.right for one in intermediates(session, given, "ConvertLayout").tensors)
