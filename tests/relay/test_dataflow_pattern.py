"""The dataflow pattern language: every class of pattern, rewriting, partitioning, and what is said when none fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from workbench import relay
from workbench.core.equal import structural_equal
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.rewrite import RuleTable, logging, why_not
from workbench.relay.dataflow_pattern import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPatternCallback,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    partition,
    rewrite,
    wildcard,
)
from workbench.relay.interpret import interpret
from workbench.relay.ir.infer import infer_type
from workbench.relay.patterns import any_
from workbench.relay.patterns import op as rule_op
from workbench.relay.transforms.rules import apply_rules

K_ELEMWISE, K_BROADCAST = 0, 1


def tensors(*names: str, shape: tuple[int, ...] = (2, 3)) -> list[Any]:
    return [relay.var(name, shape=shape) for name in names]


# --- what the words build -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (is_op("add"), ExprPattern),
        (is_expr(relay.const(1.0)), ExprPattern),
        (is_var("x"), VarPattern),
        (is_constant(), ConstantPattern),
        (wildcard(), WildcardPattern),
        (is_op("add")(wildcard(), wildcard()), CallPattern),
        (wildcard() + wildcard(), CallPattern),
        (FunctionPattern([wildcard()], wildcard()), FunctionPattern),
        (is_if(wildcard(), wildcard(), wildcard()), IfPattern),
        (is_let(wildcard(), wildcard(), wildcard()), LetPattern),
        (is_tuple([wildcard()]), TuplePattern),
        (is_tuple_get_item(wildcard(), 1), TupleGetItemPattern),
        (is_op("add") | is_op("subtract"), AltPattern),
        (has_type(relay.TensorType((1,))), TypePattern),
        (has_dtype("float32"), DataTypePattern),
        (has_shape((1, 2)), ShapePattern),
        (has_attr({"a": 1}), AttrPattern),
        (dominates(wildcard(), wildcard(), wildcard()), DominatorPattern),
    ],
)
def test_words_build_their_classes(made: Any, kind: type) -> None:
    assert type(made) is kind
    assert repr(made)


def test_operators_are_calls() -> None:
    x, y = tensors("x", "y")
    for pattern, expr in [
        (wildcard() + wildcard(), x + y),
        (wildcard() - wildcard(), x - y),
        (wildcard() * wildcard(), x * y),
        (wildcard() / wildcard(), x / y),
    ]:
        assert pattern.match(expr)
    assert not (wildcard() - wildcard()).match(x + y)


# --- matching -----------------------------------------------------------------------------------------------------


def test_expressions_variables_constants() -> None:
    x, y = tensors("x", "y")
    assert is_expr(x).match(x) and not is_expr(x).match(y)
    assert is_var().match(x) and is_var("x").match(x) and not is_var("y").match(x)
    assert is_constant().match(relay.const(np.zeros((2, 3), "float32"))) and not is_constant().match(x)
    assert is_expr(relay.const(1.0)).match(relay.const(1.0)) and not is_expr(relay.const(1.0)).match(relay.const(2.0))
    assert is_expr(x + y).match(x + y) and not is_expr(x + y).match(y + x)


def test_calls_commute_where_the_operator_does() -> None:
    x, y = tensors("x", "y")
    for name, commutes in (("add", True), ("multiply", True), ("subtract", False), ("divide", False)):
        pattern = is_op(name)(is_var("x"), is_var("y"))
        assert pattern.match(relay.op.call(name, x, y))
        assert bool(pattern.match(relay.op.call(name, y, x))) is commutes
    nested = is_op("add")(is_op("add")(is_var("x"), is_var("y")), is_var("z"))
    z = relay.var("z", shape=(2, 3))
    assert nested.match(relay.add(z, relay.add(y, x))) and not nested.match(relay.add(y, relay.add(x, z)))


def test_products_and_quotients_associate() -> None:
    x, y, z = tensors("x", "y", "z")
    pattern = is_op("divide")(is_op("multiply")(is_var("x"), is_var("y")), is_var("z"))
    assert pattern.match(relay.divide(relay.multiply(x, y), z))
    assert pattern.match(relay.multiply(x, relay.divide(y, z)))
    assert pattern.match(relay.multiply(y, relay.divide(x, z)))
    assert not pattern.match(relay.multiply(y, relay.divide(z, x)))
    other = is_op("multiply")(is_var("x"), is_op("divide")(is_var("y"), is_var("z")))
    assert other.match(relay.divide(relay.multiply(x, y), z))
    assert not other.match(relay.divide(relay.multiply(x, z), y))


def test_any_operands_and_wrong_counts() -> None:
    x, y = tensors("x", "y")
    assert is_op("add")(None).match(x + y)
    assert not is_op("add")(wildcard()).match(x + y)
    assert CallPattern(is_op("concatenate"), None).match(relay.concatenate([x, y], axis=0))
    assert wildcard()(wildcard(), wildcard()).match(x + y)


def test_the_same_pattern_meets_the_same_expression() -> None:
    x, y = tensors("x", "y")
    one = wildcard()
    assert (one + one).match(x + x) and not (one + one).match(x + y)
    assert (one * one).match(relay.const(2.0) * relay.const(2.0))


def test_functions_ifs_lets() -> None:
    x, y = tensors("x", "y")
    function = relay.Function([x, y], x + y)
    inner = wildcard() + wildcard()
    assert FunctionPattern([wildcard(), wildcard()], inner).match(function)
    assert FunctionPattern(None, inner).match(function)
    assert not FunctionPattern([wildcard()], inner).match(function)
    assert not FunctionPattern([wildcard(), wildcard()], wildcard() - wildcard()).match(function)
    assert FunctionPattern(None, inner)(wildcard(), wildcard()).match(relay.Call(function, (x, y)))
    condition = relay.var("c", shape=(), dtype="bool")
    branch = relay.If(condition, x + y, x - y)
    assert is_if(is_var("c"), inner, wildcard() - wildcard()).match(branch)
    assert not is_if(is_var("c"), inner, inner).match(branch)
    bound = relay.var("b")
    let = relay.Let(bound, x + y, relay.op.call("nn.relu", bound))
    assert is_let(is_var("b"), inner, is_op("nn.relu")(is_var("b"))).match(let)
    assert not is_let(is_var("b"), wildcard() - wildcard(), wildcard()).match(let)


def test_tuples_and_items() -> None:
    x, y, z = tensors("x", "y", "z")
    pair = relay.Tuple((x, y))
    assert is_tuple([is_var("x"), wildcard()]).match(pair) and is_tuple().match(pair) and is_tuple(None).match(pair)
    assert not is_tuple([wildcard()]).match(pair) and not is_tuple().match(z)
    assert is_tuple_get_item(is_tuple(), 1).match(pair[1]) and is_tuple_get_item(is_tuple()).match(pair[1])
    assert not is_tuple_get_item(is_tuple(), 0).match(pair[1])


def test_types_dtypes_shapes() -> None:
    x, y = tensors("x", "y")
    total = relay.nn.relu(x + y)
    assert has_type(relay.TensorType((2, 3))).match(total) and not has_type(relay.TensorType((3, 2))).match(total)
    assert has_dtype("float32").match(total) and not has_dtype("float16").match(total)
    assert has_shape((2, 3)).match(total) and not has_shape((2,)).match(total)
    assert (wildcard() + wildcard()).has_shape((2, 3)).has_dtype("float32").match(x + y)
    assert not has_dtype("float32").match(relay.Tuple((x, y)))
    assert not has_type(relay.TensorType((2, 3))).match(relay.var("unknown"))


def test_attributes_of_operators_calls_and_functions() -> None:
    x = relay.var("x", shape=(1, 4, 8, 8))
    w = relay.var("w", shape=(4, 4, 3, 3))
    conv = relay.nn.conv2d(x, w, padding=(1, 1), strides=(1, 1))
    anything = is_op("nn.conv2d")(wildcard(), wildcard())
    assert anything.has_attr({"data_layout": "NCHW", "strides": [1, 1]}).match(conv)
    assert not anything.has_attr({"data_layout": "NHWC"}).match(conv)
    assert not anything.has_attr({"no_such": 1}).match(conv)
    assert is_op("add").has_attr({"TOpPattern": K_BROADCAST})(wildcard(), wildcard()).match(x + x)
    assert not is_op("add").has_attr({"TOpPattern": K_ELEMWISE})(wildcard(), wildcard()).match(x + x)
    assert wildcard().has_attr({"TOpIsStateful": False}).match(x + x)
    function = relay.Function([x], relay.nn.relu(x)).with_attr("Composite", "dnnl.relu")
    assert FunctionPattern([wildcard()], wildcard()).has_attr({"Composite": "dnnl.relu"}).match(function)
    assert not wildcard().has_attr({"Composite": "dnnl.relu"}).match(x)


def test_alternatives_and_optional_parts() -> None:
    x, y = tensors("x", "y")
    either = is_op("add") | is_op("subtract")
    assert either(wildcard(), wildcard()).match(x - y) and not either(wildcard(), wildcard()).match(x * y)
    pattern = (wildcard() + wildcard()).optional(lambda inner: is_op("nn.relu")(inner))
    assert pattern.match(x + y) and pattern.match(relay.nn.relu(x + y)) and not pattern.match(relay.tanh(x + y))
    first = wildcard()
    backed = is_op("add")(is_op("nn.relu")(first), first) | is_op("add")(first, is_op("nn.relu")(first))
    assert backed.match(relay.add(x, relay.nn.relu(x)))


def test_recursion_by_redirect() -> None:
    x, w = relay.var("x"), relay.var("w")
    unary = wildcard()
    unary.redirect_to(is_op("nn.relu")(unary | is_var("x")) | is_op("tanh")(unary | is_var("x")))
    assert unary.match(relay.op.call("nn.relu", relay.op.call("tanh", x)))
    assert not unary.match(relay.op.call("nn.relu", relay.op.call("tanh", w)))


def conv_of(data: Any, weight: Any) -> Any:
    return relay.op.call("nn.conv2d", data, weight, padding=(1, 1))


def test_dominators() -> None:
    data, weight = relay.var("data"), relay.var("weight")
    conv = conv_of(data, weight)
    relu = relay.op.call("nn.relu", conv)
    tanh = relay.op.call("tanh", relu)
    is_conv = is_op("nn.conv2d")(wildcard(), wildcard())
    elementwise = wildcard().has_attr({"TOpPattern": K_ELEMWISE})(None)
    joined = is_op("add")(wildcard(), wildcard())
    pattern = dominates(is_conv, elementwise, joined)
    assert pattern.match(relay.add(relu, tanh)), "a diamond"
    assert pattern.match(relay.add(conv, tanh)), "a residual"
    assert not pattern.match(relay.add(tanh, data)), "one side does not lead to the parent"
    other = conv_of(data, weight)
    assert not pattern.match(relay.add(relu, relay.op.call("tanh", other))), "two parents"
    leaking = relay.Tuple((relay.add(relu, tanh), relu))
    found = is_tuple([pattern, wildcard()])
    assert not found.match(leaking), "a value from inside is used outside"
    assert joined.dominates(is_conv, elementwise).match(relay.add(relu, tanh))
    reason = pattern.why_not(relay.add(tanh, data))
    assert reason is not None and "is the parent or on the path" in str(reason)


def test_why_not_names_the_first_clause_that_failed() -> None:
    x, y = tensors("x", "y")
    pattern = is_op("nn.relu")(is_op("add")(wildcard(), is_constant()))
    assert str(pattern.why_not(relay.nn.relu(x - y))) == "the operator is add; found subtract"
    assert str(pattern.why_not(relay.nn.relu(x + y))) == "a constant; found %y"
    assert pattern.why_not(relay.nn.relu(x + relay.const(1.0))) is None
    shaped = is_op("add")(wildcard(), wildcard()).has_shape((3, 3))
    assert "has shape (3, 3); found Tensor[(2, 3), float32]" in str(shaped.why_not(x + y))
    conv = is_op("nn.dense")(wildcard(), wildcard()).has_attr({"units": 5})
    w = relay.var("w", shape=(4, 3))
    assert "has units=5" in str(conv.why_not(relay.nn.dense(x, w, units=4)))


def test_one_engine_for_rules_and_patterns() -> None:
    table = RuleTable("both")
    x_pattern = wildcard()

    @table.rule("double-negative", is_op("negative")(rule_op("negative", any_("x"))))
    def mixed(m: Any) -> Any:
        """-(-x) is x."""
        return m["x"]

    @table.rule("relu-of-abs", is_op("nn.relu")(is_op("abs")(x_pattern)))
    def positive(m: Any) -> Any:
        """What abs answers is not negative."""
        return relay.op.call("abs", m[x_pattern][0])

    x = relay.var("x", shape=(2, 3))
    function = relay.Function([x], relay.nn.relu(relay.abs(relay.negative(relay.negative(x)))))
    infer_type(function)
    assert structural_equal(apply_rules(function, table), relay.Function([x], relay.abs(x)))
    assert str(why_not(table["relu-of-abs"], relay.nn.relu(x))) == "a call of abs; found %x"


@pytest.mark.slow
def test_patterns_as_deep_as_programs() -> None:
    x = relay.var("x", shape=(2,))
    expr, pattern = x, is_var("x")
    for _ in range(20_000):
        expr, pattern = relay.Call(relay.op.get("tanh")(), (expr,)), is_op("tanh")(pattern)
    assert pattern.match(expr)
    assert len(repr(pattern)) < 1000


# --- rewriting ----------------------------------------------------------------------------------------------------


class AddToSubtract(DFPatternCallback):
    """x + y becomes x - y."""

    def __init__(self) -> None:
        super().__init__()
        self.x, self.y = wildcard(), wildcard()
        self.pattern = self.x + self.y

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        return relay.subtract(node_map[self.x][0], node_map[self.y][0])


def test_rewrite_replaces_every_match() -> None:
    x, y = tensors("x", "y")
    with logging() as log:
        made = rewrite(AddToSubtract(), relay.tanh(x + (x + y)))
    assert structural_equal(made, relay.tanh(x - (x - y)))
    assert [firing.rule.name for firing in log] == ["AddToSubtract"] * 2
    assert AddToSubtract().rewrite(x + y).op.name == "subtract"


def test_rewrite_of_modules_and_functions() -> None:
    x, y = tensors("x", "y")
    mod = IRModule({"main": relay.Function([x, y], x + y), "other": relay.Function([x], x * x)})
    made = rewrite(AddToSubtract(), mod)
    assert structural_equal(made["main"], relay.Function([x, y], x - y)) and made["other"] is mod["other"]


def test_rewrite_sees_operands_already_rewritten() -> None:
    x = relay.var("x", shape=(2, 3))
    seen: list[tuple[Any, Any]] = []

    def replace(pre: Any, post: Any, node_map: Any) -> Any:
        seen.append((pre, post))
        return post.args[0].args[0]

    double = is_op("negative")(is_op("negative")(wildcard()))
    expr = relay.negative(relay.negative(relay.tanh(relay.negative(relay.negative(x)))))
    made = double.rewrite(replace, expr)
    assert structural_equal(made, relay.tanh(x))
    assert seen[-1][0] is expr and structural_equal(seen[-1][1].args[0].args[0], relay.tanh(x))


class FoldNorm(DFPatternCallback):
    """gamma * (x - mean) / sqrt(var + eps) + beta, however it is written, is a batch norm."""

    def __init__(self) -> None:
        super().__init__()
        self.x, self.var, self.mean = wildcard(), wildcard(), wildcard()
        self.beta, self.gamma, self.eps = wildcard(), wildcard(), is_constant()
        self.pattern = self.gamma * (self.x - self.mean) / is_op("sqrt")(self.var + self.eps) + self.beta

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        found = [node_map[part][0] for part in (self.x, self.gamma, self.beta, self.mean, self.var)]
        return relay.nn.batch_norm(*found, epsilon=float(node_map[self.eps][0].data.numpy()))[0]


def test_rewrite_of_a_batch_norm_written_out() -> None:
    x = relay.var("x", shape=(2, 3))
    gamma, beta, mean, var = tensors("gamma", "beta", "mean", "var", shape=(3,))
    eps = relay.const(1e-5)
    for written in (
        gamma * (x - mean) / relay.sqrt(var + eps) + beta,
        beta + (x - mean) * gamma / relay.sqrt(eps + var),
        gamma * ((x - mean) / relay.sqrt(var + eps)) + beta,
    ):
        made = rewrite(FoldNorm(), relay.Function([x, gamma, beta, mean, var], written))
        assert made.body.tuple_value.op.name == "nn.batch_norm"
        arrays = [np.random.default_rng(s).uniform(0.5, 1, p.checked_type.concrete_shape).astype("float32")
                  for s, p in enumerate(made.params)]  # fmt: skip
        np.testing.assert_allclose(
            interpret(made, *arrays), interpret(relay.Function(made.params, written), *arrays), rtol=1e-5
        )


def test_rewrite_with_types_once_and_over_functions() -> None:
    class Widen(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__(require_type=True, rewrite_once=True)
            self.pattern = is_op("tanh")(wildcard())

        def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
            assert pre.checked_type.dtype == "float32"
            return relay.op.call("tanh", relay.op.call("tanh", post.args[0]))

    x = relay.var("x", shape=(2,))
    made = rewrite(Widen(), relay.Function([x], relay.tanh(x)))
    assert structural_equal(made.body, relay.tanh(relay.tanh(x)))


def test_rewrite_refuses_callbacks_that_go_in_circles() -> None:
    class Swap(DFPatternCallback):
        def __init__(self, one: str, other: str) -> None:
            super().__init__()
            self.pattern, self.other = is_op(one)(wildcard()), other

        def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
            return relay.op.call(self.other, relay.op.call("abs", post.args[0]))

    x = relay.var("x", shape=(2,))
    with pytest.raises(WorkbenchError) as caught:
        rewrite([Swap("sin", "cos"), Swap("cos", "sin")], relay.sin(x))
    assert caught.value.code == "E-REWRITE-ENDLESS"


def test_refusals_of_callbacks() -> None:
    x = relay.var("x", shape=(2,))
    with pytest.raises(WorkbenchError, match="must return an expression"):
        is_op("sin")(wildcard()).rewrite(lambda pre, post, found: None, relay.sin(x))
    with pytest.raises(WorkbenchError, match="that the expression binds"):
        is_var().rewrite(lambda pre, post, found: relay.const(1.0), relay.Function([x], relay.sin(x)))
    with pytest.raises(WorkbenchError, match="has no callback"):
        callback = DFPatternCallback()
        callback.pattern = wildcard()
        rewrite(callback, x)
    with pytest.raises(WorkbenchError, match="not a pattern"):
        rewrite(DFPatternCallback(), x)
    with pytest.raises(WorkbenchError, match="no operator named"):
        is_op("nn.rellu")


# --- partitioning -------------------------------------------------------------------------------------------------


def test_partition_makes_functions() -> None:
    x, w = relay.var("x"), relay.var("w")
    conv = relay.op.call("nn.conv2d", x, w)
    expr = relay.op.call("nn.relu", conv)
    pattern = is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), wildcard()))
    made = pattern.partition(expr)
    a, b = relay.var("a"), relay.var("b")
    body = relay.op.call("nn.relu", relay.op.call("nn.conv2d", a, b))
    function = relay.Function([a, b], body).with_attr("PartitionedFromPattern", "nn.conv2d_nn.relu_")
    assert structural_equal(made, relay.Call(function, (x, w)))
    assert partition(pattern, made) is made, "what is partitioned is left alone"
    assert pattern.partition(expr, check=lambda pre: False) is expr
    named = pattern.partition(expr, attrs={"Composite": "dnnl.conv_relu"})
    assert named.op.attrs["Composite"] == "dnnl.conv_relu"


def test_partition_leaves_what_is_used_outside() -> None:
    x, w = relay.var("x"), relay.var("w")
    conv = relay.op.call("nn.conv2d", x, w)
    pattern = is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), wildcard()))
    expr = relay.add(relay.op.call("nn.relu", conv), conv)
    assert pattern.partition(expr) is expr


def test_partition_of_dominators_takes_the_whole_region() -> None:
    x, w = relay.var("x", shape=(1, 4, 6, 6)), relay.const(np.ones((4, 4, 3, 3), "float32") * 0.1)
    conv = relay.nn.conv2d(x, w, padding=(1, 1))
    relu = relay.nn.relu(conv)
    expr = relay.add(relu, relay.tanh(relu))
    pattern = dominates(
        is_op("nn.conv2d")(wildcard(), is_constant()),
        wildcard().has_attr({"TOpPattern": K_ELEMWISE})(None),
        is_op("add")(wildcard(), wildcard()),
    )
    made = pattern.partition(relay.Function([x], expr))
    assert made.body.args == (x,) and len(made.body.op.params) == 1, "the constant was asked for, so it is inside"
    data = np.random.default_rng(0).standard_normal((1, 4, 6, 6)).astype("float32")
    np.testing.assert_array_equal(interpret(made, data), interpret(relay.Function([x], expr), data))


def test_partition_embeds_constants_only_where_asked() -> None:
    x, w = relay.var("x"), relay.const(np.ones((4, 4), "float32"))
    expr = relay.op.call("nn.relu", relay.op.call("nn.dense", x, w))
    for weight, params in ((wildcard(), 2), (is_constant(), 1), (is_constant() | wildcard(), 1), (is_expr(w), 1)):
        made = is_op("nn.relu")(is_op("nn.dense")(wildcard(), weight)).partition(expr)
        assert len(made.op.params) == params, repr(weight)


def test_partition_takes_the_longest_optional_match() -> None:
    x, w, b = relay.var("x"), relay.var("w"), relay.var("b")
    conv = relay.op.call("nn.conv2d", x, w)
    bias = relay.op.call("nn.bias_add", conv, b)
    pattern = is_op("nn.bias_add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard()).optional(
        lambda inner: is_op("nn.relu")(inner)
    )
    with_relu = pattern.partition(relay.op.call("nn.relu", bias))
    assert with_relu.op.attrs["PartitionedFromPattern"] == "nn.conv2d_nn.bias_add_nn.relu_"
    assert pattern.partition(bias).op.attrs["PartitionedFromPattern"] == "nn.conv2d_nn.bias_add_"


def test_partition_of_a_whole_function_keeps_meaning() -> None:
    x = relay.var("x", shape=(2, 3))
    y = relay.nn.relu(relay.add(x, relay.const(np.full((3,), 0.5, "float32"))))
    z = relay.nn.relu(relay.add(y, x))
    function = relay.Function([x], relay.Tuple((z, relay.tanh(z))))
    pattern = is_op("nn.relu")(wildcard() + wildcard())
    made = pattern.partition(function)
    assert sum(isinstance(node, relay.Function) for node in _nodes(made)) == 3
    data = np.random.default_rng(1).standard_normal((2, 3)).astype("float32")
    for one, other in zip(interpret(made, data), interpret(function, data), strict=True):
        np.testing.assert_array_equal(one, other)


def _nodes(expr: Any) -> list[Any]:
    found: list[Any] = []
    relay.analysis.post_order_visit(expr, found.append)
    return found
