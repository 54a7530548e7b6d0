"""NaN is the greatest in any float dtype, natively and in the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import relay
from workbench.core.dtype import DataType
from workbench.core.module import IRModule
from workbench.relay.interpret import interpret


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_nan_is_ordered_as_the_greatest(dtype: str, ascending: bool) -> None:
    data = np.array([np.nan, 2.0, -np.inf, np.nan, np.inf, -1.0, 0.0]).astype(DataType(dtype).to_numpy())
    expected = [2, 5, 6, 1, 4, 0, 3] if ascending else [0, 3, 4, 1, 6, 5, 2]
    x = relay.var("x", shape=data.shape, dtype=dtype)
    mod = IRModule({"main": relay.Function([x], relay.argsort(x, is_ascend=ascending, dtype="int64"))})
    (native,) = wb.open(mod).run({"x": data}).values()
    assert np.asarray(native).tolist() == expected, "native code"
    assert np.asarray(interpret(mod, data)).tolist() == expected, "the interpreter"
