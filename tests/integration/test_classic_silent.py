"""What once gave a wrong result without a word where the classic API gave the right one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as tvm
from workbench import relay, tir
from workbench.contrib import graph_executor
from workbench.core.dtype import DataType
from workbench.core.equal import same
from workbench.core.errors import WorkbenchError
from workbench.relay.interpret import interpret
from workbench.script import tir as T
from workbench.tir.interpret import interpret as interpret_loops
from workbench.tir.script import parse as tir_parse
from workbench.tir.script import script

A, B = np.array([5, 6], np.float32), np.array([1, 2], np.float32)


def difference() -> Any:
    first, second = relay.var("x", shape=(2,)), relay.var("x", shape=(2,))
    return relay.Function([first, second], first - second)


@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
def test_two_parameters_of_one_name(kind: str) -> None:
    run = relay.create_executor(kind, tvm.IRModule.from_expr(difference())).evaluate()
    np.testing.assert_array_equal(run(A, B).numpy(), A - B)


def test_two_parameters_of_one_name_by_name() -> None:
    """A built model numbers the later ones; where a name stays ambiguous, it is refused."""
    module = tvm.IRModule.from_expr(difference())
    executor = graph_executor.GraphModule(relay.build(module, "llvm")["default"](tvm.cpu(0)))
    executor.set_input("x", A)
    executor.set_input("x_1", B)
    executor.run()
    np.testing.assert_array_equal(executor.get_output(0).numpy(), A - B)
    found = tvm.open(module).run({"x": A, "x_1": B})
    np.testing.assert_array_equal(next(iter(found.values())), A - B)
    for ambiguous in (
        lambda: relay.create_executor("graph", module).evaluate()(x=A),
        lambda: interpret(difference(), {"x": A}),
        lambda: relay.build(module, "llvm", params={"x": A}),
    ):
        with pytest.raises(WorkbenchError, match="2 parameters named 'x'"):
            ambiguous()


def test_names_that_a_number_would_take_keep_their_owner() -> None:
    x, y, z = relay.var("x", shape=(2,)), relay.var("x", shape=(2,)), relay.var("x_1", shape=(2,))
    module = tvm.IRModule.from_expr(relay.Function([x, y, z], x - y * z))
    found = tvm.open(module).run({"x": A, "x_2": B, "x_1": A})
    np.testing.assert_array_equal(next(iter(found.values())), A - B * A)


RETURNED = [
    ("int32", (3, -4), -1), ("int8", (100, 27), 127), ("bool", (True, False), True), ("int64", (2**40, 1), 2**40 + 1),
    ("uint32", (2**31, 1), 2**31 + 1), ("float32", (0.5, 0.25), 0.75), ("float64", (0.1, 0.2), 0.1 + 0.2),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "given", "wanted"), RETURNED)
def test_a_function_returns_a_value(dtype: str, given: tuple[Any, Any], wanted: Any) -> None:
    text = f"""
@T.prim_func
def add(u: T.{dtype}, v: T.{dtype}):
    if v == u:
        T.evaluate(T.ret(u))
    T.evaluate(T.ret({"u or v" if dtype == "bool" else "u + v"}))
"""
    function = tir_parse(text)
    assert same(tir_parse(script(function)), function)
    run = tvm.build(function)["add"]
    for arguments, answer in ((given, wanted), ((given[0], given[0]), given[0])):
        found = run(*arguments)
        assert found == answer and type(found) is type(answer), (dtype, arguments, found)
        assert interpret_loops(function, *arguments) == answer
    assert tvm.open(function).run({"u": given[0], "v": given[1]})["return"] == wanted


def test_a_value_is_returned_from_within_a_loop_that_took_memory() -> None:
    @T.prim_func
    def first_above(A: T.Buffer((64,), "float32"), least: T.float32):  # type: ignore[no-untyped-def]
        twice = T.alloc_buffer((64,), "float32")
        for i in T.serial(64):
            with T.block("double"):
                vi = T.axis.spatial(64, i)
                twice[vi] = A[vi] * T.float32(2)
        for i in T.serial(64):
            with T.block("find"):
                vi = T.axis.spatial(64, i)
                if twice[vi] > least:
                    T.evaluate(T.ret(vi))
        T.evaluate(T.ret(T.int32(-1)))

    run, given = tvm.build(first_above)["first_above"], np.arange(64, dtype=np.float32)
    for least in (0.0, 31.0, 125.0, 126.0):
        found = next((i for i in range(64) if 2 * given[i] > least), -1)
        assert run(given, least) == found == interpret_loops(first_above, given, least)


@pytest.mark.parametrize(
    ("body", "fix"),
    [
        ("for i in T.parallel(4):\n        T.evaluate(T.ret(v))", "serial"),
        ("T.evaluate(T.ret(T.Cast('uint64', v)))", "cast"),
        ("T.evaluate(T.ret(T.address_of(A[0])))", "buffer"),
    ],
)
def test_what_cannot_be_returned_is_refused(body: str, fix: str) -> None:
    function = tir_parse(f"@T.prim_func\ndef f(A: T.Buffer((4,), 'float32'), v: T.int32):\n    {body}\n")
    with pytest.raises(WorkbenchError) as caught:
        tvm.build(function)
    assert caught.value.code == "E-CODEGEN-RETURN" and fix in caught.value.fix


def test_a_function_that_returns_a_value_is_not_called_by_another() -> None:
    module = tvm.IRModule({
        "value": tir_parse("@T.prim_func\ndef value(v: T.int32):\n    T.evaluate(T.ret(v))\n"),
        "main": tir_parse("@T.prim_func\ndef main(v: T.int32):\n    T.evaluate(T.call_tir('value', v))\n"),
    })  # fmt: skip
    with pytest.raises(WorkbenchError, match="E-CODEGEN-RETURN"):
        tvm.build(module)
    with pytest.raises(WorkbenchError, match="returns a value"):
        interpret_loops(module["main"], 3, module=module)


def test_leaving_a_function_early() -> None:
    @T.prim_func
    def first(n: T.int32, result: T.Buffer((1,), "float32")):  # type: ignore[no-untyped-def]
        result[0] = T.float32(1.0)
        if n > 0:
            T.evaluate(T.ret(0))
        result[0] = T.float32(2.0)

    run, result = tvm.build(first)["first"], np.zeros(1, np.float32)
    for count, wanted in ((1, 1.0), (0, 2.0)):
        run(count, result)
        assert result[0] == wanted


def test_constants_in_the_classic_order() -> None:
    one, half = tir.IntImm("int32", 1), tir.FloatImm("float16", 0.5)
    assert (one.value, one.dtype, half.value, half.dtype) == (1, "int32", 0.5, "float16")
    assert tir.IntImm(1, DataType("int32")).value == 1
    assert all(type(item.dtype) is DataType for item in (one, half, tir.Var("x", "int32")))
    assert (tir.Var("x", "int32") + one).dtype == "int32"
    for wrong in (("int32", "1"), ("a", "b"), ("int32", 1.5)):
        with pytest.raises(WorkbenchError, match="E-EXPR-CONSTANT"):
            tir.IntImm(*wrong)


def test_bits_of_bfloat16() -> None:
    """NumPy has no bfloat16: uint16 holds the bits, when an array is filled and when an input is set."""
    bits = np.array([0x3F80, 0x4000, 0xC040], np.uint16)
    wanted = np.array([1, 2, -3], np.float32)
    array = tvm.nd.empty((3,), "bfloat16").copyfrom(bits)
    np.testing.assert_array_equal(array.numpy().astype(np.float32), wanted)
    array[:] = bits[::-1].copy()
    np.testing.assert_array_equal(array.numpy().astype(np.float32), wanted[::-1])
    np.testing.assert_array_equal(array.copyfrom([1.0, 2.0, 3.0]).numpy().astype(np.float32), [1, 2, 3])
    x = relay.var("x", shape=(3,), dtype="bfloat16")
    run = relay.create_executor("graph", tvm.IRModule.from_expr(relay.Function([x], x + x))).evaluate()
    np.testing.assert_array_equal(run(bits).numpy().astype(np.float32), 2 * wanted)
