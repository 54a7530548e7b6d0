"""Layout rules of users: what they wish is done, what they put in a call's place is checked, faults are told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.relay.op.altering import ALTERINGS


@pytest.fixture(autouse=True)
def unregistered() -> Iterator[None]:
    yield
    for name in tuple(ALTERINGS):
        ALTERINGS.remove(name)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def model() -> relay.Function:
    x = relay.var("x", shape=(1, 32, 9, 9))
    first = relay.nn.relu(relay.nn.conv2d(x, relay.const(normal(48, 32, 3, 3)), padding=1))
    second = relay.nn.conv2d(first, relay.const(normal(20, 48, 1, 1)))
    return relay.Function([x], relay.nn.max_pool2d(second, pool_size=(3, 3)))


def blocks(attrs: Any, inputs: list[Any], tinfos: list[Any], out_type: Any) -> Any:
    """NCHW16c where all channels are whole blocks."""
    assert [one.dtype for one in tinfos] == ["float32"] * 2 and len(out_type.shape) == 4
    if attrs["data_layout"] != "NCHW" or tinfos[0].shape[1] % 16 or tinfos[1].shape[0] % 16:
        return None
    wished = {"data_layout": "NCHW16c", "kernel_layout": "OIHW16i16o", "channels": tinfos[1].shape[0]}
    return relay.nn.conv2d(*inputs, **{**attrs, **wished})


def only_layouts(attrs: Any, inputs: list[Any], tinfos: list[Any], out_type: Any) -> Any:
    return relay.nn.conv2d(*inputs, **{**attrs, "data_layout": "NHWC", "kernel_layout": "HWIO"})


def as_product(attrs: Any, inputs: list[Any], tinfos: list[Any], out_type: Any) -> Any:
    """One tap at every pixel is a product of matrices."""
    if tinfos[1].shape[2:] != (1, 1):
        return None
    (out, inner, _, _), (_, _, high, wide) = tinfos[1].shape, out_type.shape
    rows = relay.reshape(inputs[0], (inner, high * wide))
    return relay.reshape(relay.nn.matmul(relay.reshape(inputs[1], (out, inner)), rows), (1, out, high, wide))


def run(session: Any) -> np.ndarray:
    return next(iter(session.run({"x": normal(1, 32, 9, 9)}).values()))


def opened() -> Any:
    with wb.transform.PassContext(opt_level=3):
        return wb.open(model())


@pytest.mark.parametrize(
    ("rule", "said"), [(only_layouts, 'data_layout="NHWC"'), (as_product, "nn.matmul")], ids=["layouts", "in its place"]
)
def test_what_a_rule_says_is_done(rule: Any, said: str) -> None:
    expected = run(opened())
    relay.op.register_alter_op_layout("nn.conv2d", rule)
    session = opened()
    assert said in session["AlterOpLayout"].script()
    np.testing.assert_allclose(run(session), expected, rtol=1e-4, atol=1e-4)


def test_blocks_of_channels_reach_as_far_as_they_are_whole() -> None:
    expected = run(opened())
    relay.op.register_alter_op_layout("nn.conv2d")(blocks)
    session = opened()
    text = session["AlterOpLayout"].script()
    assert text.count('data_layout="NCHW16c"') == 1, text  # the second has 20 output channels
    np.testing.assert_allclose(run(session), expected, rtol=1e-4, atol=1e-4)


def test_none_leaves_every_call_as_it_is() -> None:
    relay.op.register_alter_op_layout("nn.conv2d", lambda *_: None)
    session = opened()
    assert "layout_transform" not in session["AlterOpLayout"].script()


def test_a_rule_of_a_lower_level_is_not_taken() -> None:
    relay.op.register_alter_op_layout("nn.conv2d", only_layouts, level=15)
    relay.op.register_alter_op_layout("nn.conv2d", lambda *_: None, level=10)
    assert "NHWC" in opened()["AlterOpLayout"].script()


def test_a_rule_makes_the_pass_another_one() -> None:
    """A session that was computed before is not what it would be now."""
    before = opened()
    code = before.plan.rows
    relay.op.register_alter_op_layout("nn.conv2d", only_layouts)
    assert opened().plan.rows != code


FAULTS: dict[str, tuple[Any, str]] = {
    "no expression": (lambda *_: 3, "it answers no expression"),
    "it fails": (lambda attrs, *_: attrs["steps"], "it failed"),
    "another type": (lambda attrs, inputs, *_: relay.nn.relu(inputs[0]), "its answer has another type"),
    "a result elsewhere": (
        lambda attrs, inputs, *_: relay.nn.conv2d(*inputs, **{**attrs, "data_layout": "NHWC", "out_layout": "NCHW"}),
        "the result lies otherwise than the data",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_rules_are_told(fault: str) -> None:
    rule, message = FAULTS[fault]
    relay.op.register_alter_op_layout("nn.conv2d", rule)
    with pytest.raises(WorkbenchError, match="E-ALTER-LAYOUT") as caught:
        opened().build()
    assert message in str(caught.value)


def test_what_cannot_be_called_is_refused() -> None:
    rule: Any = "NHWC"
    with pytest.raises(WorkbenchError, match="it cannot be called"):
        relay.op.register_alter_op_layout("nn.conv2d", rule)
    with pytest.raises(WorkbenchError, match=r"E-OPERATOR-UNKNOWN.*\n.*nn.conv2d"):
        relay.op.register_alter_op_layout("nn.conv2", rule)
