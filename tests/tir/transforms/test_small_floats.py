"""float8, float4 and integers of 2 and 4 bits in native code, against ml_dtypes: every code, every kind of rounding."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from workbench import build, te
from workbench.arith import build as b
from workbench.runtime.model import as_argument
from workbench.tir.transforms.small_floats import FORMATS


def run(expression, *arrays: np.ndarray, dtype: str) -> np.ndarray:
    """`expression` of the elements, compiled."""
    given = [te.placeholder(array.shape, array.dtype.name, f"x{index}") for index, array in enumerate(arrays)]
    out = te.compute(arrays[0].shape, lambda i: expression(*(item(i) for item in given)), "out")
    result = np.zeros(arrays[0].shape, np.dtype(getattr(ml_dtypes, dtype, dtype)))
    build(te.create_prim_func([*given, out])).entry_func(*map(as_argument, [*arrays, result]))
    return result


def awkward(count: int = 20_000) -> np.ndarray:
    """Random bit patterns, small multiples of small powers of two (ties), and powers of two."""
    random = np.random.default_rng(0).integers(0, 2**32, count, dtype=np.uint64).astype(np.uint32).view(np.float32)
    with np.errstate(invalid="ignore"):
        return np.concatenate(
            [random, np.arange(-20, 20, 1 / 128), np.float32(2.0) ** np.arange(-30, 20, 0.0625), [np.inf, -np.inf]]
        ).astype(np.float32)


@pytest.mark.parametrize("dtype", FORMATS)
def test_encoding_rounds_as_ml_dtypes(dtype: str) -> None:
    data = awkward()
    expected = data.astype(getattr(ml_dtypes, dtype))
    found = run(lambda x: b.cast(dtype, x), data, dtype=dtype)
    np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("dtype", FORMATS)
def test_every_code_decodes_exactly(dtype: str) -> None:
    codes = np.arange(1 << (4 if dtype.startswith("float4") else 8), dtype=np.uint8).view(getattr(ml_dtypes, dtype))
    np.testing.assert_array_equal(run(lambda x: b.cast("float32", x), codes, dtype="float32"), codes.astype(np.float32))


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_arithmetic_goes_through_float32(dtype: str) -> None:
    random = np.random.default_rng(1)
    x, y = (random.uniform(-4, 4, 300).astype(getattr(ml_dtypes, dtype)) for _ in range(2))
    expected = (x.astype(np.float32) * y.astype(np.float32)).astype(x.dtype)
    np.testing.assert_array_equal(run(lambda x, y: x * y, x, y, dtype=dtype).view("u1"), expected.view("u1"))
    np.testing.assert_array_equal(run(lambda x, y: x < y, x, y, dtype="bool"), x.astype("f4") < y.astype("f4"))


@pytest.mark.parametrize("dtype", ["int2", "uint2", "int4", "uint4"])
def test_narrow_integers_are_kept_in_bytes(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype))
    codes = np.arange(1 << int(dtype[-1]), dtype=np.uint8).view(kind)
    np.testing.assert_array_equal(run(lambda x: b.cast("int32", x), codes, dtype="int32"), codes.astype(np.int32))
    wide = np.arange(-40, 40, dtype=np.int32)
    found = run(lambda x: b.cast(dtype, x), wide, dtype=dtype)
    np.testing.assert_array_equal(found.view(np.uint8), (wide & ((1 << int(dtype[-1])) - 1)).astype(np.uint8))


COMPARISONS = (
    ("less", lambda x, y: x < y), ("less_equal", lambda x, y: x <= y), ("greater", lambda x, y: x > y),
    ("greater_equal", lambda x, y: x >= y), ("equal", lambda x, y: x.equal(y)), ("not_equal", b.not_equal),
)  # fmt: skip


@pytest.mark.parametrize("result", ["uint16", "int8", "float16", "bfloat16"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(("name", "compare"), COMPARISONS, ids=lambda one: one if isinstance(one, str) else "")
def test_comparisons_counted_in_other_dtypes(name: str, compare, dtype: str, result: str) -> None:
    """LLVM ended the process over 16-bit masks of bfloat16 on processors with AVX-512 for float16."""
    kind, wanted = (np.dtype(getattr(ml_dtypes, one, one)) for one in (dtype, result))
    left = np.array([np.nan, np.inf, -0.0, 0.0, 1.5, -2.0, 1e-30, 3.0] * 2, np.float32).astype(kind)
    right = left[::-1].copy()
    found = run(lambda x, y: b.cast(result, compare(x, y)), left, right, dtype=result)
    expected = getattr(np, name)(left.astype(np.float32), right.astype(np.float32)).astype(wanted)
    assert found.astype(np.float32).tolist() == expected.astype(np.float32).tolist()


@pytest.mark.parametrize("name", ["isnan", "isinf"])
def test_what_is_not_a_number_counted_in_16_bits(name: str) -> None:
    data = np.array([np.nan, np.inf, -np.inf, 0.0, 1.5, -2.0, 1e-30, 3.0] * 2, np.float32).astype(ml_dtypes.bfloat16)
    found = run(lambda x: b.cast("uint16", b.call(name, x)), data, dtype="uint16")
    assert found.tolist() == getattr(np, name)(data.astype(np.float32)).astype(int).tolist()
