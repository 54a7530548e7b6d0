"""The fast variants of exp, tanh and erf as native code: within the bounds that they state, on all of their range."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.codegen.support import build
from tests.codegen.test_values import unary
from workbench.arith.intrinsics import ERROR_BOUND

EXACT = {"fast_exp": np.exp, "fast_tanh": np.tanh, "fast_erf": np.vectorize(math.erf, otypes=["float64"])}
RANGES = {
    "fast_exp": [(-87.3, 88.0), (-1, 1), (-1e-3, 1e-3)],
    "fast_tanh": [(-1e-3, 1e-3), (-1, 1), (-8, 8), (-100, 100)],
    "fast_erf": [(-1e-3, 1e-3), (-1, 1), (-4, 4), (-50, 50)],
}
COUNT = 1 << 14


def run(name: str, values: np.ndarray, dtype: str = "float32") -> np.ndarray:
    found = np.zeros(COUNT, dtype)
    padded = np.zeros(COUNT, dtype)
    padded[: len(values)] = values
    build(unary(f"T.{name}(A[i * 16 + j])", kind="vectorized", count=COUNT, dtype=dtype))(padded, found)
    return found[: len(values)]


@pytest.mark.parametrize("name", EXACT)
def test_error_is_within_the_bound(name: str) -> None:
    random = np.random.default_rng(1)
    for low, high in RANGES[name]:
        values = random.uniform(low, high, COUNT).astype("float32")
        exact = EXACT[name](values.astype("float64"))
        worst = np.abs(run(name, values) / exact - 1).max()
        assert worst <= ERROR_BOUND[name], f"{name} on [{low}, {high}]: {worst:.2e}"


@pytest.mark.parametrize("name", EXACT)
def test_ends_of_the_range(name: str) -> None:
    values = np.array([-np.inf, -1e30, 0.0, 1e30, np.inf, np.nan], "float32")
    found = run(name, values)
    assert np.isnan(found[-1]) and np.isfinite(found[:-1]).all()
    wanted = {"fast_exp": [2.0**-126] * 2 + [1.0] + [2.0**127] * 2}.get(name, [-1, -1, 0, 1, 1])
    np.testing.assert_allclose(found[:-1], wanted, rtol=1e-5)


@pytest.mark.parametrize("name", EXACT)
def test_float64_is_exact(name: str) -> None:
    values = np.random.default_rng(2).uniform(-4, 4, COUNT)
    np.testing.assert_allclose(run(name, values, "float64"), EXACT[name](values), rtol=1e-13)
