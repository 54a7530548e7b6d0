"""Floats become the nearest value of an integer dtype, natively and in the reference, up to the ends of 64 bits."""

from __future__ import annotations

import math

import numpy as np
import pytest

import workbench as wb
from workbench import relay
from workbench.core.dtype import DataType
from workbench.core.module import IRModule
from workbench.relay.interpret import interpret
from workbench.relay.ir import expr as e

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
SOME = (0.5, -0.5, -1.5, 127.9, 128.0, 255.5, 300.0, 3e4, 7e4, 3e9, -3e9, 2.0**63, 1e19, 1.8e19, 2.0**64, -1e19,
        math.nan, math.inf, -math.inf, -0.0)  # fmt: skip


def nearest(value: float, dtype: str) -> int:
    low, high = DataType(dtype).limits()
    if math.isnan(value):
        return 0
    return int(min(max(value, low), high)) if math.isinf(value) else min(max(math.trunc(value), low), high)


@pytest.mark.parametrize("start", ["float16", "bfloat16", "float32", "float64"])
def test_a_float_becomes_the_nearest_integer(start: str) -> None:
    with np.errstate(all="ignore"):
        given = np.array(SOME).astype(DataType(start).to_numpy())
    x = relay.var("x", shape=given.shape, dtype=start)
    mod = IRModule({"main": relay.Function([x], e.Tuple(tuple(relay.cast(x, dtype=end) for end in INTEGERS)))})
    native, reference = wb.open(mod).run({"x": given}), interpret(mod, given)
    for end, found, said in zip(INTEGERS, native.values(), reference, strict=True):
        expected = [nearest(float(value), end) for value in given]
        assert np.asarray(found).tolist() == expected, f"native code, {end}"
        assert np.asarray(said).tolist() == expected, f"the reference, {end}"
