"""ConvertLayout: every operator's layout rule, where data is moved, what is refused; numbers by the interpreter."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.relay.generate import assert_close, inputs_of
from tests.relay.programs import network, network_input, weights
from workbench import relay
from workbench.core import origin, rewrite
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.node import post_order
from workbench.core.transform import PassContext
from workbench.relay import transform
from workbench.relay.analysis import list_op_freqs
from workbench.relay.interpret import interpret
from workbench.relay.ir import expr as e
from workbench.relay.ir.infer import infer_type
from workbench.relay.ir.operator import OPERATORS
from workbench.relay.ir.script import script
from workbench.relay.ir.verify import verify
from workbench.relay.transforms.simplify_layout import RULES


def plane() -> e.Var:
    return relay.var("x", shape=(1, 4, 6, 6))


def conv(x: e.Expr, outputs: int = 4, seed: int = 0) -> e.Expr:
    return relay.nn.conv2d(x, weights(outputs, 4, 3, 3, seed=seed), padding=(1, 1))


def convert(mod: IRModule, desired: Any) -> IRModule:
    with PassContext(opt_level=3):
        return transform.ConvertLayout(desired)(mod)


def skip_connection() -> e.Expr:
    x = plane()
    first = relay.nn.relu(relay.add(conv(x), weights(4, 1, 1)))
    second = relay.nn.max_pool2d(conv(first, seed=1), pool_size=(3, 3), padding=(1, 1))
    joined = relay.concatenate([relay.add(second, first), second], axis=1)
    return e.Tuple((relay.mean(joined, axis=(2, 3)), relay.reshape(first, newshape=(4, 36))))


NHWC = {"nn.conv2d": ["NHWC", "default"]}
BLOCKS = {"nn.conv2d": ["NCHW2c", "default"]}

CASES: dict[str, tuple[Any, Callable[[], e.Expr]]] = {
    "nhwc": (transform.ConvertLayout(NHWC), skip_connection),
    "blocks": (transform.ConvertLayout(BLOCKS), skip_connection),
    "SimplifyExprPostAlterOp": (
        transform.SimplifyExprPostAlterOp(),
        lambda: relay.layout_transform(
            relay.layout_transform(plane(), src_layout="NCHW", dst_layout="NCHW4c"),
            src_layout="NCHW4c", dst_layout="NCHW",
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name: str, golden) -> None:
    chosen, build = CASES[name]
    mod = infer_type(IRModule.from_expr(build()))
    before = list(post_order(mod["main"]))
    with PassContext(opt_level=3), origin.recording(before) as origins, rewrite.logging() as log:
        after = chosen(mod)
    old = {id(node) for node in before}
    fresh = [node for node in post_order(after["main"]) if isinstance(node, e.Call) and id(node) not in old]
    assert fresh == [node for node in fresh if origins.of(node)]
    assert verify(after) == [] and chosen(after).same(after)
    inputs = inputs_of(mod["main"])
    assert_close(interpret(after, *inputs), interpret(mod, *inputs))
    golden(f"{script(mod)}\n# {name}: {'; '.join(firing.rule.name for firing in log)}\n\n{script(after)}", suffix=".py")


FOLLOWERS: dict[str, Callable[[e.Expr], e.Expr]] = {
    "unary": relay.tanh,
    "clip": lambda y: relay.clip(y, a_min=0.0, a_max=0.5),
    "cast": lambda y: relay.cast(y, dtype="float64"),
    "leaky_relu": relay.nn.leaky_relu,
    "scalar": lambda y: relay.multiply(e.const(2.0), y),
    "vector": lambda y: relay.subtract(weights(4, 1, 1), y),
    "row": lambda y: relay.add(y, weights(6)),
    "one": lambda y: relay.add(y, weights(1, 1, 1, 1)),
    "same": lambda y: relay.maximum(y, relay.negative(y)),
    "where": lambda y: relay.where(relay.less(y, e.const(0.0)), y, e.const(1.0)),
    "prelu": lambda y: relay.nn.prelu(y, weights(4)),
    "bias_add": lambda y: relay.nn.bias_add(y, weights(4)),
    "batch_norm": lambda y: relay.nn.batch_norm(y, *(weights(4) for _ in "gbm"), e.const(np.ones(4, "float32")))[0],
    "concatenate": lambda y: relay.concatenate([y, y], axis=1),
    "split": lambda y: relay.split(y, indices_or_sections=2, axis=2)[1],
    "softmax": lambda y: relay.nn.softmax(y, axis=2),
    "log_softmax": lambda y: relay.nn.log_softmax(y, axis=-1),
    "fast_softmax": lambda y: relay.nn.fast_softmax(y, axis=2),
    "lrn": lambda y: relay.nn.lrn(y, size=3, axis=2),
    "layer_norm": lambda y: relay.nn.layer_norm(y, weights(6), weights(6)),
    "instance_norm": lambda y: relay.nn.instance_norm(y, weights(4), weights(4)),
    "mean": lambda y: relay.mean(y, axis=(2, 3), keepdims=True),
    "sum": lambda y: relay.sum(y, axis=(1,), exclude=True, keepdims=True),
    "argmax": lambda y: relay.argmax(y, axis=(3,), keepdims=True),
    "pad": lambda y: relay.nn.pad(y, ((0, 0), (0, 0), (1, 0), (0, 2)), pad_mode="edge"),
    "strided_slice": lambda y: relay.strided_slice(y, begin=(1, 2), end=(5, 6), axes=(2, 3)),
    "max_pool2d": lambda y: relay.nn.max_pool2d(y, pool_size=(2, 2), strides=(2, 2)),
    "avg_pool2d": lambda y: relay.nn.avg_pool2d(y, pool_size=(3, 3), padding=(1, 1), count_include_pad=True),
    "global_avg_pool2d": relay.nn.global_avg_pool2d,
    "adaptive_max_pool2d": lambda y: relay.nn.adaptive_max_pool2d(y, output_size=(2, 3)),
    "resize2d": lambda y: relay.image.resize2d(y, size=(9, 8)),
    "upsampling": lambda y: relay.nn.upsampling(y, scale_h=2, scale_w=2),
    "depth_to_space": lambda y: relay.nn.depth_to_space(y, block_size=2),
    "space_to_depth": lambda y: relay.nn.space_to_depth(y, block_size=2),
}  # fmt: skip
"""Between two convolutions' layouts: none of these needs its data moved."""

STAYS_IN_BLOCKS = set(FOLLOWERS) - {
    "prelu", "bias_add", "batch_norm", "instance_norm", "resize2d", "upsampling", "depth_to_space", "space_to_depth",
}  # fmt: skip


@pytest.mark.parametrize("desired", [NHWC, BLOCKS], ids=["nhwc", "blocks"])
@pytest.mark.parametrize("name", FOLLOWERS)
def test_followers_keep_the_layout(name: str, desired: Any) -> None:
    mod = infer_type(IRModule.from_expr(relay.negative(FOLLOWERS[name](conv(plane())))))
    made = convert(mod, desired)
    assert verify(made) == []
    inputs = inputs_of(mod["main"])
    assert_close(interpret(made, *inputs), interpret(mod, *inputs))
    body = made["main"].body
    if desired is NHWC or name in STAYS_IN_BLOCKS:
        assert isinstance(body, e.Call) and body.op.name == "layout_transform", script(made)


@pytest.mark.parametrize("name", sorted(set(FOLLOWERS) - {"row", "layer_norm"}))
def test_followers_of_turned_data_keep_their_meaning(name: str) -> None:
    """Which axis is that of samples, channels or pixels says the program as it was written, not how data lies."""
    x = relay.var("x", shape=(4, 4, 4, 4))
    for order in itertools.permutations(range(4)):
        mod = infer_type(IRModule.from_expr(relay.negative(FOLLOWERS[name](relay.transpose(conv(x), axes=order)))))
        inputs = inputs_of(mod["main"])
        for desired in (NHWC, BLOCKS):
            assert_close(interpret(convert(mod, desired), *inputs), interpret(mod, *inputs))


def test_every_layout_rule_has_a_follower() -> None:
    """One rule, that of instance_norm, had none, and was wrong."""
    programs = [IRModule.from_expr(follower(conv(plane()))) for follower in FOLLOWERS.values()]
    rules = {OPERATORS[name].arrange for program in programs for name in list_op_freqs(program)}
    own = {"nn.conv2d_transpose", "transpose", "layout_transform"}  # tests of their own
    assert [name for name in OPERATORS if OPERATORS[name].arrange not in rules and name not in own] == []


def test_transposed_convolution() -> None:
    x = plane()
    mod = infer_type(
        IRModule.from_expr(relay.nn.relu(relay.nn.conv2d_transpose(x, weights(4, 3, 3, 3), strides=(2, 2))))
    )
    made = convert(mod, {"nn.conv2d_transpose": ["NHWC", "default"]})
    assert list_op_freqs(made)["layout_transform"] == 2
    inputs = inputs_of(mod["main"])
    assert_close(interpret(made, *inputs), interpret(mod, *inputs))


def test_depthwise_weights_and_transposes() -> None:
    """Data that came in by a transpose is not moved at all."""
    x = relay.var("x", shape=(1, 6, 6, 4))
    turned = relay.transpose(x, axes=(0, 3, 1, 2))
    depthwise = relay.nn.conv2d(turned, weights(4, 1, 3, 3), groups=4)
    mod = infer_type(IRModule.from_expr(relay.transpose(relay.nn.relu(depthwise), axes=(0, 2, 3, 1))))
    made = convert(mod, "NHWC")
    assert "HWOI" in script(made)
    inputs = inputs_of(mod["main"])
    assert_close(interpret(made, *inputs), interpret(mod, *inputs))
    assert list_op_freqs(made).get("transpose", 0) <= 1


def test_network_and_back() -> None:
    mod = network()
    there = convert(mod, "NHWC")
    back = convert(there, {"nn.conv2d": ["NCHW", "OIHW"], "nn.max_pool2d": ["NCHW"], "nn.global_avg_pool2d": ["NCHW"]})
    for made in (there, back):
        assert verify(made) == []
        assert_close(interpret(made, network_input()), interpret(mod, network_input()))
    with PassContext(opt_level=3):
        for one in (transform.SimplifyExprPostAlterOp(), transform.FoldConstant()):
            back = one(back)
    assert "layout_transform" not in list_op_freqs(back)


def test_channels_that_do_not_fill_blocks_stay() -> None:
    mod = infer_type(IRModule.from_expr(relay.tanh(conv(plane(), outputs=3))))
    assert convert(mod, {"nn.conv2d": ["NCHW4c", "default"]}).same(mod)


@pytest.mark.parametrize(
    ("desired", "code", "message"),
    [
        ({"nn.conv2": ["NHWC"]}, "E-LAYOUT-OPERATOR", "no operator 'nn.conv2'"),
        ({"nn.relu": ["NHWC"]}, "E-LAYOUT-OPERATOR", "follows its operands"),
        ({"nn.conv2d": ["NHW!", "default"]}, "E-LAYOUT", "not a layout"),
        ("nhwc", "E-LAYOUT", "not a layout"),
        (7, "E-PASS-OPTION", "a layout or a dict"),
        ({"nn.conv2d_transpose": ["NCHW4c"]}, "E-OPERATOR-ATTRIBUTE", "data_layout cannot be"),
    ],
)
def test_refusals(desired: Any, code: str, message: str) -> None:
    body = relay.nn.conv2d_transpose(plane(), weights(4, 3, 3, 3))
    with pytest.raises(WorkbenchError, match=message) as caught:
        convert(infer_type(IRModule.from_expr(body)), desired)
    assert caught.value.code == code and "ConvertLayout" in str(caught.value)


def test_option_must_be_given() -> None:
    with pytest.raises(WorkbenchError, match="desired_layouts"):
        transform.ConvertLayout()


def test_why_not() -> None:
    moved = relay.layout_transform(relay.var("x", shape=(1, 3)), src_layout="NC", dst_layout="NC2c")
    back = relay.layout_transform(moved, src_layout="NC2c", dst_layout="NC")
    mod = infer_type(IRModule.from_expr(back))
    assert "nothing filled up on the way stays" in str(rewrite.why_not(RULES["move-of-move"], mod["main"].body))
    assert "both layouts are the same; found NC2c to NC" in str(
        rewrite.why_not(RULES["same-layout"], mod["main"].body)
    )
