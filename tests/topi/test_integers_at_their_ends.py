"""Integers at the ends of their dtype, natively: divided by constants, compared with differences, the least of them."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.relay.ir import expr as e
from workbench.topi import shapes

SIGNED = ("int8", "int16", "int32", "int64")


def run(result: e.Expr, *params: e.Var, **inputs: np.ndarray) -> list[np.ndarray]:
    return list(wb.open(IRModule({"main": relay.Function(list(params), result)})).run(inputs).values())


def ends(dtype: str) -> np.ndarray:
    limits = np.iinfo(dtype)
    return np.array([limits.min, limits.min + 1, -7, -1, 0, 1, 6, limits.max - 1, limits.max], dtype)


@pytest.mark.parametrize("dtype", SIGNED)
def test_quotients_and_remainders_by_constants(dtype: str) -> None:
    given = ends(dtype)
    divisors = [-3, -2, 2, 3, 7, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
    x = relay.var("x", shape=given.shape, dtype=dtype)
    results: list[e.Expr] = []
    expected: list[np.ndarray] = []
    for divisor in divisors:
        constant = np.array(divisor, dtype)
        results += [relay.floor_divide(x, e.const(constant)), relay.floor_mod(x, e.const(constant))]
        expected += [given // constant, given % constant]
    found = run(e.Tuple(tuple(results)), x, x=given)
    for place, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert one.tolist() == other.tolist(), f"{'//%'[place % 2 * 2:][:2]} {divisors[place // 2]}"


@pytest.mark.parametrize("dtype", SIGNED)
def test_a_quotient_of_a_quotient(dtype: str) -> None:
    """(x // 2 + 1) // 2 is (x + 2) // 4 only where x + 2 does not overflow."""
    given = ends(dtype)
    x = relay.var("x", shape=given.shape, dtype=dtype)
    two, one = (e.const(np.array(value, dtype)) for value in (2, 1))
    found = run(relay.floor_divide(relay.add(relay.floor_divide(x, two), one), two), x, x=given)[0]
    assert found.tolist() == ((given // 2 + 1) // 2).tolist()


@pytest.mark.parametrize("dtype", SIGNED)
@pytest.mark.parametrize("name", ["argmin", "argmax", "min", "max"])
def test_the_least_of_differences(dtype: str, name: str) -> None:
    """The least so far begins as the greatest number there is: comparing it with a - b must not add b to it."""
    a = np.array([[0, 0, 0, 0], [3, 1, 2, 1], [-5, 7, -5, 7]], dtype)
    b = np.array([[1, 0, 0, 1], [0, 1, 1, 1], [2, -3, 2, -3]], dtype)
    given = {"a": a, "b": b}
    x, y = (relay.var(key, shape=a.shape, dtype=dtype) for key in given)
    found = run(relay.op.call(name, relay.subtract(x, y), axis=(1,)), x, y, **given)[0]
    assert found.tolist() == getattr(a - b, name)(axis=1).tolist()


@pytest.mark.parametrize("dtype", SIGNED)
def test_a_comparison_with_what_a_condition_counts(dtype: str) -> None:
    given = ends(dtype)
    flags = np.arange(given.size) % 2 == 0
    x, flag = relay.var("x", shape=given.shape, dtype=dtype), relay.var("flag", shape=flags.shape, dtype="bool")
    counted = relay.subtract(e.const(np.array(0, dtype)), relay.cast(flag, dtype=dtype))
    kinds = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
    found = run(e.Tuple(tuple(relay.op.call(kind, x, counted) for kind in kinds)), x, flag, x=given, flag=flags)
    for kind, one in zip(kinds, found, strict=True):
        assert one.tolist() == getattr(np, kind)(given, -flags.astype(dtype)).tolist(), kind


def test_dimensions_are_added_and_divided_as_index_expressions_are() -> None:
    assert shapes.add(2**63 - 1, 1) == -(2**63) and shapes.subtract(-(2**63), 1) == 2**63 - 1
    assert shapes.floor_divide(-7, 2) == -4 and shapes.multiply(3, 0) == 0
    with pytest.raises(WorkbenchError, match="division by the constant zero"):
        shapes.floor_divide(7, 0)
    with pytest.raises(WorkbenchError, match="does not fit int64"):
        shapes.add(2**63, 1)
