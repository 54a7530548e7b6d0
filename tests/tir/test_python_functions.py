"""Functions under ``@T.prim_func`` in a Python file are the same as those of their text."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.core.equal import structural_equal
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.script import from_source
from workbench.script import ir as I
from workbench.script import tir as T
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse, script
from workbench.tir.verify import verify

M, K, KIND = 4, 6, "float32"


@T.prim_func
def product(A: T.Buffer((M, K), KIND), B: T.Buffer((K, M), KIND), C: T.Buffer((M, M), KIND)):
    T.func_attr({"noalias": True})
    for i, j, k in T.grid(M, M, K):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


TEXT = """
@T.prim_func
def product(A: T.Buffer((4, 6), "float32"), B: T.Buffer((6, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    T.func_attr({"noalias": True})
    for i, j, k in T.grid(4, 4, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def test_a_python_function_is_its_text():
    assert isinstance(product, t.PrimFunc)
    assert script(product) == script(parse(TEXT)) and structural_equal(product, parse(TEXT))
    verify(product)
    a, b, c = (np.random.default_rng(0).random(shape, np.float32) for shape in ((4, 6), (6, 4), (4, 4)))
    interpret(product, a, b, c, check_regions=True)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    assert wb.tir.Schedule(product).get_block("C") is not None


def test_constants_come_from_the_function_around():
    def made(size: int) -> t.PrimFunc:
        scale = -0.5

        @T.prim_func
        def scaled(A: T.Buffer((size,), "float32"), B: T.Buffer((size,), "float32")):
            for i in range(size):
                B[i] = A[i] * T.float32(scale)

        return scaled

    func = made(5)
    data, out = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    interpret(func, data, out)
    np.testing.assert_array_equal(out, data * -0.5)
    assert made(7).params[0].shape[0].value == 7


def test_handles_are_matched():
    @T.prim_func
    def double(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in T.serial(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + A[vi]

    data, out = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    interpret(double, data, out, check_regions=True)
    np.testing.assert_array_equal(out, data * 2)


def test_a_class_is_a_module():
    @I.ir_module
    class Two:
        @T.prim_func
        def one(A: T.Buffer((2,), "float32")):
            A[0] = T.float32(1)

        @T.prim_func
        def two(A: T.Buffer((2,), "float32")):
            A[1] = T.float32(2)

    assert isinstance(Two, IRModule) and list(Two) == ["one", "two"]
    with pytest.raises(WorkbenchError) as caught:
        I.ir_module(int)
    assert caught.value.code == "E-TIR-SOURCE"


def test_regions_left_out_are_those_of_the_body():
    func = parse(
        "@T.prim_func\n"
        'def rows(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32"), P: T.Buffer((4,), "int64")):\n'
        "    for i in T.serial(4):\n"
        '        with T.block("B"):\n'
        "            vi = T.axis.spatial(4, i)\n"
        "            for k in T.serial(8):\n"
        "                B[vi] = B[vi] + A[P[vi], k]\n"
    )
    assert isinstance(func, t.PrimFunc)
    text = script(func)
    assert "T.reads(B[vi], A[0:4, 0:8], P[vi])" in text and "T.writes(B[vi])" in text
    verify(func)


def test_what_is_not_a_constant_is_not_taken():
    unknown = object()

    def attempt() -> None:
        @T.prim_func
        def bad(A: T.Buffer((4,), "float32")):
            A[unknown] = T.float32(1)

    with pytest.raises(WorkbenchError, match="unknown is not defined") as caught:
        attempt()
    assert caught.value.code == "E-TIR-PARSE"


def test_the_text_alone_reads_the_same():
    assert script(from_source(TEXT)) == script(product)
