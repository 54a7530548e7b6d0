"""What an operator's class says of it is heard by passes and by the memory planner: for one from outside, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from workbench import IRModule, relay
from workbench.core.errors import WorkbenchError
from workbench.lower.entry import lower_module
from workbench.relay import transform
from workbench.relay.interpret import interpret
from workbench.relay.ir import expr as e
from workbench.relay.ir.infer import infer_type
from workbench.relay.ir.operator import OPERATORS, Fusion, Operator, Precision, attribute, operator
from workbench.relay.ir.types import TensorType
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


@pytest.fixture(autouse=True, scope="module")
def _registered_here_only() -> Iterator[None]:
    yield
    for name in ("doubled", "halved", "product", "rows", "front"):
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
