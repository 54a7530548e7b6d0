"""Scripts on the dataflow pattern language, written for the classic API; only their imports name this package."""

from __future__ import annotations

from typing import Any

import numpy as np

import workbench as tvm
from workbench import relay
from workbench.relay.build_module import bind_params_by_name
from workbench.relay.dataflow_pattern import (
    DFPatternCallback,
    FunctionPattern,
    has_dtype,
    has_shape,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    rewrite,
    wildcard,
)
from workbench.relay.testing import run_opt_pass

K_ELEMWISE = 0
K_BROADCAST = 1


def test_matching_what_the_documentation_matches() -> None:
    x, y = relay.var("x"), relay.var("y")
    assert is_op("add")(wildcard(), wildcard()).match(x + y)
    assert (is_op("add") | is_op("multiply"))(wildcard(), wildcard()).match(x * y)
    assert is_op("subtract")(is_var("x"), is_var("y")).match(x - y)
    assert not is_op("subtract")(is_var("x"), is_var("y")).match(y - x)

    relu_pattern = is_op("nn.relu")(is_op("nn.bias_add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard()))
    data, weight, bias = relay.var("data"), relay.var("weight"), relay.var("bias")
    out = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(data, weight), bias))
    assert relu_pattern.match(out)

    conv_node = is_op("nn.conv2d")(wildcard(), wildcard())
    bias_node = is_op("nn.bias_add")(conv_node, wildcard())
    relu_node = bias_node.optional(lambda p: is_op("nn.relu")(p))
    for expr in (out, relay.nn.bias_add(relay.nn.conv2d(data, weight), bias)):
        assert relu_node.match(expr)

    batch_norm = is_op("nn.batch_norm")(wildcard(), wildcard(), wildcard(), wildcard(), wildcard())
    item = is_tuple_get_item(batch_norm, 0)
    norm = relay.nn.batch_norm(data, *(relay.var(name) for name in ("gamma", "beta", "mean", "var")))
    assert item.match(norm[0]) and not item.match(norm[1])

    concat = is_op("concatenate")(is_tuple((is_op("nn.relu")(wildcard()), wildcard())))
    assert concat.match(relay.concatenate((relay.nn.relu(x), y), axis=0))

    cond = is_if(is_op("less")(is_var("x"), is_var("y")), wildcard(), wildcard())
    assert cond.match(relay.If(x < y, x, y))
    v = relay.var("v")
    let = is_let(is_var("v"), is_op("less")(is_var("x"), is_var("y")), is_var("v"))
    assert let.match(relay.Let(v, x < y, v))
    func = FunctionPattern([wildcard(), wildcard()], wildcard() + wildcard())
    assert func.match(relay.Function([x, y], x + y))

    typed = relay.var("x", shape=(10, 10), dtype="float32")
    assert has_dtype("float32").match(typed) and has_shape((10, 10)).match(typed)
    assert (
        is_op("nn.conv2d")(wildcard(), wildcard())
        .has_attr({"data_layout": "NCHW"})
        .match(relay.nn.conv2d(data, weight, kernel_size=(3, 3), strides=(2, 2)))
    )
    assert is_constant().match(relay.const(10)) and is_expr(relay.const(10)).match(relay.const(10))


def test_a_dominator_around_elementwise_operators() -> None:
    is_conv2d = is_op("nn.conv2d")(is_var(), is_var())
    is_unary_elemwise = (wildcard().has_attr({"TOpPattern": K_ELEMWISE}))(wildcard())
    reduction = is_op("add")(wildcard(), wildcard())
    diamond = reduction.dominates(is_conv2d, is_unary_elemwise)

    inp, weight = relay.var("input"), relay.var("weight")
    conv2d = relay.op.nn.conv2d(inp, weight)
    relu = relay.op.nn.relu(conv2d)
    relu = relay.op.nn.relu(relu)
    leaky_relu = relay.op.nn.leaky_relu(conv2d, alpha=0)
    out = relu + leaky_relu
    assert diamond.match(out)

    relu = relay.op.nn.relu(conv2d)
    leaky_relu = relay.op.nn.leaky_relu(relu, alpha=0)
    assert diamond.match(relu + leaky_relu)
    assert not diamond.match(relay.op.nn.relu(inp) + leaky_relu)


class BatchnormCallback(DFPatternCallback):
    """A batch norm written out becomes the operator."""

    def __init__(self, require_type: bool = False) -> None:
        super().__init__(require_type)
        self.x = wildcard()
        self.var = wildcard()
        self.mean = wildcard()
        self.beta = wildcard()
        self.gamma = wildcard()
        self.eps = wildcard()
        self.pattern = self.gamma * (self.x - self.mean) / is_op("sqrt")(self.var + self.eps) + self.beta

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        x = node_map[self.x][0]
        var = node_map[self.var][0]
        mean = node_map[self.mean][0]
        beta = node_map[self.beta][0]
        gamma = node_map[self.gamma][0]
        eps = node_map[self.eps][0]
        return relay.op.nn.batch_norm(x, gamma, beta, mean, var, epsilon=eps.data.numpy().item())[0]


def test_fusing_a_batch_norm() -> None:
    x, var, mean = relay.var("x"), relay.var("var"), relay.var("mean")
    beta, gamma = relay.var("beta"), relay.var("gamma")
    BN = gamma * (x - mean) / relay.op.sqrt(var + relay.const(1e-5)) + beta
    out = rewrite(BatchnormCallback(), BN)
    expected = relay.op.nn.batch_norm(x, gamma, beta, mean, var, epsilon=float(np.float32(1e-5)))[0]
    assert tvm.ir.structural_equal(out, expected)

    BN2 = gamma * (BN - mean) / relay.op.sqrt(var + relay.const(1e-5)) + beta
    both = rewrite(BatchnormCallback(), BN2)
    twice = relay.op.nn.batch_norm(expected, gamma, beta, mean, var, epsilon=float(np.float32(1e-5)))[0]
    assert tvm.ir.structural_equal(both, twice)


def test_partitioning_and_attributes() -> None:
    x, w, b = relay.var("x"), relay.var("w"), relay.var("b")
    pattern = is_op("nn.bias_add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard())
    expr = relay.op.nn.relu(relay.op.nn.bias_add(relay.op.nn.conv2d(x, w), b))

    def check(pre: Any) -> bool:
        return pre.args[0].attrs.data_layout == "NCHW"

    out = pattern.partition(expr, attrs={"Composite": "my.conv_bias"}, check=check)
    x0, w0, b0 = relay.var("x0"), relay.var("w0"), relay.var("b0")
    f = relay.Function([x0, w0, b0], relay.op.nn.bias_add(relay.op.nn.conv2d(x0, w0), b0))
    f = f.with_attr("Composite", "my.conv_bias")
    f = f.with_attr("PartitionedFromPattern", "nn.conv2d_nn.bias_add_")
    assert tvm.ir.structural_equal(out, relay.op.nn.relu(f(x, w, b)))
    assert tvm.ir.structural_equal(pattern.partition(expr, check=lambda pre: False), expr)


def test_rewriting_inside_a_pass() -> None:
    @relay.transform.function_pass(opt_level=0)
    class ReluToClip:
        def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
            class Callback(DFPatternCallback):
                def __init__(self) -> None:
                    super().__init__()
                    self.data = wildcard()
                    self.pattern = is_op("nn.relu")(self.data)

                def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
                    return relay.clip(node_map[self.data][0], 0.0, 6.0)

            return rewrite(Callback(), func)

    mod, params = relay.testing.mlp.get_workload(1)
    try:
        made = ReluToClip()(mod)
        assert relay.analysis.list_op_freqs(made)["clip"] == 2
        made["main"] = bind_params_by_name(made["main"], params)
        folded = run_opt_pass(made["main"], relay.transform.FoldConstant())
        assert len(folded.params) == 1
    finally:
        from workbench.core.transform import PASSES

        PASSES.remove("ReluToClip")
