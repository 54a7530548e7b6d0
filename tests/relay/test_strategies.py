"""Classic strategies: what users register computes and schedules operators, is named, and is told where it fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import relay, target, te, topi
from workbench.core.errors import WorkbenchError
from workbench.relay.op import strategy

X, W = (3, 8), (5, 8)


@pytest.fixture(autouse=True)
def unregistered() -> Iterator[None]:
    yield
    for name in tuple(strategy.STRATEGIES):
        strategy.STRATEGIES.remove(name)


def dense_by_hand(data: Any, weight: Any, bias: Any, out_dtype: str) -> Any:
    assert bias is None
    k = te.reduce_axis((0, data.shape[1]), name="k")
    return te.compute(
        (data.shape[0], weight.shape[0]), lambda i, j: te.sum(data[i, k.var] * weight[j, k.var], axis=k), name="mine"
    )


def schedule_by_hand(outs: Any) -> Any:
    s = te.create_schedule([out.op for out in outs])
    last = s[outs[0]]
    _, inner = last.split(last.op.axis[1], factor=4)
    last.unroll(inner)
    return s


def dense_strategy(attrs: Any, inputs: list[Any], out_type: Any, target: Any) -> relay.op.OpStrategy:
    assert [one.ndim for one in inputs] == [2, 2] and str(out_type.dtype) == "float32" and target.kind == "llvm"
    made = relay.op.OpStrategy()
    made.add_implementation(
        strategy.wrap_compute_dense(dense_by_hand), strategy.wrap_topi_schedule(schedule_by_hand), "dense.mine", 15
    )
    made.add_implementation(strategy.wrap_compute_dense(dense_by_hand), None, "dense.plain", 5)
    return made


def model() -> relay.Function:
    x, w = relay.var("x", shape=X), relay.var("w", shape=W)
    return relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w)))


def given() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in (("x", X), ("w", W))}


def assert_right(session: Any) -> None:
    inputs = given()
    found = next(iter(session.run(inputs).values()))
    np.testing.assert_allclose(found, np.maximum(inputs["x"] @ inputs["w"].T, 0), rtol=1e-5, atol=1e-5)


def opened() -> Any:
    with wb.transform.PassContext(opt_level=0):
        return wb.open(model())


def kernel(session: Any) -> str:
    return next(name for name in session.kernels if "dense" in name)


def test_the_highest_level_is_taken_and_the_others_can_be_chosen() -> None:
    relay.op.register_strategy("nn.dense", dense_strategy)
    session = opened()
    name = kernel(session)
    found = [one.implementation.name for one in session.candidates(name) if one.refusal is None]
    assert found[:2] == ["dense.mine", "dense.plain"] and "product.plain" in found
    script = session.schedule(name).script()
    assert "T.unroll(4)" in script and 'T.block("mine")' in script
    assert_right(session)
    for other in ("dense.plain", "product.plain"):
        chosen = session.choose(name, other)
        assert ('T.block("mine")' in chosen.schedule(name).script()) == (other == "dense.plain")
        assert_right(chosen)


def test_what_is_fused_around_the_operator_is_among_the_outputs() -> None:
    seen: list[str] = []

    def schedule(attrs: Any, outs: Any, target: Any) -> Any:
        seen.extend(out.op.name for out in outs)
        return topi.generic.schedule_injective(outs)

    relay.op.register_schedule("nn.dense", schedule)
    session = wb.open(model())
    assert_right(session)
    assert any("relu" in name for name in seen)


def test_registered_anew_it_is_taken_anew_and_removed_it_is_gone() -> None:
    session = opened()
    before = session.schedule(kernel(session)).script()
    relay.op.register_strategy("nn.dense", dense_strategy)
    assert "mine" in (again := opened()).schedule(kernel(again)).script()

    @relay.op.register_strategy("nn.dense")
    def another(attrs: Any, inputs: Any, out_type: Any, target: Any) -> Any:
        made = relay.op.OpStrategy()
        made.add_implementation(strategy.wrap_compute_dense(dense_by_hand), None, "dense.another")
        return made

    after = opened()
    assert str(after.candidates(kernel(after)).taken) == "dense.another"
    strategy.STRATEGIES.remove("nn.dense")
    last = opened()
    assert last.schedule(kernel(last)).script() == before


def test_a_function_of_a_lower_level_is_not_taken() -> None:
    relay.op.register_strategy("nn.dense", dense_strategy, level=20)
    relay.op.register_strategy("nn.dense", lambda *_: relay.op.OpStrategy(), level=10)
    session = opened()
    assert str(session.candidates(kernel(session)).taken) == "dense.mine"


def test_convolutions_products_of_many_matrices_and_softmax_have_wrappers() -> None:
    def conv(data: Any, weight: Any, strides: Any, padding: Any, dilation: Any, layout: str, out_dtype: str) -> Any:
        assert (strides, padding, dilation, layout) == ((2, 2), (0, 0, 0, 0), (1, 1), "NCHW")
        return topi.nn.conv2d(data, weight, strides=strides)

    relay.op.register_compute("nn.conv2d", strategy.wrap_compute_conv2d(conv, need_data_layout=True))
    def many(a: Any, b: Any, shape: Any, dtype: str, transpose_a: bool, transpose_b: bool) -> Any:
        assert (transpose_a, transpose_b) == (False, True)
        return topi.nn.batch_matmul(a, b)

    def softmax(x: Any, axis: int) -> Any:
        return topi.nn.softmax(x, axis=axis)

    relay.op.register_compute("nn.batch_matmul", strategy.wrap_compute_batch_matmul(many))
    relay.op.register_compute("nn.softmax", strategy.wrap_compute_softmax(softmax))
    x, w, a = relay.var("x", shape=(1, 2, 7, 7)), relay.var("w", shape=(4, 2, 3, 3)), relay.var("a", shape=(2, 3, 4))
    made = [relay.nn.conv2d(x, w, strides=2), relay.nn.softmax(relay.nn.batch_matmul(a, a))]
    with wb.transform.PassContext(opt_level=0):
        session = wb.open(relay.Function([x, w, a], relay.Tuple(made)))
    taken = [str(session.candidates(name).taken) for name in session.kernels]
    assert taken == ["registered"] * 3
    assert session.build() is not None


@pytest.mark.parametrize(
    ("wrong", "message", "found"),
    [
        (lambda *_: 3, "it answers no strategy", "int"),
        (lambda *_: 1 / 0, "the strategy of strategy nn.dense failed", "ZeroDivisionError"),
    ],
)
def test_a_strategy_that_fails_is_told(wrong: Any, message: str, found: str) -> None:
    relay.op.register_strategy("nn.dense", wrong)
    with pytest.raises(WorkbenchError, match=message) as caught:
        opened().build()
    assert caught.value.code == "E-STRATEGY" and found in caught.value.found


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (lambda attrs, inputs, out_type: 3, "answers something else"),
        (lambda attrs, inputs, out_type: inputs[0], "answers something else"),
        (lambda attrs, inputs, out_type: inputs[7], "the compute of strategy registered failed"),
    ],
)
def test_a_compute_that_fails_or_has_another_type_is_told(compute: Any, message: str) -> None:
    relay.op.register_compute("nn.dense", compute)
    with pytest.raises(WorkbenchError, match=message) as caught:
        opened().build()
    assert caught.value.code == "E-STRATEGY"


def test_a_schedule_that_fails_is_told_and_not_replaced_in_silence() -> None:
    def schedule(attrs: Any, outs: Any, target: Any) -> Any:
        s = te.create_schedule([outs[0].op])
        s[outs[0]].vectorize(outs[0].op.reduce_axis[0] if outs[0].op.reduce_axis else s[outs[0]].op.axis[7])
        return s

    relay.op.register_schedule("nn.dense", schedule)
    with pytest.raises(WorkbenchError) as caught:
        opened().build()
    assert "vectorize" in caught.value.message and "test_strategies.py line" in caught.value.where


def test_operators_without_implementations_of_their_own_are_scheduled_by_what_is_registered() -> None:
    relay.op.register_injective_schedule("tanh")
    relay.op.register_reduce_schedule("max")
    x = relay.var("x", shape=(6, 40))
    session = wb.open(relay.Function([x], relay.Tuple([relay.tanh(x), relay.max(x, axis=1)])))
    assert [str(session.candidates(name).taken) for name in session.kernels] == ["registered"] * 2
    data = np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32)
    found = list(session.run({"x": data}).values())
    np.testing.assert_allclose(found[0], np.tanh(data), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found[1], data.max(axis=1))


def test_what_cannot_be_registered_is_refused() -> None:
    for ask in (relay.op.register_strategy, relay.op.register_compute, relay.op.register_schedule):
        with pytest.raises(WorkbenchError, match="there is no operator"):
            ask("nn.dens", lambda *_: None)
        with pytest.raises(WorkbenchError, match="cannot be called"):
            ask("nn.dense", 3)
    with pytest.raises(WorkbenchError, match="cannot be called"):
        relay.op.OpStrategy().add_implementation("compute", None)  # type: ignore[arg-type]
    relay.op.register_strategy("nn.dense", lambda *_: _twice())
    with pytest.raises(WorkbenchError, match="two ways have one name"):
        opened().build()


def _twice() -> relay.op.OpStrategy:
    made = relay.op.OpStrategy()
    for _ in range(2):
        made.add_implementation(None, None)
    return made


# --- functions by target ----------------------------------------------------------------------------------------------


def test_a_generic_function_answers_by_the_keys_of_the_target() -> None:
    @target.override_native_generic_func("test.answer")
    def answer(x: int) -> str:
        return f"default {x}"

    @answer.register(["cpu"])
    def _(x: int) -> str:
        return f"cpu {x}"

    assert answer(1) == "default 1"
    with target.Target("llvm"):
        assert answer(2) == "cpu 2"
    with pytest.raises(WorkbenchError, match="has a version for cpu already") as caught:
        answer.register("cpu", lambda x: x, override=False)
    assert caught.value.code == "E-GENERIC-FUNC"
    alone = target.generic_func(lambda: "alone")
    assert alone() == "alone"
