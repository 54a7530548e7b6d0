"""Programs of readers who did not know the code: values lost where loops and conditions may not run, data taken for
indices, and sizes of int32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.transform import PASSES
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse
from workbench.tir.transforms.lower_blocks import lower_blocks

Step = Callable[[Schedule], object]
HEAD = "@T.prim_func\ndef main"


def parsed(text: str) -> t.PrimFunc:
    func = parse(HEAD + text)
    assert isinstance(func, t.PrimFunc)
    return func


def results(func: t.PrimFunc, arrays: tuple[np.ndarray, ...]) -> list[list[Any]]:
    """What the last array holds: by the blocks, by the loops they are lowered to, by the machine."""
    lowered = PASSES["CompactBuffers"]()(IRModule({"main": lower_blocks(func)}))["main"]
    found: list[list[Any]] = []
    for run in (lambda *a: interpret(func, *a), lambda *a: interpret(lowered, *a), wb.build(func)["main"]):
        copies = [array.copy() for array in arrays]
        run(*copies)
        found.append(copies[-1].tolist())
    return found


A4 = np.arange(1, 5, dtype="float32")
LOST: dict[str, tuple[str, tuple[np.ndarray, ...]]] = {
    "plain loops have the function's buffers": ('''(A: T.Buffer((5,), "int64"), C: T.Buffer((5,), "int64")):
    S = T.alloc_buffer((1,), "int64")
    for i in T.unroll(5):
        if i == 0:
            S[0] = 0
        S[0] = S[0] + A[i]
        C[i] = S[0]
''', (np.arange(1, 6), np.zeros(5, "int64"))),
    "a condition in a block": ('''(A: T.Buffer((3, 2), "int64"), C: T.Buffer((3, 2), "int64")):
    B = T.alloc_buffer((2,), "int64")
    for i in T.unroll(3):
        for j in range(2):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                if vi == 0:
                    B[vj] = A[vi, vj]
        for j in range(2):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj]
''', (np.arange(1, 7).reshape(3, 2), np.zeros((3, 2), "int64"))),
    "narrow data in conditions": ('''(
    A: T.Buffer((4,), "int8"), X: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")
):
    B = T.alloc_buffer((1,), "float32")
    for i in T.serial(4):
        with T.block("w"):
            vi = T.axis.spatial(4, i)
            T.where(A[i] < T.int8(0))
            B[0] = X[vi]
        with T.block("r"):
            vi = T.axis.spatial(4, i)
            T.where(A[i] + T.int8(1) <= T.int8(0))
            C[vi] = B[0]
''', (np.array([-1, 127, -5, 127], "int8"), A4, np.zeros(4, "float32"))),
    "narrow data in an index": ('''(A: T.Buffer((4,), "uint8"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((512,), "float32")
    for i in T.serial(4):
        with T.block("w"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi])
            T.writes(B[0:512])
            B[T.Cast("int64", A[vi] + T.uint8(100))] = T.float32(7)
    for i in T.serial(4):
        with T.block("r"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[44]
''', (np.array([1, 100, 200, 255], "uint8"), np.zeros(4, "float32"))),
}  # fmt: skip


@pytest.mark.parametrize("name", LOST)
def test_values_are_kept(name: str) -> None:
    text, arrays = LOST[name]
    blocks, lowered, native = results(parsed(text), arrays)
    assert blocks == lowered == native


EMPTY = '''({head}X: T.Buffer((5,), "int64"), A: T.Buffer((5, 8), "int64"), C: T.Buffer((5,), "int64")):
    {size}
    B = T.alloc_buffer((1,), "int64")
    for q in range(1):
        with T.block("dummy"):
            vq = T.axis.spatial(1, q)
            C[vq] = 0
    for i in T.unroll(5):
        if i == 0:
            B[0] = 7
        for j in range({extent}):
            B[0] = A[i, j]
        C[i] = B[0]
'''


@pytest.mark.parametrize(("extent", "size"), [("4 - i", None), ("X[i]", None), ("n", 0), ("n", 2), ("n // 4", 3)])
def test_loops_may_have_no_iterations(extent: str, size: int | None) -> None:
    head, line = ("", "T.evaluate(0)") if size is None else ("N: T.Buffer((n,), 'int64'), ", "n = T.int64()")
    text = EMPTY.format(head="" if size is None else "nn: T.handle, ", size=line, extent=extent)
    if size is not None:
        text = text.replace(line, f'{line}\n    N = T.match_buffer(nn, (n,), "int64")')
    arrays = (np.array([1, 0, 2, 0, 0]), np.arange(40).reshape(5, 8) + 100, np.zeros(5, "int64"))
    given = () if size is None else (np.zeros(size, "int64"),)
    blocks, lowered, native = results(parsed(text), (*given, *arrays))
    assert blocks == lowered == native, head


PARTIAL = '''({head}A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    {size}
    for i in T.serial(4):
        for j in T.serial({extent}):
            with T.block("w"):
                vi = T.axis.spatial(4, i)
                C[vi] = A[vi]
'''


@pytest.mark.parametrize(("extent", "size"), [("3 - i", None), ("n", 0), ("n", 3)])
def test_a_copy_holds_what_a_loop_without_iterations_leaves(extent: str, size: int | None) -> None:
    text = PARTIAL.format(head="" if size is None else "nn: T.handle, ", size="T.evaluate(0)", extent=extent)
    if size is not None:
        text = text.replace("T.evaluate(0)", 'n = T.int64()\n    N = T.match_buffer(nn, (n,), "float32")')
    text = text.replace("    T.evaluate(0)\n", "")
    given = () if size is None else (np.zeros(size, "float32"),)
    arrays = (*given, A4, np.full(4, 9, "float32"))
    func = parsed(text)
    sch = Schedule(func)
    sch.cache_write("w", 0, "local")
    (expected, *_), several = results(func, arrays), results(sch.func, arrays)
    assert several == [expected] * 3


BESIDE = '''(A: T.Buffer((4,), "float32"), N: T.Buffer((4,), "int32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((1,), "float32")
    for i in T.serial(4):
        {head}
            with T.block("w"):
                vi = T.axis.spatial(4, i)
                B[0] = A[vi]
        with T.block("r"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[0]
'''


@pytest.mark.parametrize(("head", "code"), [("if i < 2:", "DEPENDENCE"), ("if N[i] > 0:", "UNPROVEN"),
                                            ("for j in T.serial(3 - i):", "DEPENDENCE")])  # fmt: skip
@pytest.mark.parametrize("do", ["parallel", "vectorize"])
def test_iterations_that_read_what_may_not_have_been_written(head: str, code: str, do: str) -> None:
    sch = Schedule(parsed(BESIDE.format(head=head)))
    with pytest.raises(WorkbenchError, match=f"E-SCHEDULE-{code}"):
        getattr(sch, do)(sch.get_loops("r")[0])


def test_a_condition_rules_a_dependence_out() -> None:
    sch = Schedule(parsed('''(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        if i < 1:
            with T.block("w"):
                vi = T.axis.spatial(4, i)
                C[0] = A[vi]
'''))  # fmt: skip
    sch.parallel(sch.get_loops("w")[0])


def test_a_load_of_what_the_loop_changes_tells_nothing_apart() -> None:
    """Each iteration had an element of its own, as far as ``K[0] + i`` says: K[0] was taken to stand still."""
    sch = Schedule(parsed('''(N: T.Buffer((4,), "int64"), C: T.Buffer((8,), "float32")):
    K = T.alloc_buffer((1,), "int64")
    for i in T.serial(4):
        with T.block("k"):
            vi = T.axis.spatial(4, i)
            K[0] = N[vi]
        with T.block("w"):
            vi = T.axis.spatial(8, K[0] + i)
            C[vi] = C[vi] + T.float32(1)
'''))  # fmt: skip
    with pytest.raises(WorkbenchError, match="E-SCHEDULE-UNPROVEN"):
        sch.parallel(sch.get_loops("w")[0])


@pytest.mark.parametrize("where", ["True", "y == 0 or o == 2"])
def test_threads_have_buffers_of_their_own_under_any_condition(where: str) -> None:
    func = parsed(f'''(A: T.Buffer((12,), "float32"), C: T.Buffer((3, 12), "float32")):
    B = T.alloc_buffer((12,), "float32")
    for o in T.parallel(3):
        for y in T.serial(3):
            with T.block("b1"):
                v1 = T.axis.spatial(12, y)
                B[v1] = A[v1] + T.float32(1)
            for j in T.serial(3):
                with T.block("b4"):
                    v4 = T.axis.spatial(12, j + 2)
                    T.where({where})
                    B[v4] = A[v4] + T.float32(4)
            with T.block("b5"):
                vo, v5 = T.axis.remap("SS", [o, y])
                C[vo, v5] = B[v5]
''')
    interpret(lower_blocks(func), np.arange(12, dtype="float32"), np.zeros((3, 12), "float32"), check_races=True)


def test_layouts_of_what_data_index() -> None:
    """``Cast(A[i] + uint8(100)) % 5`` became ``A[i] % 5``, as if it could not overflow."""
    func = parsed('''(A: T.Buffer((4,), "uint8"), D: T.Buffer((515,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((515,), "float32")
    for j in T.serial(515):
        with T.block("p"):
            vj = T.axis.spatial(515, j)
            B[vj] = D[vj]
    for i in T.serial(4):
        with T.block("w"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi], B[0:515])
            T.writes(C[vi])
            C[vi] = B[T.Cast("int64", A[vi] + T.uint8(100))]
''')
    sch = Schedule(func)
    sch.transform_layout("p", ("write", 0), lambda x: (x // 5, x % 5))
    arrays = np.array([1, 100, 200, 255], "uint8"), np.arange(515, dtype="float32"), np.zeros(4, "float32")
    assert results(func, arrays) == results(sch.func, arrays) == [[101.0, 200.0, 44.0, 99.0]] * 3


def test_cache_inplace_heeds_statements_outside_of_blocks() -> None:
    sch = Schedule(parsed('''(A: T.Buffer((4,), "int64"), C: T.Buffer((4,), "int64")):
    for i in range(4):
        C[i] = A[i]
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            C[vi] = C[vi] + 1
'''))  # fmt: skip
    with pytest.raises(WorkbenchError, match="E-SCHEDULE-CACHE-SHARED"):
        sch.cache_inplace("b", 0, "global")


# --- sizes of int32 -----------------------------------------------------------------------------------------------


def test_a_buffer_of_an_int32_size() -> None:
    func = parsed('''(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n + 2,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    B = T.alloc_buffer((n,), "float32")
    for i in range(n):
        with T.block("B"):
            v = T.axis.spatial(n, i)
            B[v] = A[v] + A[v + 2]
    for i in range(n):
        with T.block("C"):
            v = T.axis.spatial(n, i)
            C[v] = B[v] * T.float32(2)
''')
    data = np.arange(12, dtype="float32")
    assert results(func, (data, np.zeros(10, "float32"))) == [((data[:-2] + data[2:]) * 2).tolist()] * 3


ROWS = '''(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (3, n), "int32")
    C = T.match_buffer(c, (3, n), "int32")
    B = T.alloc_buffer((3, n), "int32")
    for i, k in T.grid(3, n):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk] * 2
    for i, k in T.grid(3, n):
        with T.block("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = B[vi, vk] + A[vi, vk]
'''
INTO_ROWS: dict[str, Step] = {
    "compute_at": lambda s: s.compute_at("B", s.get_loops("C")[0]),
    "a copy": lambda s: s.compute_at(s.cache_read("C", 0, "local"), s.get_loops("C")[0]),
    "reverse_compute_at": lambda s: s.reverse_compute_at("C", s.get_loops("B")[0]),
    "read_at": lambda s: s.read_at(s.get_loops("C")[0], "C", 0, "global"),
}


@pytest.mark.parametrize("name", INTO_ROWS)
def test_rows_of_an_int32_size_are_no_longer_than_that(name: str) -> None:
    """They had 2147483647 iterations, all but n of which a condition kept out."""
    sch = Schedule(parsed(ROWS))
    INTO_ROWS[name](sch)
    assert "2147483647" not in sch.script()
    data = np.arange(24, dtype="int32").reshape(3, 8)
    assert results(sch.func, (data, np.zeros_like(data))) == [(data * 3).tolist()] * 3


def test_loops_of_two_dtypes_are_fused() -> None:
    sch = Schedule(parsed('''(a: T.handle, c: T.handle):
    n = T.int32()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "int32")
    C = T.match_buffer(c, (n, m), "int32")
    for i in range(n):
        for j in range(m):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                vj = T.axis.spatial(m, j)
                C[vi, vj] = A[vi, vj] + 1
'''))  # fmt: skip
    sch.fuse(*sch.get_loops("B"))
    data = np.arange(15, dtype="int32").reshape(3, 5)
    assert results(sch.func, (data, np.zeros_like(data))) == [(data + 1).tolist()] * 3


def test_lanes_that_are_off_store_nothing() -> None:
    """LLVM makes a masked store of one narrow lane, cut from a wider one, a store of the wider one (seed 76624)."""
    func = parsed('''(X: T.Buffer((3,), "int64"), H: T.Buffer((3,), "int32")):
    for i in T.vectorized(2):
        with T.block("half"):
            v = T.axis.spatial(1, i)
            T.where(i < 1)
            H[v] = T.Cast("int32", X[1 - v]) + T.Cast("int32", v)
''')
    assert results(func, (np.array([5, 7, 9]), np.full(3, -1, "int32"))) == [[7, -1, -1]] * 3
