"""PackWeights and Winograd: which convolutions go by tiles, which not and why, and that the numbers stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.topi.judges_nn import run
from workbench import relay
from workbench.core.module import IRModule
from workbench.core.rewrite import why_not
from workbench.relay import transform
from workbench.relay.transforms.pack_weights import pack_rules

RANDOM = np.random.default_rng(0)
LAYOUTS = {"NCHW": ("OIHW", (0, 1, 2, 3)), "NHWC": ("HWIO", (2, 3, 1, 0))}


def conv(
    channels: int = 64, filters: int = 64, size: int = 28, taps: int = 3, layout: str = "NCHW", dtype: str = "float32",
    constant: bool = True, **attributes: Any,
) -> Any:  # fmt: skip
    """A call of nn.conv2d over data of that size, the weight O, I, H, W moved to the layout."""
    shape = (1, channels, size, size) if layout == "NCHW" else (1, size, size, channels)
    kernel_layout, order = LAYOUTS[layout]
    groups = attributes.get("groups", 1)
    weight = RANDOM.normal(size=(filters, channels // groups, taps, taps)).astype(dtype).transpose(order)
    held: Any = relay.const(np.ascontiguousarray(weight)) if constant else relay.var("w", shape=weight.shape)
    x = relay.var("x", shape=shape, dtype=dtype)
    made = {"padding": taps // 2, "data_layout": layout, "kernel_layout": kernel_layout, **attributes}
    return relay.nn.conv2d(x, held, **made)


def packed(call: Any, level: int = 3, **options: Any) -> IRModule:
    params = [one for one in call.args if isinstance(one, relay.Var)]
    module = transform.InferType()(IRModule.from_expr(relay.Function(params, relay.nn.relu(call))))
    with wb.PassContext(opt_level=level):
        return transform.FoldConstant()(transform.InferType()(transform.PackWeights(lanes=8, **options)(module)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_convolution_of_many_channels_goes_by_tiles(layout: str) -> None:
    call = conv(layout=layout)
    made = packed(call)
    assert "winograd_without_weight_transform" in made.script() and "weight_transform(" not in made.script().replace(
        "without_weight_transform(", ""
    ), "the weight's transform is folded"
    x = RANDOM.normal(size=tuple(call.args[0].checked_type.concrete_shape)).astype("float32")
    (found,) = wb.open(made).run({"x": x}).values()
    weight = call.args[1].data.numpy()
    if layout == "NHWC":
        x, found = (np.asarray(one).transpose(0, 3, 1, 2) for one in (x, found))
        weight = weight.transpose(3, 2, 0, 1)
    x, weight = np.ascontiguousarray(x), np.ascontiguousarray(weight)
    (wanted,), (scale,) = (run("Conv", operands, pads=[1] * 4) for operands in ([x, weight], [abs(x), abs(weight)]))
    assert (abs(np.asarray(found) - np.maximum(wanted, 0)) / scale).max() < 1e-5


@pytest.mark.parametrize(
    ("level", "options"), [(2, {}), (1, {}), (3, {"winograd": False})], ids=["level 2", "level 1", "switched off"]
)
def test_where_it_is_not_wanted(level: int, options: dict[str, Any]) -> None:
    made = packed(conv(), level, **options)
    assert "winograd" not in made.script() and "OIHW8o" in made.script()


def test_a_session_hears_the_switch() -> None:
    call = conv()
    session = wb.open(IRModule.from_expr(relay.Function([call.args[0]], call)), target="llvm -mcpu=x86-64-v3")
    assert any("winograd" in name for name in session.kernels)
    without = session.rerun(replace={"PackWeights": transform.PackWeights(winograd=False)})
    assert not any("winograd" in name for name in without.kernels)


REFUSALS: dict[str, tuple[Any, str]] = {
    "strided": (conv(strides=2), "strides, dilation and groups are 1; found strides (2, 2), dilation (1, 1), 1 groups"),
    "dilated": (
        conv(dilation=2), "strides, dilation and groups are 1; found strides (1, 1), dilation (2, 2), 1 groups",
    ),
    "grouped": (conv(groups=2), "strides, dilation and groups are 1; found strides (1, 1), dilation (1, 1), 2 groups"),
    "one tap": (conv(taps=1), "roundings grow by tiles to at most 128 times; found 1 x 1 taps"),
    "seven taps": (conv(taps=7), "roundings grow by tiles to at most 128 times; found 7 x 7 taps"),
    "few inputs": (conv(channels=12), "the input channels are whole vectors of 8; found 12"),
    "few outputs": (conv(filters=3), "there are at least 4 output channels; found 3"),
    "float64": (conv(dtype="float64"), "the numbers are float32; found float64"),
    "variable": (conv(constant=False), "the weight is a constant, transformed once; found a weight of each run"),
    "other result": (conv(out_layout="NHWC"), "the result lies as NCHW; found NHWC"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_what_does_not_go_by_tiles_says_why(name: str) -> None:
    call, why = REFUSALS[name]
    (rule, *_) = pack_rules(lanes=8, winograd=True)
    assert str(why_not(rule, call)) == why


def test_a_small_picture_of_few_channels_says_what_the_model_found() -> None:
    (rule, *_) = pack_rules(lanes=8, winograd=True)
    told = str(why_not(rule, conv(channels=8, filters=8, size=3)))
    assert told.startswith("tiles take less than 90% of the direct convolution's time, by a model; found ")


def test_another_operator_has_no_tiles() -> None:
    (rule, *_) = pack_rules(lanes=8, winograd=True)
    call = relay.nn.relu(relay.var("x", shape=(3,)))
    assert str(why_not(rule, call)) == "the operator can be computed by Winograd's tiles; found nn.relu"
