"""Index expressions for many iterations at once are worth what `evaluate` says of each."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.arith import build, evaluate
from workbench.arith.nodes import Cast, Var
from workbench.core.dtype import DataType
from workbench.core.errors import WorkbenchError
from workbench.tir.array_values import values

GIVEN = (-70_000, -300, -129, -1, 0, 1, 127, 128, 255, 256, 32_768, 70_000)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "int64"])
def test_a_cast_keeps_the_last_bits(dtype: str) -> None:
    i = Var("i")
    expr = build.convert(Cast(DataType("int64"), Cast(DataType(dtype), i)) * 3 + 1)
    found = values(expr, {id(i): np.array(GIVEN)})
    assert found.tolist() == [evaluate.evaluate(expr, {i: value}) for value in GIVEN]


def test_a_comparison_counts_as_zero_or_one() -> None:
    i = Var("i")
    expr = build.convert(5 - Cast(DataType("int64"), i < 2))
    assert values(expr, {id(i): np.arange(4)}).tolist() == [4, 4, 5, 5]


def test_what_no_64_bits_hold_is_not_known() -> None:
    i = Var("i")
    with pytest.raises(WorkbenchError, match="E-ANALYSIS-DATA"):
        values(Cast(DataType("uint64"), i), {id(i): np.arange(-2, 2)})
