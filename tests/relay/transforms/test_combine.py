"""CombineParallelConv2D, -Dense, -BatchMatmul and BatchingOps: what is combined, what is not, and the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nightly import examples
from tests.relay.generate import assert_close, inputs_of
from tests.relay.programs import weights
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
from workbench.relay.ir.script import script
from workbench.relay.ir.verify import verify


def typed(body: e.Expr) -> IRModule:
    return infer_type(IRModule.from_expr(body))


def run(chosen: Any, mod: IRModule) -> IRModule:
    with PassContext(opt_level=4):
        return chosen(mod)


def inception() -> e.Expr:
    """Three 1x1 convolutions with bias and relu, then different ways; one 3x3 beside."""
    x = relay.var("x", shape=(1, 4, 6, 6))
    heads = [
        relay.nn.relu(relay.add(relay.nn.conv2d(x, weights(many, 4, 1, 1, seed=many)), weights(many, 1, 1)))
        for many in (2, 3, 5)
    ]
    wide = relay.nn.conv2d(heads[1], weights(4, 3, 3, 3), padding=(1, 1))
    alone = relay.nn.conv2d(x, weights(2, 4, 3, 3), padding=(1, 1))
    return relay.concatenate([relay.tanh(heads[0]), wide, relay.exp(heads[2]), alone], axis=1)


def last_layout() -> e.Expr:
    x = relay.var("x", shape=(1, 5, 5, 4))
    convs = [
        relay.nn.conv2d(x, weights(3, 3, 4, many), data_layout="NHWC", kernel_layout="HWIO", channels=many)
        for many in (2, 1)
    ]
    pairs = zip(convs, (2, 1), strict=True)
    return e.Tuple(tuple(relay.nn.bias_add(conv, weights(many), axis=3) for conv, many in pairs))


def attention(*units: int) -> e.Expr:
    x = relay.var("x", shape=(3, 8))
    products = [relay.nn.dense(x, weights(many, 8, seed=at)) for at, many in enumerate(units)]
    pairs = zip(products, units, strict=True)
    sums = [relay.nn.bias_add(one, weights(many, seed=9 + many), axis=-1) for one, many in pairs]
    return e.Tuple(tuple(relay.clip(one, a_min=-0.5, a_max=0.5) for one in sums))


def scores() -> e.Expr:
    a = relay.var("a", shape=(2, 3, 4))
    others = [relay.var(f"b{many}", shape=(2, many, 4)) for many in (2, 1, 3)]
    return e.Tuple(tuple(relay.multiply(relay.nn.batch_matmul(a, b), e.const(0.5)) for b in others))


CASES: dict[str, tuple[Any, Callable[[], e.Expr], dict[str, int]]] = {
    "CombineParallelConv2D": (transform.CombineParallelConv2D(), inception, {"nn.conv2d": 3}),
    "CombineParallelConv2D-NHWC": (transform.CombineParallelConv2D(2), last_layout, {"nn.conv2d": 1}),
    "CombineParallelDense": (transform.CombineParallelDense(), lambda: attention(5, 5, 5), {"nn.batch_matmul": 1}),
    "CombineParallelDense-flat": (
        transform.CombineParallelDense(min_num_branches=3, to_batch=False), lambda: attention(5, 2, 3),
        {"nn.dense": 1},
    ),
    "CombineParallelBatchMatmul": (transform.CombineParallelBatchMatmul(), scores, {"nn.batch_matmul": 1}),
    "BatchingOps": (transform.BatchingOps(), lambda: attention(4, 4, 4), {"nn.batch_matmul": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name: str, golden) -> None:
    chosen, build, expected = CASES[name]
    mod = typed(build())
    before = list(post_order(mod["main"]))
    with origin.recording(before) as origins, rewrite.logging() as log:
        after = run(chosen, mod)
    old = {id(node) for node in before}
    fresh = [node for node in post_order(after["main"]) if isinstance(node, e.Call) and id(node) not in old]
    assert fresh and fresh == [node for node in fresh if origins.of(node)]
    assert verify(after) == []
    assert list_op_freqs(after).items() >= expected.items()
    inputs = inputs_of(mod["main"])
    assert_close(interpret(after, *inputs), interpret(mod, *inputs))
    golden(f"{script(mod)}\n# {name}: {'; '.join(firing.rule.name for firing in log)}\n\n{script(after)}", suffix=".py")


def pair(*attributes: dict[str, Any], x: e.Expr | None = None) -> e.Expr:
    data = relay.var("x", shape=(1, 4, 6, 6)) if x is None else x
    calls = [relay.nn.conv2d(data, weights(4, 4 // chosen.get("groups", 1), 3, 3), **chosen) for chosen in attributes]
    return e.Tuple(tuple(calls))


def chained() -> e.Expr:
    """The second weight depends on the first convolution."""
    x = relay.var("x", shape=(1, 4, 6, 6))
    first = relay.nn.conv2d(x, weights(4, 4, 3, 3))
    other = relay.multiply(weights(4, 4, 3, 3), relay.mean(first))
    return e.Tuple((first, relay.nn.conv2d(x, other)))


def branches() -> e.Expr:
    x = relay.var("x", shape=(1, 4, 6, 6))
    one, other = (relay.nn.conv2d(x, weights(4, 4, 3, 3, seed=seed)) for seed in (0, 1))
    return e.If(relay.less(relay.mean(x), e.const(0.0)), one, other)


@pytest.mark.parametrize(
    "build",
    [
        lambda: pair({"strides": (1, 1)}, {"strides": (2, 2)}),
        lambda: pair({"groups": 4}, {"groups": 4}),
        lambda: pair({"padding": (1, 1)}, {}),
        chained,
        branches,
    ],
    ids=["strides", "groups", "padding", "dependent", "blocks"],
)
def test_not_combined(build: Callable[[], e.Expr]) -> None:
    mod = typed(build())
    assert run(transform.CombineParallelConv2D(2), mod).same(mod)


def test_too_few_branches() -> None:
    mod = typed(pair({}, {}))
    assert run(transform.CombineParallelConv2D(), mod).same(mod)
    assert list_op_freqs(run(transform.CombineParallelConv2D(2), mod))["nn.conv2d"] == 1


def test_different_biases_end_the_common_part() -> None:
    """A scalar that differs between branches is applied after the cut."""
    x = relay.var("x", shape=(3, 8))
    sums = [relay.add(relay.nn.dense(x, weights(4, 8, seed=at)), e.const(float(at))) for at in range(3)]
    mod = typed(e.Tuple(tuple(sums)))
    made = run(transform.CombineParallelDense(to_batch=False), mod)
    assert list_op_freqs(made)["add"] == 3
    inputs = inputs_of(mod["main"])
    assert_close(interpret(made, *inputs), interpret(mod, *inputs))


@pytest.mark.parametrize("number", [1, 0, -3, 2.5, True, "3"])
@pytest.mark.parametrize("name", ["CombineParallelConv2D", "CombineParallelDense", "CombineParallelBatchMatmul"])
def test_bad_numbers_are_refused(name: str, number: Any) -> None:
    with pytest.raises(WorkbenchError, match="min_num_branches must be an int") as caught:
        run(getattr(transform, name)(number), typed(scores()))
    assert caught.value.code == "E-PASS-OPTION"


def followed(y: e.Expr, step: int, many: int, seed: int) -> e.Expr:
    """What comes after a convolution."""
    return [
        lambda: relay.nn.relu(y),
        lambda: relay.add(y, weights(many, 1, 1, seed=seed + step)),
        lambda: relay.multiply(e.const(0.5), y),
        lambda: relay.nn.bias_add(y, weights(many)),
        lambda: relay.subtract(weights(1, 1, 3), y),
    ][step]()


@st.composite
def parallel_programs(draw: Callable[[Any], Any]) -> e.Function:
    """Several layers of branches with bias, scale and activation, alike or not, joined again."""
    x = relay.var("x", shape=(2, 4, 3, 3))
    data: e.Expr = x
    for layer in range(draw(st.integers(1, 2))):
        ends: list[e.Expr] = []
        for branch in range(draw(st.integers(2, 4))):
            many, seed = draw(st.integers(1, 3)), 10 * layer + branch
            inputs = infer_type(data).concrete_shape[1]  # type: ignore[union-attr]
            end = relay.nn.conv2d(data, weights(many, inputs, 3, 3, seed=seed), padding=(1, 1))
            for step in draw(st.lists(st.integers(0, 4), max_size=2)):
                end = followed(end, step, many, seed)
            ends.append(end)
        data = relay.concatenate(ends, axis=1)
    return e.Function((x,), data)


@settings(max_examples=examples(40))
@given(function=parallel_programs())
def test_random_branches(function: e.Function) -> None:
    mod = infer_type(IRModule({"main": function}))
    made = run(transform.CombineParallelConv2D(2), mod)
    assert verify(made) == []
    inputs = inputs_of(function)
    assert_close(interpret(made, *inputs), interpret(mod, *inputs))


@settings(max_examples=examples(30))
@given(units=st.lists(st.integers(1, 3), min_size=2, max_size=5), to_batch=st.booleans())
def test_random_products(units: list[int], to_batch: bool) -> None:
    mod = typed(attention(*units))
    made = run(transform.CombineParallelDense(2, to_batch), mod)
    x = np.random.default_rng(0).normal(size=(3, 8)).astype("float32")
    assert verify(made) == []
    assert_close(interpret(made, x), interpret(mod, x))
