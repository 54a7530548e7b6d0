"""Reductions of several values at once, from tensor expressions to machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import te, tir
from workbench.tir.interpret import interpret
from workbench.tir.script import parse, script
from workbench.tir.verify import verify


def argmax() -> Any:
    def combine(x: Any, y: Any) -> Any:
        better = x[1] >= y[1]
        return te.select(better, x[0], y[0]), te.select(better, x[1], y[1])

    return te.comm_reducer(combine, lambda t0, t1: (te.const(-1, t0), te.min_value(t1)), name="argmax")


@pytest.mark.parametrize("rows", [5, None])
def test_argmax(rows: int | None):
    n = rows or te.var("n")
    index, value = te.placeholder((n, 7), "int32", name="index"), te.placeholder((n, 7), name="value")
    k = te.reduce_axis((0, 7), "k")
    best = argmax()
    where, most = te.compute((n,), lambda i: best((index[i, k], value[i, k]), axis=k), name="T")
    func = te.create_prim_func([index, value, where, most])
    verify(func)
    assert script(parse(script(func))) == script(func)
    numbers = np.random.default_rng(0).permutation(35).reshape(5, 7).astype(np.float32)
    places = np.broadcast_to(np.arange(7, dtype=np.int32), (5, 7)).copy()
    for run in (lambda *given: interpret(func, *given, check_regions=True), wb.build(func)["main"]):
        found, greatest = np.zeros(5, np.int32), np.zeros(5, np.float32)
        run(places, numbers, found, greatest)
        np.testing.assert_array_equal(found, numbers.argmax(axis=1))
        np.testing.assert_array_equal(greatest, numbers.max(axis=1))


def test_a_tuple_without_a_reduction():
    a = te.placeholder((4, 3), name="A")
    one, two = te.compute((4, 3), lambda i, j: (a[i, j] + 1.0, a[i, j] * 2.0), name="both")
    both = te.compute((4, 3), lambda i, j: one[i, j] - two[i, j], name="D")
    func = te.create_prim_func([a, both])
    data, found = np.random.default_rng(0).random((4, 3), np.float32), np.zeros((4, 3), np.float32)
    wb.build(func)["main"](data, found)
    np.testing.assert_allclose(found, 1 - data, rtol=1e-5, atol=1e-6)


def test_functions_by_their_classic_names():
    a = te.placeholder((6,), name="A")
    stages = {
        "div": (lambda x: te.div(te.cast("int32", x), 2), lambda x: np.trunc(x.astype(np.int32) / 2).astype(np.int32)),
        "arithmetic": (lambda x: te.subtract(te.multiply(te.add(x, 1.0), 2.0), x), lambda x: (x + 1) * 2 - x),
        "hypot": (lambda x: tir.hypot(x, te.const(4.0)), lambda x: np.hypot(x, 4)),
        "exp10": (lambda x: tir.exp10(x), lambda x: 10.0**x),
        "ceildiv": (
            lambda x: tir.ceildiv(te.cast("int32", te.abs(x)), 2),
            lambda x: -(-np.abs(x).astype(np.int32) // 2),
        ),
        "copysign": (lambda x: tir.copysign(te.const(3.0), x), lambda x: np.copysign(3, x)),
        "infinity": (lambda x: x - tir.infinity("float32"), lambda x: x - np.inf),
    }
    data = np.array([-5, -2, -1, 0.5, 3, 5], np.float32)
    for name, (stage, meaning) in stages.items():
        made = te.compute((6,), _indexed(stage, a), name=name)
        wanted = meaning(data)
        found = np.zeros(6, str(made.dtype))
        wb.build(te.create_prim_func([a, made]))["main"](data, found)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=name)


def _indexed(stage: Any, tensor: te.Tensor) -> Any:
    return lambda i: stage(tensor[i])
