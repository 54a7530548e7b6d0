"""Statements built step by step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb
from workbench import te, tir
from workbench.core.errors import WorkbenchError
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.ir_builder import IRBuilder


def test_loops_conditions_and_buffers_of_one_s_own():
    n = te.var("n")
    a = te.placeholder((n, 4), name="A")

    def body(ins: list[t.Buffer], outs: list[t.Buffer]) -> t.Stmt:
        ib = tir.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, n * 4, name="flat") as flat:
            half = ib.allocate("float32", (1,), name="half", scope="local")
            half[0] = source[flat] * 0.5
            rest = ib.let("rest", te.floormod(flat, 2))
            with ib.if_scope(rest.equal(0)):
                target[flat] = half[0]
            with ib.else_scope():
                target[flat] = half[0] + 100.0
        with ib.for_range(1, 3, kind="unroll") as i:
            target[i, 0] = -1
        return ib.get()

    func = te.create_prim_func([a, te.extern((n, 4), [a], body, name="C")])
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    wanted = data / 2 + np.array([0, 100, 0, 100], np.float32)
    wanted[1:3, 0] = -1
    for run in (lambda *given: interpret(func, *given, check_regions=True), wb.build(func)["main"]):
        found = np.zeros((3, 4), np.float32)
        run(data, found)
        np.testing.assert_array_equal(found, wanted)


def test_a_while_loop():
    count = tir.decl_buffer((1,), "int32", "count")
    ib = IRBuilder()
    held = ib.buffer_ptr(count)
    held[0] = 0
    with ib.while_loop(held[0] < 5):
        held[0] = held[0] + 2
    found = np.zeros(1, np.int32)
    interpret(t.PrimFunc((count,), ib.get()), found)
    assert found[0] == 6


def open_scope() -> None:
    ib = IRBuilder()
    with ib.for_range(0, 4):
        ib.get()


REFUSALS: dict[str, Callable[[], object]] = {
    "E-TIR-BUILDER emitted": lambda: IRBuilder().emit(3),
    "E-TIR-BUILDER open": open_scope,
    "E-TIR-BUILDER kind": lambda: IRBuilder().for_range(0, 4, kind="sideways").__enter__(),
    "E-TIR-BUILDER follows": lambda: IRBuilder().else_scope().__enter__(),
    "E-TIR-BUILDER region": lambda: IRBuilder().scope_attr(None, "thread_extent", 4),
    "E-TIR-BUILDER shape": lambda: IRBuilder().buffer_ptr(tir.decl_buffer((4,)), shape=(2, 2)),
    "E-TIR-RANK indices": lambda: IRBuilder().buffer_ptr(tir.decl_buffer((4, 4, 4)))[1, 2],
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str):
    code, word = name.split()
    with pytest.raises(WorkbenchError) as caught:
        REFUSALS[name]()
    assert caught.value.code == code and word in str(caught.value)
