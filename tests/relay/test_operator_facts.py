"""What an operator's class says of it is heard by passes and by the memory planner: for one from outside, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from workbench import IRModule, relay
from workbench.core.errors import WorkbenchError
from workbench.core.rewrite import Failure, why_not
from workbench.lower.entry import lower_module
from workbench.relay import transform
from workbench.relay.interpret import interpret
from workbench.relay.ir import expr as e
from workbench.relay.ir.infer import infer_type
from workbench.relay.ir.operator import OPERATORS, ChannelAxes, Fusion, Operator, Precision, attribute, operator
from workbench.relay.ir.types import TensorType
from workbench.relay.transforms import fast_math, fold_constant
from workbench.relay.transforms.pack_weights import pack_rules
from workbench.target import Target
from workbench.topi import attributes as convert
from workbench.topi.emit import elementwise, injective


@operator("facts.doubled", override=True)
class Doubled(Operator):
    """Twice x."""

    fusion = Fusion.ELEMWISE
    precision = Precision.FOLLOW

    def infer(self, data: TensorType) -> TensorType:
        return data

    def reference(self, data: np.ndarray) -> np.ndarray:
        return data + data

    def compute(self, data: Any) -> Any:
        return elementwise(self, lambda x: x + x, data)


@operator("facts.halved", override=True)
class Halved(Doubled):
    """x / 2: says that small floats are not enough for it."""

    precision = Precision.NEVER

    def reference(self, data: np.ndarray) -> np.ndarray:
        return data / 2

    def compute(self, data: Any) -> Any:
        return elementwise(self, lambda x: x / 2, data)


@operator("facts.product", override=True)
class Product(Operator):
    """A matrix product."""

    out_dtype: str = attribute("", "dtype of the result; that of the operands if empty", convert=convert.dtype_or_same)
    precision = Precision.ALWAYS

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        return TensorType((a.shape[0], b.shape[1]), self.out_dtype or a.dtype)

    def reference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.matmul(a, b, dtype=self.out_dtype or a.dtype)


@operator("facts.rows", override=True)
class Rows(Operator):
    """The second operand as (rows, columns); the first says only how many rows."""

    fusion = Fusion.INJECTIVE
    aliasing = 1

    def infer(self, like: TensorType, data: TensorType) -> TensorType:
        return TensorType((like.shape[0], data.size // like.concrete_shape[0]), data.dtype)

    def reference(self, like: np.ndarray, data: np.ndarray) -> np.ndarray:
        return data.reshape(like.shape[0], -1)

    def compute(self, like: Any, data: Any) -> Any:
        columns = data.shape[0] // like.shape[0]
        return injective(self, (like.shape[0], columns), lambda i, j: data(i * columns + j))


@operator("facts.front", override=True)
class Front(Operator):
    """The first half; it says falsely that this is the whole."""

    fusion = Fusion.INJECTIVE
    aliasing = 0

    def infer(self, data: TensorType) -> TensorType:
        return TensorType((data.size // 2,), data.dtype)


@operator("facts.window", override=True)
class Window(Operator):
    """Sums of neighbours along the last axis; linear in data and weight, commutative in nothing."""

    padding: tuple[int, int] = attribute((0, 0), "before and after", convert=convert.padding2)
    layout: str = attribute("NCW", "layout of data", choices=("NCW",))
    kernel_layout: str = attribute("OIW", "layout of weight", choices=("OIW", "OIW2o"))
    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    multiplies_and_adds = True
    padding_value = 0.0

    def infer(self, data: TensorType, weight: TensorType) -> TensorType:
        batch, _, width = data.concrete_shape
        outputs, size = weight.shape[0] * (2 if self.kernel_layout == "OIW2o" else 1), weight.concrete_shape[2]
        return TensorType((batch, outputs, width + sum(self.padding) - size + 1), data.dtype)

    def reference(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        plain = weight if weight.ndim == 3 else weight.transpose(0, 3, 1, 2).reshape(-1, *weight.shape[1:3])
        return relay.op.get("nn.conv1d")(padding=self.padding).reference(data, plain)

    def flops(self, data: TensorType, weight: TensorType) -> int:
        return 2 * self.infer(data, weight).size * weight.concrete_shape[1] * weight.concrete_shape[2]

    def channel_axes(self) -> ChannelAxes:
        return ChannelAxes(data=1, result=1, weight_input=1, weight_output=0)

    def packed(self, lanes: int, *operands: Any) -> Any:
        data, weight = operands
        if not isinstance(weight, e.Constant):
            return Failure("the weight is a constant", "a variable")
        blocks = relay.layout_transform(weight, src_layout="OIW", dst_layout="OIW2o")
        return e.Call(self.replace(kernel_layout="OIW2o"), (data, blocks))


@operator("facts.same", override=True)
class Same(Doubled):
    """Exact equality of a kind: commutes; there is a fast way to it."""

    fusion = Fusion.BROADCAST
    commutative = True
    fast_variant = "add"

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        return a

    def reference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a + b


@operator("facts.picked", override=True)
class Picked(Operator):
    """Every second element."""

    moves = True
    fast_variant = "nn.relu"

    def infer(self, data: TensorType) -> TensorType:
        return TensorType((data.size // 2,), data.dtype)


@pytest.fixture(autouse=True, scope="module")
def _registered_here_only() -> Iterator[None]:
    yield
    for name in ("doubled", "halved", "product", "rows", "front", "window", "same", "picked"):
        OPERATORS.remove(f"facts.{name}")


def module(body: e.Expr, *params: e.Var) -> IRModule:
    return infer_type(IRModule({"main": e.Function(params, body)}))


# --- precision ---


def test_a_strangers_precision_is_heard() -> None:
    a, b = relay.var("a", shape=(2, 3)), relay.var("b", shape=(3, 4))
    product = relay.op.call("facts.product", a, b)
    body = relay.op.call("facts.halved", relay.op.call("facts.doubled", product))
    mixed = transform.ToMixedPrecision(missing_op_mode=0)(module(body, a, b))["main"]
    halved = mixed.body
    widened = halved.args[0]
    doubled = widened.args[0]
    heavy = doubled.args[0].args[0]
    assert [str(part.checked_type.dtype) for part in (halved, widened, doubled, heavy)] == [
        "float32", "float32", "float16", "float32",
    ]  # fmt: skip
    assert (halved.op.name, doubled.op.name, heavy.op.name) == ("facts.halved", "facts.doubled", "facts.product")
    assert [str(part.checked_type.dtype) for part in heavy.args] == ["float16", "float16"]
    given = [np.full((2, 3), 0.5, np.float32), np.full((3, 4), 2.0, np.float32)]
    np.testing.assert_array_equal(interpret(mixed, *given), given[0] @ given[1])


def test_a_heavy_operator_must_say_in_what_it_adds_up() -> None:
    with pytest.raises(WorkbenchError) as caught:

        @operator("facts.bad")
        class Bad(Operator):
            """No out_dtype."""

            precision = Precision.ALWAYS

    assert caught.value.code == "E-OPERATOR-FACT" and "out_dtype" in str(caught.value)
    assert "facts.bad" not in OPERATORS


@pytest.mark.parametrize(("fact", "value"), [("precision", "follow"), ("aliasing", 2), ("aliasing", {0: 0})])
def test_a_fact_that_cannot_be_is_refused(fact: str, value: Any) -> None:
    with pytest.raises(WorkbenchError) as caught:
        operator("facts.bad")(type("Bad", (Operator,), {"infer": Rows.infer, fact: value}))
    assert caught.value.code == "E-OPERATOR-FACT" and fact in str(caught.value)
    assert "facts.bad" not in OPERATORS


# --- aliasing ---


def test_a_strangers_view_is_no_kernel_and_no_memory() -> None:
    like, data = relay.var("like", shape=(3, 1)), relay.var("data", shape=(12,))
    rows = relay.op.call("facts.rows", like, relay.nn.relu(data))
    mod = module(relay.exp(rows), like, data)
    values = {"like": np.zeros((3, 1), np.float32), "data": np.arange(12, dtype=np.float32) / 12}
    lowered = lower_module(mod, Target("llvm"))
    assert [kernel.name for kernel in lowered.kernels] == ["fused_nn_relu", "fused_exp"]
    model = relay.build(mod, "llvm")
    np.testing.assert_allclose(model.run(values)["output_0"], np.exp(values["data"].reshape(3, 4)), rtol=1e-6)


def test_a_view_of_a_view_is_the_memory_below_both() -> None:
    x = relay.var("x", shape=(2, 6))
    body = relay.reshape(relay.copy(relay.squeeze(relay.expand_dims(relay.nn.relu(x), 0), 0)), (3, 4))
    assert len(lower_module(module(body, x), Target("llvm")).calls) == 1


def test_a_view_that_is_none_is_refused_before_it_is_run() -> None:
    x = relay.var("x", shape=(8,))
    with pytest.raises(WorkbenchError) as caught:
        lower_module(module(relay.op.call("facts.front", x), x), Target("llvm"))
    assert caught.value.code == "E-OPERATOR-FACT" and "Tensor[(4), float32]" in str(caught.value)


@pytest.mark.parametrize("item", [0, 1])
def test_an_operator_with_two_results_is_a_kernel(item: int) -> None:
    """Dropout that no pass took apart: its mask is computed, not read from where the operand lies."""
    x = relay.var("x", shape=(2, 3))
    mod = module(relay.nn.dropout_raw(x)[item], x)
    assert len(lower_module(mod, Target("llvm")).calls) >= 1


@pytest.mark.parametrize("name", [name for name, cls in OPERATORS.items() if cls.aliasing is not None])
def test_views_hold_the_elements_in_their_order(name: str) -> None:
    cls = OPERATORS[name]
    cases = [case for case in cls.examples if not case.error]
    assert cases or name.startswith("facts.")
    for case in cases:
        generator = np.random.default_rng(0)
        inputs = [value(generator) if callable(value) else value for value in case.inputs]
        assert cls.aliasing is not None
        np.testing.assert_array_equal(
            np.ravel(cls(**case.attributes).reference(*inputs)), np.ravel(inputs[cls.aliasing])
        )


# --- rules ---


def windows(weight: e.Expr, *params: e.Var, **attributes: Any) -> tuple[e.Var, e.Call]:
    x = relay.var("x", shape=(2, 3, 8))
    return x, relay.op.call("facts.window", x, weight, **attributes)


WEIGHT = np.random.default_rng(1).integers(-3, 4, (4, 3, 3)).astype(np.float32)


def unchanged(before: IRModule, after: IRModule) -> None:
    values = np.random.default_rng(2).integers(-3, 4, (2, 3, 8)).astype(np.float32)
    np.testing.assert_array_equal(interpret(after["main"], values), interpret(before["main"], values))


def test_a_strangers_weight_takes_factors() -> None:
    x, made = windows(relay.const(WEIGHT))
    mod = module(relay.multiply(made, relay.const(np.float32([[2], [1], [0.5], [4]]))), x)
    folded = transform.FoldScaleAxis()(mod)
    assert folded["main"].body.op.name == "facts.window"
    unchanged(mod, folded)


def test_a_strangers_weight_is_packed() -> None:
    x, made = windows(relay.const(WEIGHT))
    mod = module(made, x)
    packed = transform.PackWeights(lanes=2)(mod)
    assert packed["main"].body.op.kernel_layout == "OIW2o"
    unchanged(mod, packed)
    (rule, *_) = pack_rules(2)
    variable = relay.var("w", shape=(4, 3, 3))
    assert str(why_not(rule, windows(variable)[1])) == "the weight is a constant; found a variable"
    assert "reads weights in blocks" in str(why_not(rule, relay.nn.relu(x)))


def test_padding_moves_into_a_strangers_operator() -> None:
    x = relay.var("x", shape=(2, 3, 8))
    padded = relay.nn.pad(x, pad_width=((0, 0), (0, 0), (1, 2)))
    mod = module(relay.op.call("facts.window", padded, relay.const(WEIGHT), padding=(0, 1)), x)
    folded = transform.FoldExplicitPadding()(mod)
    assert folded["main"].body.op.padding == (1, 3) and folded["main"].body.args[0] is folded["main"].params[0]
    unchanged(mod, folded)


def test_a_strangers_multiplications_are_counted() -> None:
    x, made = windows(relay.const(WEIGHT))
    assert relay.analysis.get_total_mac_number(e.Function((x,), made)) == 2 * 4 * 6 * 3 * 3


def test_a_strangers_commutativity_and_fast_variant_are_heard() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    from workbench.relay.dataflow_pattern import is_op, is_var

    pattern = is_op("facts.same")(is_var("y"), is_var("x"))
    assert pattern.match(relay.op.call("facts.same", x, y)) and not pattern.match(relay.op.call("facts.same", y, y))
    assert not is_op("subtract")(is_var("y"), is_var("x")).match(relay.subtract(x, y))
    picked = relay.op.call("facts.picked", x)
    assert why_not(fast_math.RULES["fast-variant"], picked) is None
    assert "a fast variant" in str(why_not(fast_math.RULES["fast-variant"], relay.nn.relu(x)))


def test_one_value_stays_one_value_through_a_strangers_move() -> None:
    filled = relay.op.call("facts.picked", relay.full(relay.const(2.5), shape=(2_000_000, 2)))
    folded = transform.FoldConstant()(module(filled))["main"].body
    assert isinstance(folded, e.Constant) and folded.data.fill_value == 2.5 and folded.data.shape == (2_000_000,)
    halves = relay.op.call("facts.halved", relay.const(np.ones(4, np.float32)))
    assert "repeats one value" in str(why_not(fold_constant.RULES["repeated-value"], halves))


# --- facts of the inventory ---


def test_heavy_operators_add_up_wide() -> None:
    heavy = [name for name, cls in OPERATORS.items() if cls.precision is Precision.ALWAYS and name[:6] != "facts."]
    assert heavy and [name for name in heavy if not OPERATORS[name].accumulates] == []


@pytest.mark.parametrize(
    ("build", "shapes"),
    [
        (relay.nn.conv2d_transpose, ((1, 512, 3, 3), (512, 2, 2, 2))),
        (relay.nn.fast_softmax, ((2, 2048),)),
        (lambda x: relay.collapse_sum_to(x, shape=(1, 4)), ((4096, 4),)),
        (relay.collapse_sum_like, ((4096, 4), (1, 4))),
    ],
    ids=["conv2d_transpose", "fast_softmax", "collapse_sum_to", "collapse_sum_like"],
)
def test_sums_of_halves_are_made_in_float32(build: Any, shapes: tuple[tuple[int, ...], ...]) -> None:
    generator = np.random.default_rng(3)
    values = [generator.uniform(0.05, 0.25, shape).astype(np.float16) for shape in shapes]
    params = [relay.var(f"x{index}", shape=shape, dtype="float16") for index, shape in enumerate(shapes)]
    model = relay.build(IRModule.from_expr(e.Function(params, build(*params))), "llvm")
    (found,) = model.run({f"x{index}": value for index, value in enumerate(values)}).values()
    exact = [relay.var(f"x{index}", shape=shape, dtype="float64") for index, shape in enumerate(shapes)]
    wanted = interpret(e.Function(exact, build(*exact)), *(value.astype(np.float64) for value in values))
    np.testing.assert_allclose(np.asarray(found, np.float64), wanted, rtol=1e-3)
