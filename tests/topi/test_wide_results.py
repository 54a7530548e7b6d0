"""Operators on 16-bit floats that are asked for a float32 result give the sums as they are, not rounded before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import relay
from workbench.core.dtype import DataType
from workbench.core.errors import WorkbenchError
from workbench.relay.interpret import interpret
from workbench.relay.ir.operator import OPERATORS, Fusion, Operator, operator
from workbench.relay.ir.types import TensorType

WIDE: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = {
    "nn.dense": (relay.nn.dense, (4, 300), (8, 300)),
    "nn.matmul": (relay.nn.matmul, (4, 300), (300, 8)),
    "nn.batch_matmul": (relay.nn.batch_matmul, (2, 4, 300), (2, 8, 300)),
    "nn.conv1d": (relay.nn.conv1d, (1, 32, 20), (16, 32, 3)),
    "nn.conv2d": (relay.nn.conv2d, (1, 32, 9, 9), (16, 32, 3, 3)),
    "nn.conv3d": (relay.nn.conv3d, (1, 8, 5, 5, 5), (16, 8, 3, 3, 3)),
    "nn.conv2d_transpose": (relay.nn.conv2d_transpose, (1, 32, 5, 5), (32, 16, 3, 3)),
}


@pytest.mark.parametrize("alone", [False, True], ids=["fused", "alone"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", WIDE)
def test_a_float32_result_of_small_floats(name: str, dtype: str, alone: bool) -> None:
    """The kernel wrote 16 bits where its reader took 32: other numbers in each run, or NaN."""
    make, data_shape, weight_shape = WIDE[name]
    generator = np.random.default_rng(3)
    small = DataType(dtype).to_numpy()
    data, weight = (generator.standard_normal(shape).astype(small) for shape in (data_shape, weight_shape))
    x, w = relay.var("x", shape=data_shape, dtype=dtype), relay.var("w", shape=weight_shape, dtype=dtype)
    program = relay.Function([x, w], relay.nn.relu(make(x, w, out_dtype="float32")))
    exact, wide = (
        relay.var(one, shape=shape, dtype="float64") for one, shape in (("x", data_shape), ("w", weight_shape))
    )
    wanted = interpret(
        relay.Function([exact, wide], relay.nn.relu(make(exact, wide))),
        data.astype(np.float64),
        weight.astype(np.float64),
    )
    session = wb.open(program).without("FuseOps") if alone else wb.open(program)
    for _ in range(2):
        (found,) = session.run({"x": data, "w": weight}).values()
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)


def test_a_result_of_another_type_than_the_operator_says_is_refused() -> None:
    @operator("stranger.narrow", override=True)
    class Narrow(Operator):
        """Says float32, and computes float16."""

        fusion = Fusion.ELEMWISE

        def infer(self, data: TensorType) -> TensorType:
            return TensorType(data.shape, "float32")

        def compute(self, data: Any) -> Any:
            return wb.te.compute(data.shape, lambda *i: data(*i).astype("float16"), name="narrow")

    try:
        x = relay.var("x", shape=(4,))
        with pytest.raises(WorkbenchError) as caught:
            wb.open(relay.Function([x], relay.op.call("stranger.narrow", x))).build()
        error = caught.value
        assert (error.code, error.found, error.expected) == ("E-LOWER-TYPE", "float16", "float32")
        assert "kernel" in error.where and error.fix
    finally:
        OPERATORS.remove("stranger.narrow")
