"""Functions made with ``unsafe=True`` run in a child: results come back, a crash is an error, time is taken there."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.schedule import programs as p
from tests.schedule.executing import inputs
from workbench.codegen.llvm.unsafe_calls import ContainedFunction
from workbench.core.errors import WorkbenchError
from workbench.runtime.packed import PackedFunc
from workbench.schedule import Schedule
from workbench.tir.interpret import interpret
from workbench.tir.script import parse


def crashing() -> Any:
    """Writes far beyond the ends of its argument."""
    return parse(
        "@T.prim_func\ndef main(A: T.Buffer((8,), 'float32')):\n    T.func_attr({'unsafe': 1})\n"
        "    for i in T.serial(0, 8):\n        A[i * 2000000000 - 3000000000] = T.float32(1)\n"
    )


def racing() -> Schedule:
    sch = Schedule(p.matmul(8, 8, 64))
    sch.parallel(sch.get_loops("C")[2], unsafe=True)
    return sch


def test_results_are_copied_back() -> None:
    func = p.skewed()
    sch = Schedule(func)
    i, j = sch.get_loops("wave")
    sch.vectorize(j)
    expected, found = inputs(func), inputs(func)
    interpret(func, *expected)
    assert sch.why_not("parallel", i) is not None
    legal = Schedule(func)
    legal.unroll(legal.get_loops("wave")[0])
    marked = legal.func.replace(attrs=legal.func.attrs.set("unsafe", 1))
    module = wb.build(marked)
    assert isinstance(module["main"], ContainedFunction)
    module(*found)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_race_runs_elsewhere() -> None:
    sch = racing()
    module = wb.build(sch)
    assert isinstance(module["main"], ContainedFunction)
    arrays = inputs(sch.func)
    module(*arrays)
    assert np.isfinite(arrays[-1]).all()


def test_a_legal_schedule_runs_here() -> None:
    sch = Schedule(p.matmul())
    sch.parallel(sch.get_loops("C")[0], unsafe=True)
    function = wb.build(sch)["main"]
    assert isinstance(function, PackedFunc) and not isinstance(function, ContainedFunction)


def test_a_crash_is_an_error_and_the_next_call_works() -> None:
    module, here = wb.build(crashing()), os.getpid()
    array = np.zeros(8, np.float32)
    for _ in range(2):
        with pytest.raises(WorkbenchError) as caught:
            module(array)
        assert caught.value.code == "E-UNSAFE-CRASHED" and caught.value.fix and caught.value.kept
    assert os.getpid() == here and not array.any()


def test_time_is_taken_in_the_child() -> None:
    sch = racing()
    module = wb.build(sch)
    result = module.time_evaluator("main", number=3, repeat=2)(*inputs(sch.func))
    assert len(result.results) == 2 and 0 < result.mean < 1


@pytest.mark.parametrize(
    ("change", "code"),
    (
        (lambda arrays: arrays[:-1], "E-CALL-COUNT"),
        (lambda arrays: [arrays[0].astype("float64"), *arrays[1:]], "E-CALL-SHAPE"),
        (lambda arrays: [arrays[0][:1], *arrays[1:]], "E-CALL-SHAPE"),
        (lambda arrays: ["text", *arrays[1:]], "E-CALL-DTYPE"),
    ),
)  # fmt: skip
def test_wrong_arguments_are_refused_here(change: Any, code: str) -> None:
    sch = racing()
    with pytest.raises(WorkbenchError) as caught:
        wb.build(sch)(*change(inputs(sch.func)))
    assert caught.value.code == code and caught.value.found
