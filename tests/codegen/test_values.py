"""What compiled code computes, against float64 NumPy and exact integer arithmetic."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from tests.codegen.support import build, call, function

SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754944e-38, 3.4028235e38, -3.4028235e38, 0.5],
    "float32",
)


def unary(op: str, dtype: str = "float32", kind: str = "serial", count: int = 64, lanes: int = 16) -> str:
    outer = count // lanes
    return f"""
    def f(A: T.Buffer(({count},), "{dtype}"), B: T.Buffer(({count},), "{dtype}")):
        for i in T.serial({outer}):
            for j in T.{kind}({lanes}):
                B[i * {lanes} + j] = {op}
    """


def padded(values: np.ndarray, count: int) -> np.ndarray:
    return np.resize(values, count).astype(values.dtype)


def ulps(found: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Distance in units in the last place of the float32 nearest to the exact value."""
    with np.errstate(over="ignore"):
        near = exact.astype("float32")
    unit = np.spacing(np.maximum(np.abs(near), np.float32(1.1754944e-38))).astype("float64")
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(near), np.abs(found.astype("float64") - exact) / unit, 0)


EXACT = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": lambda x: np.where(
        x < 0, np.exp(np.minimum(x, 0)) / (1 + np.exp(np.minimum(x, 0))), 1 / (1 + np.exp(-x))
    ),
    "erf": np.vectorize(math.erf, otypes=["float64"]),
    "sqrt": np.sqrt,
    "log": np.log,
    "sin": np.sin,
    "atan": np.arctan,
    "log1p": np.log1p,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
RANGES = {
    "exp": [(-104, 90), (-1, 1)],
    "tanh": [(-1, 1), (-12, 12), (-1e-3, 1e-3)],
    "sigmoid": [(-110, 110), (-4, 4)],
    "erf": [(-1, 1), (-5, 5), (-1e-3, 1e-3)],
    "sqrt": [(0, 1e6)],
    "log": [(1e-30, 1e30)],
    "sin": [(-10, 10)],
    "atan": [(-10, 10)],
    "log1p": [(-0.9, 10)],
    "rsqrt": [(1e-6, 1e6)],
}


@pytest.mark.parametrize("name", EXACT)
def test_float_functions_stay_within_four_ulps(name: str) -> None:
    count = 1 << 14
    compiled = build(unary(f"T.{name}(A[i * 16 + j])", kind="vectorized", count=count))
    random = np.random.default_rng(1)
    for low, high in RANGES[name]:
        values = random.uniform(low, high, count).astype("float32")
        found = np.zeros_like(values)
        compiled(values, found)
        worst = ulps(found, EXACT[name](values.astype("float64"))).max()
        assert worst <= 4, f"{name} on [{low}, {high}]: {worst} ulp"


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "erf", "sqrt", "log"])
def test_special_values_have_the_class_of_the_reference(name: str) -> None:
    values = padded(SPECIAL, 64)
    found = np.zeros_like(values)
    call(unary(f"T.{name}(A[i * 16 + j])", kind="vectorized"), values, found)
    with np.errstate(all="ignore"):
        exact = EXACT[name](values.astype("float64")).astype("float32")
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(exact))
    np.testing.assert_array_equal(np.signbit(found[exact == 0]), np.signbit(exact[exact == 0]))
    np.testing.assert_array_equal(found[np.isinf(exact)], exact[np.isinf(exact)])


@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("kind", ["serial", "vectorized"])
def test_minimum_and_maximum_keep_nan(op: str, kind: str) -> None:
    left, right = (grid.ravel() for grid in np.meshgrid(SPECIAL, SPECIAL))
    count = 176
    a, b = padded(left, count), padded(right, count)
    c = np.zeros_like(a)
    text = f"""
    def f(A: T.Buffer((176,), "float32"), B: T.Buffer((176,), "float32"), C: T.Buffer((176,), "float32")):
        for i in T.serial(11):
            for j in T.{kind}(16):
                C[i * 16 + j] = T.{op}(A[i * 16 + j], B[i * 16 + j])
    """
    call(text, a, b, c)
    np.testing.assert_array_equal(c, (np.minimum if op == "min" else np.maximum)(a, b))


def test_maximum_with_a_constant_keeps_nan() -> None:
    values = padded(SPECIAL, 64)
    found = np.zeros_like(values)
    call(unary("T.max(A[i * 16 + j], T.float32(0.0))", kind="vectorized"), values, found)
    np.testing.assert_array_equal(found, np.maximum(values, 0))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32"])
@pytest.mark.parametrize("kind", ["serial", "vectorized"])
def test_integer_division_is_exact_and_never_traps(dtype: str, kind: str) -> None:
    limits = np.iinfo(dtype)
    edge = np.array([limits.min, limits.max, 0, 1, 2, 7, limits.max - 1], dtype)
    if limits.min < 0:
        edge = np.concatenate([edge, np.array([-1, -2, -7], dtype)])
    a, b = (padded(grid.ravel(), 112) for grid in np.meshgrid(edge, edge))
    results = [np.zeros_like(a) for _ in range(4)]
    text = f"""
    def f(A: T.Buffer((112,), "{dtype}"), B: T.Buffer((112,), "{dtype}"), C: T.Buffer((112,), "{dtype}"),
          D: T.Buffer((112,), "{dtype}"), E: T.Buffer((112,), "{dtype}"), F: T.Buffer((112,), "{dtype}")):
        for i in T.serial(7):
            for j in T.{kind}(16):
                C[i * 16 + j] = A[i * 16 + j] // B[i * 16 + j]
                D[i * 16 + j] = A[i * 16 + j] % B[i * 16 + j]
                E[i * 16 + j] = T.truncdiv(A[i * 16 + j], B[i * 16 + j])
                F[i * 16 + j] = T.truncmod(A[i * 16 + j], B[i * 16 + j])
    """
    call(text, a, b, *results)
    wide_a, wide_b = a.astype(object), b.astype(object)
    for found, exact in zip(results, [floor_div, floor_mod, trunc_div, trunc_mod], strict=True):
        expected = np.array([exact(x, y) for x, y in zip(wide_a, wide_b, strict=True)], dtype=object)
        wrapped = np.array(
            [(int(v) - limits.min) % (limits.max - limits.min + 1) + limits.min for v in expected], dtype
        )
        np.testing.assert_array_equal(found, wrapped)


def floor_div(x: int, y: int) -> int:
    return x // y if y else 0


def floor_mod(x: int, y: int) -> int:
    return x % y if y else 0


def trunc_div(x: int, y: int) -> int:
    return int(math.copysign(1, x) * math.copysign(1, y)) * (abs(x) // abs(y)) if y else 0


def trunc_mod(x: int, y: int) -> int:
    return x - trunc_div(x, y) * y if y else 0


@pytest.mark.parametrize("divisor", [1, 2, 3, 8, 10])
def test_division_by_constants(divisor: int) -> None:
    a = np.arange(-32, 32, dtype="int64")
    c, d = np.zeros_like(a), np.zeros_like(a)
    text = f"""
    def f(A: T.Buffer((64,), "int64"), C: T.Buffer((64,), "int64"), D: T.Buffer((64,), "int64")):
        for i in T.serial(64):
            C[i] = A[i] // T.int64({divisor})
            D[i] = A[i] % T.int64({divisor})
    """
    call(text, a, c, d)
    np.testing.assert_array_equal(c, a // divisor)
    np.testing.assert_array_equal(d, a % divisor)


@pytest.mark.parametrize("loops", ["for i in T.serial(64)", "for i in T.vectorized(64)"])
@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("target", ["int8", "int32", "int64", "uint8", "uint64"])
def test_float_to_integer_saturates(target: str, source: str, loops: str) -> None:
    limits = np.iinfo(target)
    edges = np.array([1e10, -1e10, 1e20, 2.9, -2.9, 255.5, 2**31, -(2**31), 2**63, -(2**63), 2**31 - 128], "float32")
    near = np.nextafter(edges.astype(source), 0)
    values = padded(np.concatenate([SPECIAL.astype(source), edges.astype(source), near]), 64)
    found = np.zeros(64, target)
    text = f"""
    def f(A: T.Buffer((64,), "{source}"), B: T.Buffer((64,), "{target}")):
        {loops}:
            B[i] = T.Cast("{target}", A[i])
    """
    call(text, values, found)
    expected = [0 if math.isnan(v) else max(limits.min, min(limits.max, math.trunc(v) if math.isfinite(v) else
                (limits.max if v > 0 else limits.min))) for v in values.tolist()]  # fmt: skip
    np.testing.assert_array_equal(found, np.array(expected, target))


@pytest.mark.parametrize("small", ["float16", "bfloat16"])
def test_sixteen_bit_floats_compute_and_convert(small: str) -> None:
    dtype = np.dtype(small) if small == "float16" else np.dtype(ml_dtypes.bfloat16)
    values = np.linspace(-3, 3, 64).astype(dtype)
    found = np.zeros(64, dtype)
    call(unary("T.exp(A[i * 16 + j])", small, "vectorized"), values, found)
    exact = np.exp(values.astype("float64"))
    tolerance = 2 ** -(10 if small == "float16" else 7)
    assert np.all(np.abs(found.astype("float64") - exact) <= tolerance * exact)


def test_bools_are_bytes_in_memory() -> None:
    a = np.arange(64) % 3 == 0
    b = np.zeros(64, bool)
    text = """
    def f(A: T.Buffer((64,), "bool"), B: T.Buffer((64,), "bool")):
        for i in T.serial(4):
            for j in T.vectorized(16):
                B[i * 16 + j] = not A[i * 16 + j]
    """
    call(text, a, b)
    np.testing.assert_array_equal(b, ~a)


def test_integers_wrap() -> None:
    a = np.array([2**31 - 1, -(2**31), 5], "int32")
    b = np.zeros(3, "int32")
    text = """
    def f(A: T.Buffer((3,), "int32"), B: T.Buffer((3,), "int32")):
        for i in T.serial(3):
            B[i] = A[i] * 3 + A[i]
    """
    call(text, a, b)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(b, a * np.int32(4))


def test_long_chains_compile() -> None:
    from workbench.arith.nodes import Var
    from workbench.tir import build as make
    from workbench.tir.nodes import PrimFunc

    a, b = make.decl_buffer((4,), name="A"), make.decl_buffer((4,), name="B")
    i = Var("i")
    value = make.load(a, i)
    for _ in range(20_000):
        value = value + 1.0
    func = PrimFunc((a, b), make.loop(i, 4, make.store(b, value, i)))
    x, y = np.zeros(4, "float32"), np.zeros(4, "float32")
    from workbench.codegen.llvm.backend import backend
    from workbench.core.module import IRModule

    backend.compile_module(IRModule({"f": func}), "llvm -opt-level=0", debug=False).module()(x, y)
    np.testing.assert_array_equal(y, np.full(4, 20_000, "float32"))


def test_function_helper_reads_texts() -> None:
    assert function(unary("A[i * 16 + j]")).params[0].name == "A"
