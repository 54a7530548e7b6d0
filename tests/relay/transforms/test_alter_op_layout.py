"""AlterOpLayout: where the layout of a whole graph changes, where it does not, and that the numbers stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.relay.generate import assert_close
from workbench import relay
from workbench.core.module import IRModule
from workbench.core.node import post_order
from workbench.core.rewrite import logging
from workbench.relay import transform
from workbench.relay.analysis import list_op_freqs
from workbench.relay.interpret import interpret
from workbench.relay.ir.verify import verify
from workbench.relay.transform import PassContext
from workbench.relay.transforms.alter_op_layout import AlterOpLayout
from workbench.target import Target


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def conv(x: Any, channels: int, filters: int, kernel: int = 1, **attributes: Any) -> Any:
    groups = attributes.get("groups", 1)
    weight = normal(filters, channels // groups, kernel, kernel)
    weight = relay.const(weight / np.float32(np.sqrt(weight[0].size)))  # so that results stay about 1
    return relay.nn.relu(relay.nn.conv2d(x, weight, padding=(kernel // 2,) * 2, **attributes))


def strided() -> Any:
    """One tap with a step: what is read of a row would be brought side by side, which takes longer than a move."""
    x = relay.var("x", shape=(1, 64, 32, 32))
    return relay.Function([x], relay.nn.global_avg_pool2d(conv(conv(x, 64, 256, strides=2), 256, 64, strides=2)))


def skip_connection() -> Any:
    x = relay.var("x", shape=(1, 64, 32, 32))
    first = conv(x, 64, 64, 3)
    return relay.Function([x], relay.add(conv(first, 64, 64, 3), conv(first, 64, 64, 3)))


def depthwise() -> Any:
    """A bottleneck turned inside out: every second column of pictures NCHW is read nearly as fast as each."""
    x = relay.var("x", shape=(1, 24, 28, 28))
    deep = conv(conv(x, 24, 144), 144, 144, 5, groups=144, strides=2)
    return relay.Function([x], relay.nn.global_avg_pool2d(conv(deep, 144, 40)))


def pointwise() -> Any:
    """One tap at every place is as fast over NCHW: a picture is one row of pixels."""
    x = relay.var("x", shape=(1, 32, 8, 8))
    return relay.Function([x], relay.nn.global_avg_pool2d(conv(conv(x, 32, 64), 64, 64)))


def broken_groups() -> Any:
    x = relay.var("x", shape=(1, 24, 8, 8))
    return relay.Function([x], conv(conv(x, 24, 30, groups=3), 30, 64))


def few_channels() -> Any:
    """Moving costs more than is gained."""
    x = relay.var("x", shape=(1, 2, 40, 40))
    return relay.Function([x], conv(x, 2, 16))


def between() -> Any:
    """Each convolution stands between reshapes that want the data as they were."""
    x = relay.var("x", shape=(1, 16, 32, 32))
    made = x
    for _ in range(3):
        made = relay.reshape(relay.reshape(conv(made, 16, 16), (16, 1024)), (1, 16, 32, 32))
    return relay.Function([x], made)


def by_tiles() -> Any:
    """Winograd's tiles are read and written by vectors of channels."""
    x = relay.var("x", shape=(1, 64, 28, 28))
    return relay.Function([x], relay.nn.global_avg_pool2d(conv(conv(x, 64, 64, 3), 64, 64, 3)))


def at_level_3(module: IRModule) -> IRModule:
    """As in the pipeline from level 3 on, where convolutions may go by Winograd's tiles."""
    with PassContext(opt_level=3):
        return AlterOpLayout(lanes=16)(module)


def test_below_level_3_nothing_goes_by_tiles() -> None:
    x = relay.var("x", shape=(1, 128, 28, 28))
    before = transform.InferType()(IRModule.from_expr(relay.Function([x], conv(conv(x, 128, 128, 3), 128, 128, 3))))
    for after in (AlterOpLayout(lanes=16)(before), at_level_3_without_tiles(before)):
        assert after is before, "directly, it takes as long over both"
    assert at_level_3(before) is not before


def at_level_3_without_tiles(module: IRModule) -> IRModule:
    with PassContext(opt_level=3):
        return AlterOpLayout(lanes=16, winograd=False)(module)


def bytes_of(layers: int) -> Any:
    """Convolutions of one tap over bytes, each brought back to bytes."""
    x = relay.var("x", shape=(1, 64, 28, 28), dtype="uint8")
    body: Any = x
    for _ in range(layers):
        taps = relay.const(np.random.default_rng(0).integers(-127, 128, (64, 64, 1, 1)).astype("int8"))
        sums = relay.nn.conv2d(body, taps, out_dtype="int32")
        body = relay.cast(relay.clip(relay.right_shift(sums, relay.const(np.int32(8))), 0, 255), "uint8")
    return relay.Function([x], body)


def test_convolutions_of_bytes_lie_channels_last_where_the_target_multiplies_bytes() -> None:
    before = transform.InferType()(IRModule.from_expr(bytes_of(4)))
    with PassContext(opt_level=3), Target("llvm -mcpu=znver5"):
        after = AlterOpLayout()(before)
    x = np.random.default_rng(1).integers(0, 256, (1, 64, 28, 28)).astype("uint8")
    assert "NHWC" in after.script()
    np.testing.assert_array_equal(np.asarray(interpret(after["main"], x)), np.asarray(interpret(before["main"], x)))


CHANGED = (by_tiles, skip_connection, strided)
KEPT = (pointwise, broken_groups, few_channels, between, depthwise)


@pytest.mark.parametrize("made", (*CHANGED, *KEPT))
def test_numbers_stay(made: Any) -> None:
    before = transform.InferType()(IRModule.from_expr(made()))
    after = at_level_3(before)
    verify(after)
    x = normal(*(int(extent) for extent in before["main"].params[0].checked_type.shape))
    assert_close(interpret(after["main"], x), interpret(before["main"], x))
    changed = made in CHANGED
    assert ("NHWC" in after.script()) == changed
    assert (after is before) == (not changed)


def test_data_move_at_the_ends_only() -> None:
    after = at_level_3(transform.InferType()(IRModule.from_expr(by_tiles())))
    moves = [line for line in after.script().splitlines() if "layout_transform" in line and "constant" not in line]
    assert len(moves) == 2 and list_op_freqs(after)["nn.conv2d"] == 2


def test_what_the_model_counts_as_tiles_is_computed_by_tiles() -> None:
    """Tiles are for constant weights; what had only been asked to move was none when weights were packed."""
    after = at_level_3(transform.InferType()(IRModule.from_expr(by_tiles())))
    assert "layout_transform(R.constant" not in after.script(), "constants are moved at once"
    session = wb.open(by_tiles(), target="llvm -mcpu=x86-64-v4")
    assert "NHWC" in session["AlterOpLayout"].script()
    assert sum("winograd" in kernel for kernel in session.kernels) == 1, "both layers are alike"


def test_a_transposed_convolution_gets_its_data_as_they_were() -> None:
    """It is a convolution and a move over data NCHW, and has no such form over NHWC."""
    x = relay.var("x", shape=(1, 64, 28, 28))
    deep = conv(conv(x, 64, 64, 3), 64, 64, 3)
    wide = relay.nn.conv2d_transpose(deep, relay.const(normal(64, 24, 2, 2)), strides=(2, 2), channels=24)
    before = transform.InferType()(IRModule.from_expr(relay.Function([x], relay.nn.relu(wide))))
    after = at_level_3(before)
    verify(after)
    found = [call.op.data_layout for call in post_order(after["main"]) if "data_layout" in op_fields(call)]
    assert sorted(found) == ["NCHW", "NHWC", "NHWC"]
    data = normal(1, 64, 28, 28)
    assert_close(interpret(after["main"], data), interpret(before["main"], data))


def op_fields(node: Any) -> tuple[str, ...]:
    return getattr(getattr(node, "op", None), "field_names", ())


@pytest.mark.parametrize("made", KEPT)
def test_what_was_only_tried_is_told_to_nobody(made: Any) -> None:
    with logging() as log:
        at_level_3(transform.InferType()(IRModule.from_expr(made())))
    assert [firing for firing in log if firing.rule.name in ("arrange", "move")] == []


def test_native_code_agrees() -> None:
    function = depthwise()
    x = normal(1, 24, 28, 28)
    after = at_level_3(transform.InferType()(IRModule.from_expr(function)))
    (found,) = relay.build(after, target="llvm").run({"x": x}).values()
    assert_close(found, interpret(transform.InferType()(IRModule.from_expr(function))["main"], x))


@pytest.mark.parametrize("shape", [(0, 32, 8, 8), (2, 32, 8, 8)])
def test_times_of_no_pictures_and_of_several(shape: tuple[int, ...]) -> None:
    """A batch of none was divided by."""
    x = relay.var("x", shape=shape)
    before = transform.InferType()(IRModule.from_expr(relay.Function([x], conv(x, 32, 64))))
    assert AlterOpLayout(lanes=8)(before) is before


def test_a_large_weight_is_moved_as_a_view_with_the_numbers_of_the_move() -> None:
    original = strided()
    mod = transform.InferType()(IRModule.from_expr(original))
    changed = AlterOpLayout()(mod)["main"]
    weights = [node.data for node in post_order(original) if isinstance(node, relay.Constant)]
    moved = [node.data for node in post_order(changed) if isinstance(node, relay.Constant)]
    assert [weight.nbytes >= 1 << 16 for weight in weights] == [True, True]
    for weight, data in zip(weights, moved, strict=True):
        assert data.shape == tuple(weight.shape[axis] for axis in (2, 3, 1, 0))
        assert np.shares_memory(weight.numpy(), data.numpy())
        np.testing.assert_array_equal(data.numpy(), weight.numpy().transpose(2, 3, 1, 0))
