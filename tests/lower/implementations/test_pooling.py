"""Pooling over windows: each way to compute it, with each of its configs, compiled; and the code that is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.nightly import daily
from workbench import relay
from workbench.arith.nodes import Var
from workbench.lower.choosing import candidates, chosen
from workbench.lower.implementation import Workload
from workbench.relay.ir.operator import OPERATORS
from workbench.relay.ir.types import TensorType
from workbench.target import Target

CASES: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "padding": ("nn.max_pool2d", (1, 3, 12, 13), {"pool_size": 3, "strides": 2, "padding": 1}),
    "a mean over what is inside": ("nn.avg_pool2d", (2, 3, 12, 13), {"pool_size": 3, "strides": 2, "padding": 1}),
    "a mean over padding": (
        "nn.avg_pool2d", (1, 2, 9, 20), {"pool_size": (3, 2), "padding": (1, 0, 1, 1), "count_include_pad": True},
    ),
    "no padding": ("nn.max_pool2d", (1, 5, 14, 14), {"pool_size": 2, "strides": 2}),
    "a last window that is not whole": (
        "nn.max_pool2d", (1, 2, 10, 37), {"pool_size": 3, "strides": 2, "ceil_mode": True},
    ),
    "gaps": ("nn.max_pool2d", (1, 2, 15, 17), {"pool_size": 3, "dilation": (2, 3)}),
    "large windows": ("nn.max_pool2d", (1, 2, 13, 13), {"pool_size": 9, "padding": 4}),
    "one row": ("nn.max_pool2d", (1, 3, 2, 40), {"pool_size": 2, "strides": 2}),
    "channels last": ("nn.avg_pool2d", (1, 9, 7, 20), {"pool_size": 3, "strides": 2, "padding": 1, "layout": "NHWC"}),
    "odd channels last": ("nn.max_pool2d", (1, 6, 5, 19), {"pool_size": 2, "padding": 1, "layout": "NHWC"}),
    "three channels last": ("nn.max_pool2d", (1, 6, 5, 3), {"pool_size": 2, "layout": "NHWC"}),
    "blocks of channels": (
        "nn.max_pool2d", (1, 2, 9, 7, 16), {"pool_size": 3, "strides": 2, "padding": 1, "layout": "NCHW16c"},
    ),
    "one axis": ("nn.avg_pool1d", (2, 3, 33), {"pool_size": 4, "strides": 3, "padding": (1, 2)}),
    "three axes": ("nn.max_pool3d", (1, 2, 5, 6, 9), {"pool_size": (2, 3, 2), "strides": 2, "padding": 1}),
}  # fmt: skip
"""By what is particular: an operator, the shape of its data, its attributes."""


def data(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    made = np.random.default_rng(sum(shape)).integers(-100, 100, shape).astype(dtype)
    return made if dtype.startswith("int") else made / made.dtype.type(7)


MOST = 2
"""Configs of a way that are tried, from all of them."""
OF_OTHERS = {"float64": ("padding", "channels last"), "int8": ("padding", "one row", "odd channels last")}


EVERY = [*((one, "float32") for one in CASES), *((one, kind) for kind, ones in OF_OTHERS.items() for one in ones)]
OF_THE_DAY = [
    ("padding", "float32"), ("a last window that is not whole", "float32"), ("channels last", "float32"),
    ("blocks of channels", "float32"), ("one axis", "float32"), ("three axes", "float32"),
    ("odd channels last", "int8"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "dtype"), daily(EVERY, *OF_THE_DAY))
def test_every_way_gives_what_numpy_does(case: str, dtype: str) -> None:
    name, shape, attributes = CASES[case]
    op: Any = OPERATORS[name](**attributes)
    values, zero = data(shape, dtype), np.zeros((), dtype)
    x = relay.var("x", shape=shape, dtype=dtype)
    session = wb.open(relay.Function([x], relay.maximum(relay.Call(op, [x]), relay.const(zero))), target="llvm")
    (kernel,) = session.kernels
    workload = Workload(op, (TensorType(shape, dtype),), session.target)
    ways = [one.implementation for one in candidates(workload) if one.refusal is None]
    for way in ways:
        configs = [config for config, _ in way.costs(workload)]
        for config in configs[:: max(1, len(configs) // MOST)]:
            found = session.choose(kernel, way.name, **config).run({"x": values})["output_0"]
            wanted = np.maximum(op.reference(values), zero)
            np.testing.assert_allclose(found, wanted, rtol=3e-6, atol=1e-6, err_msg=f"{way.name} {config}")


def test_windows_of_two_axes_are_computed_in_three_ways() -> None:
    op: Any = OPERATORS["nn.max_pool2d"](pool_size=3)
    workload = Workload(op, (TensorType((1, 4, 20, 20), "float32"),), Target("llvm"))
    assert {one.implementation.name for one in candidates(workload) if one.refusal is None} == {
        "pool.windows", "pool.apart", "pool.plain",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "shape", "attributes", "word"),
    [
        ("nn.max_pool2d", ("n", 4, 20, 20), {"pool_size": 3}, "shapes are known"),
        ("nn.max_pool2d", (1, 6, 6, 3), {"pool_size": 3, "layout": "NHWC"}, "3 channels"),
        ("nn.max_pool1d", (1, 6, 36), {"pool_size": 3}, "one axis"),
    ],
)
def test_why_not(name: str, shape: tuple[Any, ...], attributes: dict[str, Any], word: str) -> None:
    extents = tuple(Var(extent, "int64") if isinstance(extent, str) else extent for extent in shape)
    workload = Workload(OPERATORS[name](**attributes), (TensorType(extents, "float32"),), Target("llvm"))
    refused = {one.implementation.name: str(one.refusal) for one in candidates(workload) if one.refusal is not None}
    assert word in refused["pool.apart"]
    assert chosen(workload) is not None, "there is always the operator's own expression"


def test_the_greatest_of_a_window_stays_in_a_register() -> None:
    """No sum is written to memory and read again between the taps of a window."""
    x = relay.var("x", shape=(1, 64, 112, 112), dtype="float32")
    program = relay.Function([x], relay.nn.max_pool2d(x, pool_size=3, strides=2, padding=1))
    session = wb.open(program, target="llvm -mcpu=znver5")
    (kernel,) = session.kernels
    loops = session.schedule(kernel).code()
    assert "compute_at" in loops and "vectorize" in loops and "local" in loops
    assert "* pool.apart " in str(session.candidates(kernel))


@pytest.mark.parametrize("size", [13, 16, 27, 55, 112])
def test_nan_is_the_greatest_wherever_it_stands(size: int) -> None:
    values = data((1, 2, size, size), "float32")
    values[0, 1, size // 2, size // 2] = values[0, 0, 0, 0] = np.nan
    op: Any = OPERATORS["nn.max_pool2d"](pool_size=3, strides=2, padding=1)
    x = relay.var("x", shape=values.shape, dtype="float32")
    found = wb.open(relay.Function([x], relay.Call(op, [x])), target="llvm").run({"x": values})["output_0"]
    np.testing.assert_array_equal(found, op.reference(values))
    assert np.isnan(found).sum() >= 2
