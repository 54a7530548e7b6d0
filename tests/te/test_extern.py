"""te.extern: packed functions, C functions and statements of one's own, on interpreter and compiler; refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.conftest import Golden
from workbench import te, tir
from workbench.core.errors import WorkbenchError
from workbench.runtime.module import load_module
from workbench.te.prim_func import lowered
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse, script
from workbench.tir.verify import verify


@pytest.fixture(autouse=True, scope="module")
def functions() -> None:
    def add_one(source: Any, target: Any) -> None:
        np.from_dlpack(target)[...] = np.from_dlpack(source) + 1

    def describe(text: str, number: int, real: float, flag: bool, target: Any) -> None:
        np.from_dlpack(target)[...] = len(text) + number + real + flag

    def fail(source: Any, target: Any) -> None:
        raise ValueError("no good today")

    def fail_well(source: Any, target: Any) -> None:
        raise WorkbenchError("E-MINE", "a message of its own", fix="do it right")

    for function in (add_one, describe, fail, fail_well):
        wb.register_func(f"tests.extern.{function.__name__}", function, override=True)


def called(name: str, shape: Any = (4, 3)) -> t.PrimFunc:
    a = te.placeholder(shape, name="A")
    c = te.extern(shape, [a], lambda ins, outs: tir.call_packed(name, ins[0], outs[0]), name="C")
    d = te.compute(shape, lambda *i: c(*i) * 2.0, name="D")
    return te.create_prim_func([a, d])


def runs(func: t.PrimFunc) -> list[Callable[..., Any]]:
    return [lambda *given: interpret(func, *given, check_regions=True), lambda *given: wb.build(func)["main"](*given)]


def test_a_packed_function(golden: Golden):
    func = called("tests.extern.add_one", (te.var("n"), 3))
    verify(func)
    assert script(parse(script(func))) == script(func)
    golden(script(func) + "\n")
    data = np.arange(12, dtype=np.float32).reshape(4, 3)
    data.flags.writeable = False  # an input is only read
    for run in runs(func):
        out = np.zeros((4, 3), np.float32)
        run(data, out)
        np.testing.assert_array_equal(out, (data + 1) * 2)


def test_texts_and_numbers_go_along():
    a = te.placeholder((2,), name="A")
    c = te.extern(
        (2,), [a], lambda ins, outs: tir.call_packed("tests.extern.describe", "four", 3, 0.5, te.const(True), outs[0])
    )
    for run in runs(te.create_prim_func([a, c])):
        out = np.zeros(2, np.float32)
        run(np.zeros(2, np.float32), out)
        np.testing.assert_array_equal(out, [8.5, 8.5])


def test_the_callee_s_error_comes_back():
    for run in runs(called("tests.extern.fail")):
        with pytest.raises(WorkbenchError, match="no good today") as caught:
            run(np.zeros((4, 3), np.float32), np.zeros((4, 3), np.float32))
        assert caught.value.code == "E-CALL-FAILED" and "ValueError" in caught.value.found
        assert isinstance(caught.value.__cause__, ValueError)
    for run in runs(called("tests.extern.fail_well")):
        with pytest.raises(WorkbenchError, match="a message of its own") as caught:
            run(np.zeros((4, 3), np.float32), np.zeros((4, 3), np.float32))
        assert caught.value.code == "E-MINE" and caught.value.fix == "do it right"


def test_a_function_that_is_not_there():
    for run in runs(called("tests.extern.nowhere")):
        with pytest.raises(WorkbenchError) as caught:
            run(np.zeros((4, 3), np.float32), np.zeros((4, 3), np.float32))
        assert caught.value.code == "E-FUNC-UNKNOWN" and "tests.extern.nowhere" in caught.value.message


def test_an_exported_library_calls_back_and_says_what_is_missing(tmp_path: Any):
    data, out = np.ones((4, 3), np.float32), np.zeros((4, 3), np.float32)
    wb.build(called("tests.extern.add_one")).export_library(tmp_path / "one.so")
    load_module(tmp_path / "one.so")["main"](data, out)
    np.testing.assert_array_equal(out, np.full((4, 3), 4))
    wb.build(called("tests.extern.nowhere")).export_library(tmp_path / "two.so")
    with pytest.raises(WorkbenchError, match="nowhere"):
        load_module(tmp_path / "two.so")["main"](data, out)


def test_several_outputs_of_several_dtypes():
    a = te.placeholder((3,), name="A")

    def body(ins: list[t.Buffer], outs: list[t.Buffer]) -> t.Stmt:
        i = tir.Var("i")
        stores = tir.SeqStmt(
            (
                tir.BufferStore(outs[0], tir.BufferLoad(ins[0], (i,)) + 1.0, (i,)),
                tir.BufferStore(outs[1], te.cast("int32", tir.BufferLoad(ins[0], (i,))), (i,)),
            )
        )
        return tir.For(i, te.const(0), te.const(3), tir.ForKind.SERIAL, stores)

    one, two = te.extern([(3,), (3,)], [a], body, dtype=["float32", "int32"], name="pair")
    assert one.dtype == "float32" and two.dtype == "int32"
    info = lowered([a, one, two])
    assert info.blocks[id(one.op)] == "pair"
    data = np.array([1.5, 2.5, -3.5], np.float32)
    for run in runs(info.func):
        first, second = np.zeros(3, np.float32), np.zeros(3, np.int32)
        run(data, first, second)
        np.testing.assert_array_equal(first, data + 1)
        np.testing.assert_array_equal(second, [1, 2, -3])


def test_buffers_of_one_s_own_with_strides():
    n = te.var("n")
    a = te.placeholder((n, 3), name="A")
    row = te.var("row")
    own = tir.decl_buffer((n, 3), "float32", "own", strides=(row, 1))
    target = tir.decl_buffer((n,), "float32", "target")
    i = tir.Var("i")
    c = te.extern(
        [(n,)],
        [a],
        lambda ins, outs: tir.For(
            i, te.const(0), n, tir.ForKind.SERIAL, tir.BufferStore(outs[0], te.cast("float32", row), (i,))
        ),
        in_buffers=[own],
        out_buffers=[target],
    )
    for run in runs(te.create_prim_func([a, c])):
        out = np.zeros(2, np.float32)
        run(np.zeros((2, 3), np.float32), out)
        np.testing.assert_array_equal(out, [3, 3])


def test_a_loop_function_as_a_stage():
    square = parse(
        "@T.prim_func\n"
        'def square(x: T.Buffer((n,), "float32"), y: T.Buffer((n,), "float32")):\n'
        "    n = T.int64()\n"
        "    for i in T.serial(n):\n"
        '        with T.block("y"):\n'
        "            vi = T.axis.spatial(n, i)\n"
        "            T.reads(x[vi])\n"
        "            T.writes(y[vi])\n"
        "            y[vi] = x[vi] * x[vi]\n"
    )
    assert isinstance(square, t.PrimFunc)
    a = te.placeholder((5,), name="A")
    b = te.extern_primfunc([a], square)
    c = te.compute((5,), lambda i: b[i] + 1.0, name="C")
    data = np.arange(5, dtype=np.float32)
    for run in runs(te.create_prim_func([a, c])):
        out = np.zeros(5, np.float32)
        run(data, out)
        np.testing.assert_array_equal(out, data * data + 1)


def test_functions_of_the_c_library():
    a = te.placeholder((4,), name="A")
    c = te.compute((4,), lambda i: tir.call_pure_extern("float32", "expf", a[i]), name="C")
    data = np.arange(4, dtype=np.float32)
    for run in runs(te.create_prim_func([a, c])):
        out = np.zeros(4, np.float32)
        run(data, out)
        np.testing.assert_allclose(out, np.exp(data), rtol=1e-6)


def test_an_unknown_c_function_is_named():
    a = te.placeholder((4,), name="A")
    c = te.compute((4,), lambda i: tir.call_extern("float32", "no_such_function", a[i]), name="C")
    for run in runs(te.create_prim_func([a, c])):
        with pytest.raises(WorkbenchError, match="no_such_function") as caught:
            run(np.zeros(4, np.float32), np.zeros(4, np.float32))
        assert caught.value.code in ("E-EXTERN-MISSING", "E-TIR-INTERPRET") and caught.value.fix


def test_packed_functions_are_not_called_from_threads_of_the_pool():
    source = script(called("tests.extern.add_one")).replace(
        'with T.block("C"):', 'for p in T.parallel(2):\n        with T.block("C"):'
    )
    lines = source.split("\n")
    start = next(number for number, line in enumerate(lines) if "T.parallel" in line) + 2
    for number in range(start, start + 3):
        lines[number] = "    " + lines[number]
    with pytest.raises(WorkbenchError, match="parallel") as caught:
        wb.build(parse("\n".join(lines)))
    assert caught.value.code == "E-CODEGEN-PACKED"


# --- refusals -----------------------------------------------------------------------------------------------------

A = te.placeholder((4,), name="A")
REFUSALS: dict[str, Callable[[], Any]] = {
    "no_statement": lambda: te.extern((4,), [A], lambda ins, outs: 3),
    "no_tensor": lambda: te.extern((4,), [3], lambda ins, outs: te.const(0)),  # type: ignore[list-item]
    "no_dtype": lambda: te.extern((4,), [], lambda ins, outs: te.const(0)),
    "many_dtypes": lambda: te.extern([(4,), (4,)], [A], lambda ins, outs: te.const(0), dtype=["int8"] * 3),
    "foreign_buffer": lambda: te.extern(
        (4,), [A], lambda ins, outs: tir.call_packed("f", tir.decl_buffer((4,), name="other"))
    ),
    "unfit_buffer": lambda: te.extern(
        (4,), [A], lambda ins, outs: te.const(0), in_buffers=[tir.decl_buffer((4, 4), name="own")]
    ),
    "few_buffers": lambda: te.extern((4,), [A], lambda ins, outs: te.const(0), in_buffers=[]),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(golden: Golden, name: str):
    with pytest.raises(WorkbenchError) as caught:
        REFUSALS[name]()
    assert caught.value.code == "E-TE-EXTERN"
    golden(f"{caught.value}\n")


def test_calls_begin_with_a_name():
    with pytest.raises(WorkbenchError) as caught:
        tir.call_packed(3)
    assert caught.value.code == "E-TIR-CALL"


def test_pointers_say_what_they_are_for():
    buffer = tir.decl_buffer((4, 5), name="B")
    assert tir.address_of(buffer).op == "address_of"  # type: ignore[attr-defined]
    with pytest.raises(WorkbenchError) as caught:
        tir.address_of(3)
    assert caught.value.code == "E-TIR-ADDRESS"
