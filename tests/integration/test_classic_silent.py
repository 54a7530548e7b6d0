"""What once gave a wrong result without a word where the classic API gave the right one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as tvm
from workbench import relay, tir
from workbench.contrib import graph_executor
from workbench.core.dtype import DataType
from workbench.core.errors import WorkbenchError
from workbench.relay.interpret import interpret
from workbench.script import tir as T

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


def test_a_value_is_not_returned_as_a_status() -> None:
    @T.prim_func
    def add(u: T.int32, v: T.int32):  # type: ignore[no-untyped-def]
        T.evaluate(T.ret(u + v))

    with pytest.raises(WorkbenchError) as caught:
        tvm.build(add)
    assert caught.value.code == "E-CODEGEN-RETURN" and "buffer" in caught.value.fix


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
