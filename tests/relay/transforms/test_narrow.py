"""Products of bytes that are widened first: which read the bytes themselves, which do not, and that every bit stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench import relay
from workbench.core.module import IRModule
from workbench.core.transform import PASSES
from workbench.relay.interpret import interpret
from workbench.relay.ir import expr as e
from workbench.relay.ir.plan import expressions


def numbers(shape: tuple[int, ...], low: int = -128, high: int = 127) -> np.ndarray:
    made = np.random.default_rng(sum(shape)).integers(low, high, shape, endpoint=True)
    made.flat[0] = low
    made.flat[-1] = high
    return made


def convolution(
    zero: Any = 5, weight: np.ndarray | None = None, dtype: str = "uint8", wide: str = "int32", **attributes: Any
) -> Any:
    x = relay.var("x", shape=(1, 4, 6, 5), dtype=dtype)
    data = relay.cast(x, wide)
    if zero is not None:
        data = relay.subtract(data, relay.const(np.asarray(zero, wide)))
    taps = numbers((6, 4 // attributes.get("groups", 1), 3, 3)) if weight is None else weight
    return relay.Function([x], relay.nn.conv2d(data, relay.const(taps.astype(wide)), **attributes))


def simplified(function: Any) -> IRModule:
    return PASSES["SimplifyExpr"](IRModule.from_expr(function))


def reads_bytes(module: IRModule) -> bool:
    """Whether the convolution or product has bytes for operands."""
    calls = [one for one in expressions(module["main"]) if isinstance(one, e.Call)]
    heavy = [one for one in calls if getattr(one.op, "multiplies_and_adds", False)]
    return all(str(part.checked_type.dtype) in ("int8", "uint8") for call in heavy for part in call.args)


def assert_same(function: Any) -> None:
    given_data = []
    for kind in (parameter.type_annotation for parameter in function.params):
        ends = np.iinfo(str(kind.dtype))
        given_data.append(numbers(kind.concrete_shape, ends.min, ends.max).astype(str(kind.dtype)))
    module = IRModule.from_expr(function)
    np.testing.assert_array_equal(
        np.asarray(interpret(simplified(function), *given_data)), np.asarray(interpret(module, *given_data))
    )


def along(operator: Any, shape: tuple[int, ...], weight: tuple[int, ...], **attributes: Any) -> Any:
    """Another convolution or product, of data less a zero point."""
    x = relay.var("x", shape=shape, dtype="uint8")
    data = relay.subtract(relay.cast(x, "int32"), relay.const(np.int32(9)))
    return relay.Function([x], operator(data, relay.const(numbers(weight).astype("int32")), **attributes))


def reshaped(zero_of_a_run: bool = False) -> Any:
    """A product over rows that were put together; the zero point a constant, or brought by each run."""
    x, z = relay.var("x", shape=(2, 3, 8), dtype="uint8"), relay.var("z", shape=(1,), dtype="uint8")
    zero = relay.cast(z, "int32") if zero_of_a_run else relay.const(np.int32(9))
    data = relay.reshape(relay.subtract(relay.cast(x, "int32"), zero), (6, 8))
    made = relay.nn.dense(data, relay.const(numbers((5, 8)).astype("int32")))
    return relay.Function([x, z] if zero_of_a_run else [x], made)


NARROWED = {
    "a product": along(relay.nn.dense, (3, 8), (5, 8)),
    "a product by columns": along(relay.nn.matmul, (3, 8), (8, 5)),
    "pictures of one row": along(relay.nn.conv1d, (1, 3, 7), (4, 3, 3), padding=(1, 2)),
    "volumes": along(relay.nn.conv3d, (1, 2, 4, 3, 5), (3, 2, 2, 3, 2), padding=(1, 0, 2, 0, 1, 1)),
    "rows put together": reshaped(),
    "a zero point of each run": reshaped(zero_of_a_run=True),
    "without a zero point": convolution(None, padding=1),
    "a zero point and padding": convolution(5, padding=(1, 0, 2, 1), strides=(2, 1)),
    "a zero point of int8": convolution(-128, dtype="int8", padding=1),
    "a zero point with an axis": convolution([7], padding=1),
    "groups and dilation": convolution(3, groups=2, dilation=2, padding=2),
    "another result": convolution(3, padding=1, out_layout="NHWC"),
}


@pytest.mark.parametrize("name", NARROWED)
def test_bytes_are_read_as_they_are(name: str) -> None:
    assert reads_bytes(simplified(NARROWED[name]))
    assert_same(NARROWED[name])


def raised() -> relay.Function:
    """A picture of three axes, which a zero point of four makes one of four."""
    x = relay.var("x", shape=(4, 8, 8), dtype="uint8")
    data = relay.subtract(relay.cast(x, "int32"), relay.const(np.full((1, 1, 1, 1), 3, "int32")))
    return relay.Function([x], relay.nn.conv2d(data, relay.const(numbers((6, 4, 3, 3)).astype("int32"))))


KEPT = {
    "a product of many matrices": along(relay.nn.batch_matmul, (2, 3, 8), (2, 5, 8)),
    "a transposed convolution": along(relay.nn.conv2d_transpose, (1, 2, 3, 3), (2, 4, 2, 2), padding=(1, 1)),
    "a weight of more than a byte": convolution(weight=numbers((6, 4, 3, 3), -128, 128)),
    "a zero point that is no byte": convolution(256),
    "a zero point below the bytes of the data": convolution(-1),
    "a zero point for each channel": convolution(np.arange(4).reshape(1, 4, 1, 1)),
    "a zero point of more axes than the data": raised(),
    "sums in int64": convolution(wide="int64"),
    "int16 widened": convolution(dtype="int16"),
}


@pytest.mark.parametrize("name", KEPT)
def test_other_products_stay(name: str) -> None:
    assert not reads_bytes(simplified(KEPT[name]))
    assert_same(KEPT[name])


def test_sums_beyond_int32_wrap_around_as_before() -> None:
    x = relay.var("x", shape=(1, 70000), dtype="uint8")
    data = relay.subtract(relay.cast(x, "int32"), relay.const(np.int32(255)))
    function = relay.Function([x], relay.nn.dense(data, relay.const(np.full((2, 70000), 127, "int32"))))
    assert reads_bytes(simplified(function))
    full = np.full((1, 70000), 255, "uint8")
    for given_data in (full, full * 0, full - 1):
        wanted = np.asarray(interpret(IRModule.from_expr(function), given_data))
        np.testing.assert_array_equal(np.asarray(interpret(simplified(function), given_data)), wanted)


@settings(deadline=None)
@given(
    zero=st.integers(-130, 260), dtype=st.sampled_from(["uint8", "int8"]), layout=st.sampled_from(["NCHW", "NHWC"]),
    padding=st.tuples(*[st.integers(0, 2)] * 4), strides=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    channels=st.integers(1, 5), outputs=st.integers(1, 3), kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
)  # fmt: skip
def test_any_convolution_keeps_every_bit(
    zero: int, dtype: str, layout: str, padding: Any, strides: Any, channels: int, outputs: int, kernel: Any
) -> None:
    last = layout == "NHWC"
    x = relay.var("x", shape=(1, 5, 4, channels) if last else (1, channels, 5, 4), dtype=dtype)
    data = relay.subtract(relay.cast(x, "int32"), relay.const(np.int32(zero)))
    taps = numbers((*kernel, channels, outputs) if last else (outputs, channels, *kernel)).astype("int32")
    made = relay.nn.conv2d(
        data, relay.const(taps), padding=padding, strides=strides, data_layout=layout,
        kernel_layout="HWIO" if last else "OIHW",
    )  # fmt: skip
    function = relay.Function([x], made)
    limits = np.iinfo(dtype)
    assert reads_bytes(simplified(function)) == (limits.min <= zero <= limits.max)
    assert_same(function)
