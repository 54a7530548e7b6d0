"""Each pass on a small program: the text before and after, and the rules that fired."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.relay.programs import weights
from workbench import relay
from workbench.core import origin, rewrite
from workbench.core.module import IRModule
from workbench.core.node import post_order
from workbench.core.transform import PassContext
from workbench.relay import transform
from workbench.relay.ir import expr as e
from workbench.relay.ir.infer import infer_type
from workbench.relay.ir.script import script
from workbench.target import Target


def plane() -> e.Var:
    return relay.var("x", shape=(1, 4, 6, 6))


def matrix() -> e.Var:
    return relay.var("x", shape=(2, 6))


def per_channel(low: float, high: float) -> e.Constant:
    return e.const(np.linspace(low, high, 4, dtype="float32").reshape(4, 1, 1))


def normalised() -> e.Expr:
    x, vector = plane(), weights(4)
    return relay.nn.batch_norm(x, vector, vector, vector, e.const(np.ones(4, "float32")))[0]


def constants() -> e.Expr:
    x = matrix()
    folded = relay.add(relay.multiply(e.const([1.0, 2.0]), e.const(3.0)), e.const(1.0))
    lazy = relay.cast(relay.zeros((2048, 2048), dtype="float32"), dtype="int8")
    branch = e.If(e.const(False), x, relay.negative(x))
    return e.Tuple((folded, lazy, branch, relay.shape_of(x), relay.split(e.const([1.0, 2.0]), 2, axis=0)[1]))


def algebra() -> e.Expr:
    x = matrix()
    shaped = relay.reshape(relay.reshape(relay.multiply(x, e.const(1.0)), newshape=(12,)), newshape=(3, 4))
    turned = relay.transpose(relay.transpose(shaped, axes=(1, 0)), axes=(1, 0))
    cut = relay.clip(relay.nn.relu(relay.clip(turned, a_min=0.0, a_max=8.0)), a_min=-1.0, a_max=6.0)
    return relay.cast(relay.cast(cut, dtype="float64"), dtype="float32")


def padded() -> e.Expr:
    return relay.nn.conv2d(relay.nn.pad(plane(), pad_width=((0, 0), (0, 0), (1, 1), (0, 2))), weights(2, 4, 3, 3))


def scaled_after() -> e.Expr:
    conv = relay.nn.conv2d(plane(), weights(4, 4, 1, 1))
    return relay.multiply(relay.nn.relu(relay.add(conv, per_channel(0, 1))), per_channel(0.5, 2))


def scaled_before() -> e.Expr:
    return relay.nn.conv2d(relay.multiply(plane(), per_channel(0.5, 2)), weights(8, 1, 3, 3), groups=4)


def repeated() -> e.Expr:
    x = matrix()
    twice = relay.add(relay.exp(x), relay.exp(x))
    inside = e.If(e.const(True), relay.tanh(relay.exp(x)), relay.tanh(relay.exp(x)))
    return relay.multiply(twice, inside)


def lets() -> e.Expr:
    x = matrix()
    used, unused, cell, unit = e.Var("used"), e.Var("unused"), e.Var("cell"), e.Var("unit")
    read = relay.op.get("add")()
    tail = e.Let(unit, e.RefWrite(cell, used), e.Call(read, (used, e.RefRead(cell))))
    return e.Let(used, relay.exp(x), e.Let(unused, relay.log(x), e.Let(cell, e.RefCreate(x), tail)))


def shared() -> e.Expr:
    x = matrix()
    both = relay.exp(x)
    return relay.add(e.If(e.const(True), relay.tanh(both), both), both)


def fusible() -> e.Expr:
    x = plane()
    conv = relay.nn.relu(relay.add(relay.nn.conv2d(x, weights(4, 4, 3, 3), padding=(1, 1)), per_channel(0, 1)))
    other = relay.add(relay.nn.conv2d(x, weights(4, 4, 1, 1)), conv)
    joined = relay.concatenate([relay.nn.relu(other), relay.multiply(x, e.const(2.0))], axis=1)
    return e.Tuple((relay.mean(relay.exp(joined), axis=(2, 3)), conv))


def branching() -> e.Expr:
    x = plane()
    out = relay.split(relay.negative(x), indices_or_sections=2, axis=1)
    return e.If(relay.less(relay.mean(x), e.const(0.0)), relay.exp(relay.exp(out[0])), relay.tanh(out[1]))


def unpacked() -> e.Expr:
    x = relay.var("x", shape=(1, 4, 6, 6))
    conv = relay.nn.conv2d(relay.nn.conv2d(x, weights(20, 4, 3, 3)), weights(2, 20, 1, 1))
    return relay.nn.dense(relay.nn.batch_flatten(conv), weights(16, 32))


CASES: dict[str, tuple[object, Callable[[], e.Expr]]] = {
    "SimplifyInference": (transform.SimplifyInference(), normalised),
    "FoldConstant": (transform.FoldConstant(), constants),
    "SimplifyExpr": (transform.SimplifyExpr(), algebra),
    "SimplifyExpr-pad": (transform.SimplifyExpr(), padded),
    "BackwardFoldScaleAxis": (transform.BackwardFoldScaleAxis(), scaled_after),
    "ForwardFoldScaleAxis": (transform.ForwardFoldScaleAxis(), scaled_before),
    "EliminateCommonSubexpr": (transform.EliminateCommonSubexpr(), repeated),
    "DeadCodeElimination": (transform.DeadCodeElimination(), lets),
    "ToGraphNormalForm": (transform.ToGraphNormalForm(), lets),
    "ToANormalForm": (transform.ToANormalForm(), shared),
    "FuseOps": (transform.FuseOps(), fusible),
    "FuseOps-blocks": (transform.FuseOps(), branching),
    "FuseOps-none": (transform.FuseOps(fuse_opt_level=0), fusible),
    "PackWeights": (transform.PackWeights(), unpacked),
}


@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name: str, golden) -> None:
    chosen, build = CASES[name]
    mod = infer_type(IRModule.from_expr(build()))
    with PassContext(opt_level=3), Target("llvm -mcpu=znver5"), rewrite.logging() as log:
        after = chosen(mod)  # type: ignore[operator]
    fired = [f"{firing.rule.name} at {firing.rule.where}".rsplit(":", 1)[0] for firing in log]
    golden(f"{script(mod)}\n# {name}: {'; '.join(fired)}\n\n{script(after)}", suffix=".py")


@pytest.mark.parametrize("name", CASES)
def test_new_expressions_have_origins(name: str) -> None:
    """Every new call derives from something that was there, and every firing tells its time."""
    chosen, build = CASES[name]
    mod = infer_type(IRModule.from_expr(build()))
    before = list(post_order(mod["main"]))
    with PassContext(opt_level=3), Target("llvm"), origin.recording(before) as origins, rewrite.logging() as log:
        after = chosen(mod)  # type: ignore[operator]
    old = {id(node) for node in before}
    fresh = [node for node in post_order(after["main"]) if isinstance(node, e.Call) and id(node) not in old]
    assert fresh == [node for node in fresh if origins.of(node)]
    assert all(firing.nanoseconds >= 0 and firing.rule.doc and ".py:" in firing.rule.where for firing in log)


def test_fusion_depth_is_limited() -> None:
    value: e.Expr = matrix()
    for _ in range(10):
        value = relay.tanh(value)
    mod = infer_type(IRModule.from_expr(value))
    with PassContext(config={"relay.FuseOps.max_depth": 4}):
        made = transform.FuseOps()(mod)
    kernels = [node for node in post_order(made["main"]) if isinstance(node, e.Function) and node.is_primitive]
    sizes = [sum(isinstance(node, e.Call) for node in post_order(kernel.body)) for kernel in kernels]
    assert sum(sizes) == 10 and max(sizes) <= 4


def test_a_user_skips_expressions() -> None:
    mod = infer_type(IRModule.from_expr(repeated()))
    with PassContext(opt_level=3):
        made = transform.EliminateCommonSubexpr(fskip=lambda expr: True)(mod)
    assert made.same(mod)


def test_effects_keep_lets() -> None:
    mod = infer_type(IRModule.from_expr(lets()))
    made = transform.DeadCodeElimination(ignore_impurity=True)(mod)
    assert "ref_write" not in script(made) and "ref_write" in script(transform.DeadCodeElimination()(mod))
