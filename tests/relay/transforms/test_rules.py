"""Rule-table passes: the text before and after, why a rule does not fire, numbers against the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.relay.generate import assert_close, inputs_of
from tests.relay.programs import weights
from workbench import relay
from workbench.core import origin, rewrite
from workbench.core.module import IRModule
from workbench.core.node import post_order
from workbench.core.transform import PassContext
from workbench.relay import transform
from workbench.relay.interpret import interpret
from workbench.relay.ir import expr as e
from workbench.relay.ir.infer import infer_type
from workbench.relay.ir.script import script
from workbench.relay.ir.verify import verify
from workbench.relay.transforms import canonicalize_ops, div_to_mul, fast_math, flatten_atrous, fold_explicit_padding


def plane() -> e.Var:
    return relay.var("x", shape=(1, 4, 6, 6))


def padded(x: e.Expr, *fill: float, widths: Any = ((0, 0), (0, 0), (1, 0), (0, 1))) -> e.Expr:
    return relay.nn.pad(x, widths, *(e.const(value, "float32") for value in fill))


def biases() -> e.Expr:
    x = relay.nn.bias_add(plane(), weights(4))
    return relay.nn.bias_add(relay.nn.bias_add(x, weights(6), axis=-1), weights(6, seed=1), axis=2)


def paddings() -> e.Expr:
    x = plane()
    wide = padded(relay.transpose(x, axes=(0, 2, 3, 1)), widths=((0, 0), (1, 1), (1, 2), (0, 0)))
    line, cube = relay.reshape(x, newshape=(1, 4, 36)), relay.reshape(x, newshape=(1, 1, 4, 6, 6))
    return e.Tuple(
        (
            relay.nn.conv2d(padded(x), weights(2, 4, 3, 3), padding=(1, 0, 0, 2)),
            relay.nn.conv2d(wide, weights(3, 3, 4, 2), data_layout="NHWC", kernel_layout="HWIO"),
            relay.nn.conv1d(padded(line, widths=((0, 0), (0, 0), (2, 1))), weights(2, 4, 3)),
            relay.nn.conv3d(padded(cube, widths=((0, 0), (0, 0), (1, 1), (0, 1), (1, 0))), weights(2, 1, 2, 2, 2)),
            relay.nn.max_pool2d(padded(x, -np.inf), pool_size=(2, 2), strides=(2, 2)),
            relay.nn.avg_pool2d(padded(x), pool_size=(2, 2)),
            relay.nn.max_pool2d(padded(x, 0.0), pool_size=(2, 2)),
        )
    )


def casts() -> e.Expr:
    x = relay.var("x", shape=(2, 6), dtype="int8")
    wide = relay.cast(x, dtype="float32")
    return e.Tuple((relay.exp(wide), relay.add(wide, wide), relay.mean(wide), relay.cast(wide, dtype="int8")))


def functions() -> e.Expr:
    x, wide = relay.var("x", shape=(2, 6)), relay.var("wide", shape=(3,), dtype="float64")
    return e.Tuple((relay.nn.softmax(relay.exp(x), axis=0), relay.erf(relay.tanh(x)), relay.exp(wide)))


def quotients() -> e.Expr:
    x = relay.var("x", shape=(2, 6))
    return relay.divide(relay.divide(x, e.const(3.0)), relay.divide(x, e.const(np.float32([1, 2, 4, 5, -6, 1e-3]))))


def atrous(layout: str = "NHWC", crops: Any = ((0, 1), (1, 0)), again: int = 2) -> e.Expr:
    """A convolution with dilation (2, 3) in the long form."""
    plain = layout == "NCHW"
    data = relay.var("x", shape=(1, 4, 7, 8) if plain else (1, 7, 8, 4))
    more = ((0, 0),) if plain else ()
    first = (1,) if plain else ()
    inner = relay.nn.space_to_batch_nd(data, block_shape=(*first, 2, 3), paddings=(*more, (2, 3), (3, 1)))
    kernel = weights(2, 4, 2, 2) if plain else weights(2, 2, 4, 2)
    conv = relay.nn.conv2d(inner, kernel, data_layout=layout, kernel_layout="OIHW" if plain else "HWIO")
    return relay.nn.batch_to_space_nd(conv, block_shape=(*first, again, 3), crops=(*more, *crops))


CASES: dict[str, tuple[Any, Callable[[], e.Expr]]] = {
    "FlattenAtrousConv": (transform.FlattenAtrousConv(), atrous),
    "FlattenAtrousConv-NCHW": (transform.FlattenAtrousConv(), lambda: atrous("NCHW")),
    "DivToMul": (transform.DivToMul(), quotients),
    "FastMath": (transform.FastMath(), functions),
    "CanonicalizeOps": (transform.CanonicalizeOps(), biases),
    "CanonicalizeCast": (transform.CanonicalizeCast(), casts),
    "FoldExplicitPadding": (transform.FoldExplicitPadding(), paddings),
}


def inputs(mod: IRModule) -> list[np.ndarray]:
    found = inputs_of(mod["main"])
    kinds = [param.checked_type.dtype.to_numpy() for param in mod["main"].params]
    pairs = zip(found, kinds, strict=True)
    return [(array * (100 if kind.kind == "i" else 1)).astype(kind) for array, kind in pairs]


@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name: str, golden) -> None:
    chosen, build = CASES[name]
    mod = infer_type(IRModule.from_expr(build()))
    before = list(post_order(mod["main"]))
    with PassContext(opt_level=4), origin.recording(before) as origins, rewrite.logging() as log:
        after = chosen(mod)
    old = {id(node) for node in before}
    fresh = [node for node in post_order(after["main"]) if isinstance(node, e.Call) and id(node) not in old]
    assert fresh and fresh == [node for node in fresh if origins.of(node)]
    assert verify(after) == []
    assert_close(interpret(after, *inputs(mod)), interpret(mod, *inputs(mod)))
    golden(f"{script(mod)}\n# {name}: {'; '.join(firing.rule.name for firing in log)}\n\n{script(after)}", suffix=".py")
    with PassContext(opt_level=4):
        assert chosen(after).same(after)


@pytest.mark.parametrize(
    ("table", "rule", "build", "expected"),
    [
        (
            fast_math.RULES, "fast-variant", lambda: relay.exp(relay.var("x", shape=(2,), dtype="float64")),
            "at most 32 bits; found float64",
        ),
        (
            div_to_mul.RULES, "divide-by-constant", lambda: relay.divide(plane(), e.const(0.0)),
            "the reciprocal is a normal number",
        ),
        (
            flatten_atrous.RULES, "dilated-conv2d", lambda: atrous(crops=((3, 0), (0, 0))),
            "no more is cropped than was padded; found [-1, 3, 3, 1]",
        ),
        (flatten_atrous.RULES, "dilated-conv2d", lambda: atrous(again=1), "both have the same blocks"),
        (canonicalize_ops.RULES, "bias-add", lambda: relay.tanh(plane()), "call of nn.bias_add; found tanh"),
        (
            fold_explicit_padding.RULES, "pad-into-convolution",
            lambda: relay.nn.conv2d(padded(plane(), 1.0), weights(2, 4, 3, 3)), "zeros are added",
        ),
        (
            fold_explicit_padding.RULES, "pad-into-convolution",
            lambda: relay.nn.conv2d(padded(plane(), widths=((0, 0), (1, 0), (0, 0), (0, 0))), weights(2, 5, 3, 3)),
            "only the spatial axes are padded; found ((0, 0), (1, 0)",
        ),
        (
            fold_explicit_padding.RULES, "pad-into-max-pool",
            lambda: relay.nn.max_pool2d(padded(plane(), 0.0), pool_size=(2, 2)), "the lowest value is added",
        ),
        (
            fold_explicit_padding.RULES, "pad-into-max-pool",
            lambda: relay.nn.max_pool2d(padded(plane(), -np.inf), pool_size=(1, 1)), "smaller than the window",
        ),
        (
            fold_explicit_padding.RULES, "pad-into-avg-pool",
            lambda: relay.nn.avg_pool2d(padded(plane()), pool_size=(3, 3), padding=(1, 1)), "no padding of its own",
        ),
    ],
)  # fmt: skip
def test_why_not(table: rewrite.RuleTable, rule: str, build: Callable[[], e.Expr], expected: str) -> None:
    mod = infer_type(IRModule.from_expr(build()))
    body = mod["main"].body
    assert expected in str(rewrite.why_not(table[rule], body, mod["main"]))
