"""What the entry says of its parameters: only outputs are written, so one array may be given for two inputs."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.driver.build import build_model


def model():
    x, y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))
    return build_model(relay.Function([x, y], relay.add(x, y)))


def test_one_array_for_two_inputs() -> None:
    data = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(model().run({"x": data, "y": data})["output_0"], data + data)


def test_an_output_needs_memory_of_its_own() -> None:
    data = np.arange(4, dtype=np.float32)
    with pytest.raises(WorkbenchError, match="E-CALL-OVERLAP"):
        model().module["main"](data, np.ones(4, np.float32), data)


def test_unknown_extents_are_refused_by_name() -> None:
    from workbench import tir

    assert tir.Any is relay.Any and type(relay.Any()).__name__ == "Any"
    x = relay.var("x", shape=(relay.Any(), 3))
    module = wb.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))
    for build in (lambda: relay.build(module, "llvm"), lambda: wb.open(module).build()):
        with pytest.raises(wb.WorkbenchError, match="known extents") as caught:
            build()
        assert caught.value.code == "E-TYPE-DYNAMIC" and "x" in caught.value.where and caught.value.fix


def test_classic_reductions_of_tir() -> None:
    from workbench import te, tir

    a = te.placeholder((3, 4), name="A")
    k = te.reduce_axis((0, 4), name="k")
    for reduction, wanted in ((tir.max, np.max), (tir.min, np.min), (tir.sum, np.sum)):
        made = te.compute((3,), lambda i, reduce=reduction: reduce(a[i, k], axis=k), name="B")
        values, found = np.linspace(-1, 1, 12, dtype="f").reshape(3, 4), np.zeros(3, "f")
        wb.build(te.create_prim_func([a, made]), target="llvm")["main"](values, found)
        assert np.allclose(found, wanted(values, 1))
