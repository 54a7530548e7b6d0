"""Loops, conditions, memory, parallel regions, statuses: compiled and run."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from tests.codegen.support import artefact, build, call, function
from workbench.core.errors import WorkbenchError
from workbench.runtime import num_threads, set_num_threads

MATMUL = """
def f(A: T.Buffer((20, 24), "float32"), B: T.Buffer((24, 32), "float32"), C: T.Buffer((20, 32), "float32")):
    for i in T.parallel(20):
        for jo in T.serial(2):
            for k in T.serial(24):
                for j in T.vectorized(16):
                    with T.block("C"):
                        vi = T.axis.spatial(20, i)
                        vj = T.axis.spatial(32, jo * 16 + j)
                        vk = T.axis.reduce(24, k)
                        T.reads(A[vi, vk], B[vk, vj])
                        T.writes(C[vi, vj])
                        with T.init():
                            C[vi, vj] = T.float32(0.0)
                        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)


def test_matmul_in_blocks(random: np.random.Generator) -> None:
    a = random.integers(-4, 5, (20, 24)).astype("float32")
    b = random.integers(-4, 5, (24, 32)).astype("float32")
    c = np.full((20, 32), np.nan, "float32")
    call(MATMUL, a, b, c)
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("stride", [1, 2, 3, -1, -2, 0])
def test_strided_vector_loads(stride: int) -> None:
    extent = abs(stride) * 15 + 1
    a = np.arange(extent, dtype="float32")
    b = np.zeros(16, "float32")
    offset = extent - 1 if stride < 0 else 0
    text = f"""
    def f(A: T.Buffer(({extent},), "float32"), B: T.Buffer((16,), "float32")):
        for i in T.vectorized(16):
            B[i] = A[i * {stride} + {offset}] * T.float32(2.0)
    """
    call(text, a, b)
    np.testing.assert_array_equal(b, 2 * a[np.arange(16) * stride + offset])


@pytest.mark.parametrize("stride", [1, 2, 5])
def test_strided_vector_stores(stride: int) -> None:
    a = np.arange(16, dtype="int32")
    b = np.full(stride * 15 + 1, -1, "int32")
    text = f"""
    def f(A: T.Buffer((16,), "int32"), B: T.Buffer(({stride * 15 + 1},), "int32")):
        for i in T.vectorized(16):
            B[i * {stride}] = A[i]
    """
    call(text, a, b)
    expected = np.full_like(b, -1)
    expected[::stride] = a
    np.testing.assert_array_equal(b, expected)


def test_gather_by_loaded_indices(random: np.random.Generator) -> None:
    a = random.normal(size=50).astype("float32")
    where = random.integers(0, 50, 32).astype("int32")
    b = np.zeros(32, "float32")
    text = """
    def f(A: T.Buffer((50,), "float32"), I: T.Buffer((32,), "int32"), B: T.Buffer((32,), "float32")):
        for i in T.serial(2):
            for j in T.vectorized(16):
                B[i * 16 + j] = A[T.Cast("int64", I[i * 16 + j])]
    """
    call(text, a, where, b)
    np.testing.assert_array_equal(b, a[where])


@pytest.mark.parametrize("count", [1, 15, 16, 17, 33])
def test_guarded_tails_touch_nothing_outside(count: int) -> None:
    """Masked stores and loads: the arrays end at an unmapped page."""
    text = """
    def f(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), n: T.int64):
        for i in T.serial((n + 15) // 16):
            for j in T.vectorized(16):
                if i * 16 + j < n:
                    B[i * 16 + j] = A[i * 16 + j] + T.float32(1.0)
    """
    a, b = at_page_end(count), at_page_end(count)
    a[:] = np.arange(count)
    build(text)(a, b, count)
    np.testing.assert_array_equal(b, np.arange(count) + 1)


def at_page_end(count: int) -> np.ndarray:
    """A float32 array whose last byte is the last of its page; the next page may not be touched."""
    import ctypes
    import mmap

    page = mmap.PAGESIZE
    size = -(-count * 4 // page) * page
    memory = mmap.mmap(-1, size + page)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None).mprotect
    assert protect(ctypes.c_void_p(base + size), ctypes.c_size_t(page), 0) == 0
    array = np.frombuffer(memory, "float32", count, size - count * 4)
    _mapped.append(memory)
    return array


_mapped: list[object] = []


def test_padding_by_if_then_else_loads_only_inside(random: np.random.Generator) -> None:
    a = at_page_end(16)
    a[:] = random.normal(size=16)
    b = np.zeros(32, "float32")
    text = """
    def f(A: T.Buffer((16,), "float32"), B: T.Buffer((32,), "float32")):
        for i in T.serial(2):
            for j in T.vectorized(16):
                B[i * 16 + j] = T.if_then_else(8 <= i * 16 + j and i * 16 + j < 24, A[i * 16 + j - 8], T.float32(0.0))
    """
    call(text, a, b)
    np.testing.assert_array_equal(b, np.pad(a, 8))


def test_conditions_that_differ_by_lane_with_else() -> None:
    b = np.zeros(32, "int32")
    text = """
    def f(B: T.Buffer((32,), "int32")):
        for i in T.vectorized(32):
            if i % 3 == 0:
                B[i] = 7
            else:
                B[i] = T.Cast("int32", i)
    """
    call(text, b)
    np.testing.assert_array_equal(b, [7 if i % 3 == 0 else i for i in range(32)])


def test_inner_loop_that_differs_by_lane() -> None:
    b = np.zeros(16, "int32")
    text = """
    def f(B: T.Buffer((16,), "int32")):
        for i in T.vectorized(16):
            B[i] = 0
            for j in T.serial(i):
                B[i] = B[i] + 1
    """
    call(text, b)
    np.testing.assert_array_equal(b, np.arange(16))


def test_reduction_over_lanes_is_refused() -> None:
    text = """
    def f(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
        for i in T.vectorized(16):
            B[0] = B[0] + A[i]
    """
    with pytest.raises(WorkbenchError, match="E-VECTORIZE-REDUCTION"):
        artefact(text)


def test_while_runs_and_can_be_left() -> None:
    a = np.array([100], "int64")
    text = """
    def f(A: T.Buffer((1,), "int64")):
        while A[0] > 3:
            A[0] = A[0] // 2
    """
    call(text, a)
    assert a[0] == 3


def test_large_intermediates_come_from_the_context() -> None:
    a = np.arange(100_000, dtype="float32")
    b = np.zeros_like(a)
    text = """
    def f(A: T.Buffer((100000,), "float32"), B: T.Buffer((100000,), "float32")):
        C = T.allocate((100000,), "float32", scope="global")
        for i in T.serial(100000):
            C[i] = A[i] + T.float32(1.0)
        for i in T.serial(100000):
            B[99999 - i] = C[i]
    """
    compiled = build(text)
    for _ in range(3):
        compiled(a, b)
    np.testing.assert_array_equal(b, (a + 1)[::-1])


def test_shape_variables_are_bound_and_checked() -> None:
    text = """
    def f(A: T.Buffer((n, m), "float32"), B: T.Buffer((m, n), "float32")):
        n = T.int64()
        m = T.int64()
        for i, j in T.grid(n, m):
            B[j, i] = A[i, j]
    """
    compiled = build(text)
    a = np.arange(12, dtype="float32").reshape(3, 4)
    b = np.zeros((4, 3), "float32")
    compiled(a, b)
    np.testing.assert_array_equal(b, a.T)
    with pytest.raises(WorkbenchError, match="E-CALL-SHAPE") as caught:
        compiled(a, np.zeros((4, 2), "float32"))
    assert "(m, n)" in caught.value.expected


def test_assertions_stop_the_call() -> None:
    text = """
    def f(n: T.int64, A: T.Buffer((4,), "float32")):
        assert n < 4, "n is too large"
        A[n] = T.float32(1.0)
    """
    compiled = build(text)
    a = np.zeros(4, "float32")
    compiled(2, a)
    assert a[2] == 1
    with pytest.raises(WorkbenchError, match="n is too large"):
        compiled(9, a)


def test_errors_inside_parallel_loops_arrive() -> None:
    text = """
    def f(A: T.Buffer((64,), "int64")):
        for i in T.parallel(64):
            assert A[i] >= 0, "negative"
            A[i] = A[i] + 1
    """
    compiled = build(text)
    good = np.zeros(64, "int64")
    compiled(good)
    assert (good == 1).all()
    bad = np.zeros(64, "int64")
    bad[63] = -1
    with pytest.raises(WorkbenchError, match="negative"):
        compiled(bad)
    compiled(good)
    assert (good == 2).all()


NESTED = """
def f(A: T.Buffer((8, 1000), "int64")):
    for i in T.parallel(8):
        for j in T.parallel(1000):
            A[i, j] = A[i, j] + i * 1000 + j
"""


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_parallel_loops_nest_and_run_on_any_number_of_threads(threads: int) -> None:
    before = num_threads()
    compiled = build(NESTED)
    try:
        set_num_threads(threads)
        for _ in range(50):
            a = np.zeros((8, 1000), "int64")
            compiled(a)
            np.testing.assert_array_equal(a.ravel(), np.arange(8000))
    finally:
        set_num_threads(before)


def test_calls_from_many_python_threads() -> None:
    compiled = build(NESTED)
    failures: list[int] = []

    def work() -> None:
        for _ in range(40):
            a = np.zeros((8, 1000), "int64")
            compiled(a)
            if not np.array_equal(a.ravel(), np.arange(8000)):
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_pool_works_after_fork() -> None:
    compiled = build(NESTED)
    a = np.zeros((8, 1000), "int64")
    compiled(a)
    child = os.fork()
    if child == 0:
        b = np.zeros((8, 1000), "int64")
        compiled(b)
        os._exit(0 if np.array_equal(a, b) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    compiled(a)


def test_kernels_call_each_other_and_pass_statuses_on() -> None:
    kernel = function(
        """
    def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in T.serial(4):
            assert A[i] >= T.float32(0.0), "negative"
            B[i] = A[i] * T.float32(2.0)
    """
    )
    main = function(
        """
    def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"role": "entry"})
        with T.block("root"):
            C = T.alloc_buffer((4,), "float32")
            T.evaluate(T.call_tir("double", T.address_of(A[0]), T.address_of(C[0])))
            T.evaluate(T.poll_cancel())
            T.evaluate(T.call_tir("double", T.address_of(C[0]), T.address_of(B[0])))
    """
    )
    compiled = build({"main": main, "double": kernel})
    a, b = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    compiled["main"](a, b)
    np.testing.assert_array_equal(b, 4 * a)
    compiled["double"](a, b)
    np.testing.assert_array_equal(b, 2 * a)
    with pytest.raises(WorkbenchError, match="negative"):
        compiled["main"](a - 1, b)


@pytest.mark.parametrize("poll", ["T.evaluate(T.poll_cancel())", "T.evaluate(0)"])
def test_each_way_out_gives_its_own_memory_back(poll: str) -> None:
    kernel = function(
        """
    def f(A: T.Buffer((4,), "float32"), at: T.int64, B: T.Buffer((4,), "float32")):
        for i in T.serial(4):
            assert A[i] != T.Cast("float32", at), "met"
            B[i] = A[i] + T.float32(1.0)
    """
    )
    main = function(
        f"""
    def f(A: T.Buffer((4,), "float32"), at: T.int64, n: T.int64, B: T.Buffer((4,), "float32")):
        with T.block("root"):
            C = T.alloc_buffer((n,), "float32")
            T.evaluate(T.call_tir("step", T.address_of(A[0]), at, T.address_of(C[0])))
            {poll}
            with T.block("inner"):
                D = T.alloc_buffer((n * 2,), "float32")
                T.evaluate(T.call_tir("step", T.address_of(C[0]), at, T.address_of(D[0])))
                {poll}
                T.evaluate(T.call_tir("step", T.address_of(D[0]), at, T.address_of(B[0])))
                {poll}
    """
    )
    program = artefact({"main": main, "step": kernel})
    # no memory for C: none; a failure, or no memory for D: C; a failure further on: both; the end: both
    assert program.texts["main"].count("  call void %") == 0 + 1 + 2 + 2
    compiled = program.module()
    a, b = np.zeros(4, "float32"), np.zeros(4, "float32")
    for at in range(3):
        with pytest.raises(WorkbenchError, match="met"):
            compiled["main"](a, at, 1000, b)
    compiled["main"](a, 3, 1000, b)
    np.testing.assert_array_equal(b, 3)


def test_what_a_call_within_a_store_writes_is_read_again() -> None:
    """From left to right: 100, then the half that the call returns, then the exponent that it writes."""
    text = """
    def f(A: T.Buffer((8,), "float32"), E: T.Buffer((1,), "int32"), C: T.Buffer((32,), "float32")):
        for i in range(8):
            C[T.ramp(i * 4, 1, 4)] = T.broadcast(
                T.float32(E[0])
                + T.call_extern("frexpf", A[i], T.address_of(E[0]), dtype="float32")
                + T.float32(E[0]), 4
            )
    """
    a, e, c = np.float32(2.0) ** np.arange(8, dtype="float32"), np.array([100], "int32"), np.zeros(32, "float32")
    build(text)(a, e, c)
    exponents = np.arange(1, 9)
    before = np.array([100, *exponents[:-1]])
    np.testing.assert_array_equal(c, np.repeat(before + 0.5 + exponents, 4))
    assert e[0] == 8


def test_a_missing_callee_is_named() -> None:
    text = """
    def f(A: T.Buffer((4,), "float32")):
        T.evaluate(T.call_tir("g", T.address_of(A[0])))
    """
    with pytest.raises(WorkbenchError, match="E-CODEGEN-CALLEE"):
        artefact(text)


def test_thread_axes_are_refused_on_cpus() -> None:
    text = """
    def f(A: T.Buffer((4,), "float32")):
        for i in T.thread_binding(4, thread="threadIdx.x"):
            A[i] = T.float32(0.0)
    """
    with pytest.raises(WorkbenchError, match="E-CODEGEN-LOOP") as caught:
        artefact(text)
    assert "loop i is bound to threadIdx.x" in caught.value.message
    assert "parallel(i)" in caught.value.fix and "interpret" in caught.value.fix
