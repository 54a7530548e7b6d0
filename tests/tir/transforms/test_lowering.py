"""The loop passes one by one: what programs they make (golden texts), and that the programs mean the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.codegen.support import build, function
from workbench.arith import nodes as n
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.node import pre_order
from workbench.core.transform import PASSES, PassContext
from workbench.tir import nodes as t
from workbench.tir.script import parse, script
from workbench.tir.transforms.pipeline import CHECKED_PIPELINE, KERNEL_PIPELINE, lower
from workbench.tir.transforms.storage_plan import Life, live_bytes, place

TILED_MATMUL = """
def matmul(A: T.Buffer((32, 24), "float32"), B: T.Buffer((24, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    with T.block("root"):
        L = T.alloc_buffer((32, 32), "float32", scope="local")
        for io in T.parallel(8):
            for jo in T.serial(2):
                for k in T.serial(24):
                    for ii in T.unroll(4):
                        for ji in T.vectorized(16):
                            with T.block("mm"):
                                vi = T.axis.spatial(32, io * 4 + ii)
                                vj = T.axis.spatial(32, jo * 16 + ji)
                                vk = T.axis.reduce(24, k)
                                T.reads(A[vi, vk], B[vk, vj])
                                T.writes(L[vi, vj])
                                with T.init():
                                    L[vi, vj] = T.float32(0.0)
                                L[vi, vj] = L[vi, vj] + A[vi, vk] * B[vk, vj]
                for ii in T.unroll(4):
                    for ji in T.vectorized(16):
                        with T.block("out"):
                            vi = T.axis.spatial(32, io * 4 + ii)
                            vj = T.axis.spatial(32, jo * 16 + ji)
                            T.reads(L[vi, vj])
                            T.writes(C[vi, vj])
                            C[vi, vj] = T.max(L[vi, vj], T.float32(0.0))
"""

GUARDED_SUM = """
def rowsum(A: T.Buffer((5, 10), "float32"), S: T.Buffer((5,), "float32")):
    for i in T.serial(5):
        for ko, ki in T.grid(3, 4):
            with T.block("S"):
                vi = T.axis.spatial(5, i)
                vk = T.axis.reduce(10, ko * 4 + ki)
                T.where(ko * 4 + ki < 10)
                T.reads(A[vi, vk])
                T.writes(S[vi])
                with T.init():
                    S[vi] = T.float32(0.0)
                S[vi] = S[vi] + A[vi, vk]
"""

PADDED = """
def padded(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    with T.block("root"):
        P = T.alloc_buffer((10, 10), "float32")
        for i in T.serial(8):
            for y, x in T.grid(3, 10):
                with T.block("P"):
                    vy = T.axis.spatial(10, i + y)
                    vx = T.axis.spatial(10, x)
                    T.reads(A[vy - 1, vx - 1])
                    T.writes(P[vy, vx])
                    P[vy, vx] = T.if_then_else(
                        1 <= vy and vy < 9 and 1 <= vx and vx < 9, A[vy - 1, vx - 1], T.float32(0)
                    )
            for j in T.serial(8):
                for y, x in T.grid(3, 3):
                    with T.block("C"):
                        vi = T.axis.spatial(8, i)
                        vj = T.axis.spatial(8, j)
                        vy = T.axis.reduce(3, y)
                        vx = T.axis.reduce(3, x)
                        T.reads(P[vi + vy, vj + vx])
                        T.writes(C[vi, vj])
                        with T.init():
                            C[vi, vj] = T.float32(0)
                        C[vi, vj] = C[vi, vj] + P[vi + vy, vj + vx]
"""


def through(program: str, *names: str) -> t.PrimFunc:
    """The function after these passes."""
    mod = IRModule({"f": function(program)})
    for name in names:
        mod = PASSES[name]()(mod)
    return mod["f"]


def upto(program: str, last: str) -> t.PrimFunc:
    return through(program, *KERNEL_PIPELINE[: KERNEL_PIPELINE.index(last) + 1])


@pytest.mark.parametrize("last", ["LowerBlocks", "CompactBuffers", "FlattenBuffer", "VectorizeLoop"])
def test_tiled_matmul_pass_by_pass(last: str, golden: Callable[..., None]) -> None:
    golden(script(upto(TILED_MATMUL, last)))


@pytest.mark.parametrize("name", ["GUARDED_SUM", "PADDED"])
def test_lowered_programs(name: str, golden: Callable[..., None]) -> None:
    golden(script(lower(function(globals()[name]))))


@pytest.mark.parametrize("name", ["TILED_MATMUL", "GUARDED_SUM", "PADDED"])
@pytest.mark.parametrize("last", KERNEL_PIPELINE)
def test_every_step_prints_and_parses_back(name: str, last: str) -> None:
    from workbench.core.equal import same

    made = upto(globals()[name], last)
    assert same(parse(script(made)), made)


def test_tiled_matmul_computes() -> None:
    random = np.random.default_rng(5)
    a, b = random.integers(-3, 4, (32, 24)).astype("float32"), random.integers(-3, 4, (24, 32)).astype("float32")
    c = np.zeros((32, 32), "float32")
    build(TILED_MATMUL)(a, b, c)
    np.testing.assert_array_equal(c, np.maximum(a @ b, 0))


def test_guarded_reduction_computes() -> None:
    a = np.arange(50, dtype="float32").reshape(5, 10)
    s = np.full(5, np.nan, "float32")
    build(GUARDED_SUM)(a, s)
    np.testing.assert_array_equal(s, a.sum(1))


def test_padded_stencil_computes_with_a_buffer_of_three_rows() -> None:
    a = np.random.default_rng(2).integers(-3, 4, (8, 8)).astype("float32")
    c = np.zeros((8, 8), "float32")
    build(PADDED)(a, c)
    padded = np.pad(a, 1)
    np.testing.assert_array_equal(c, sum(padded[y : y + 8, x : x + 8] for y in range(3) for x in range(3)))
    compact = upto(PADDED, "CompactBuffers")
    (inner,) = [node.buffer for node in pre_order(compact.body) if isinstance(node, t.AllocBuffer)]
    assert [extent.value for extent in inner.shape] == [3, 10]  # type: ignore[attr-defined]


PIXELS = """
def pixels(A: T.Buffer((5, 7), "float32"), C: T.Buffer((5, 7), "float32")):
    for p in T.serial(5):
        B = T.allocate((35,), "float32")
        for i in T.serial(7):
            B[p * 7 + i] = A[(p * 7 + i) // 7, (p * 7 + i) % 7]
        for i in T.serial(7):
            C[(p * 7 + i) // 7, (p * 7 + i) % 7] = B[(p * 7 + i) // 7 * 7 + (p * 7 + i) % 7] + T.float32(1)
"""
"""A picture as a row of pixels, read by the digits of one number."""


def test_digits_of_one_number_are_put_together_again() -> None:
    compact = upto(PIXELS, "CompactBuffers")
    (inner,) = [node.buffer for node in pre_order(compact.body) if isinstance(node, t.AllocBuffer)]
    assert [extent.value for extent in inner.shape] == [7]  # type: ignore[attr-defined]
    a, c = np.arange(35, dtype="float32").reshape(5, 7), np.zeros((5, 7), "float32")
    build(PIXELS)(a, c)
    np.testing.assert_array_equal(c, a + 1)


@pytest.mark.parametrize("disabled", ["CompactBuffers", "Simplify", "UnrollLoop", "LowerIntrinsics", "InsertPolls"])
def test_optional_passes_can_be_left_out(disabled: str) -> None:
    a = np.ones((32, 24), "float32")
    b = np.ones((24, 32), "float32")
    c = np.zeros((32, 32), "float32")
    with PassContext(disabled_pass=[disabled]):
        compiled = build(TILED_MATMUL)
    compiled(a, b, c)
    assert (c == 24).all()


def test_vectorization_can_be_switched_off() -> None:
    with PassContext(config={"tir.disable_vectorize": True}):
        made = lower(function(TILED_MATMUL))
    assert not any(isinstance(node, n.Ramp) for node in pre_order(made.body))


def test_unroll_options() -> None:
    with PassContext(config={"tir.UnrollLoop": {"auto_max_step": 64}}):
        assert not any(is_marked(node) for node in pre_order(lower(function(TILED_MATMUL)).body))
    with PassContext(config={"tir.UnrollLoop": {"explicit_unroll": False}}):
        assert any(is_marked(node) for node in pre_order(lower(function(TILED_MATMUL)).body))


def is_marked(node: Any) -> bool:
    return isinstance(node, t.For) and node.kind is t.ForKind.UNROLLED


def test_lowering_twice_changes_nothing() -> None:
    once = lower(function(TILED_MATMUL))
    assert lower(once) is once


def test_digits_of_a_counter_that_are_in_step_with_memory_become_one_number() -> None:
    func = function(
        """
    def f(A: T.Buffer((3, 10, 24, 16), "float32"), B: T.Buffer((30, 384), "float32")):
        for x in T.serial(720):
            for y in T.vectorized(16):
                A[x // 240, x // 24 % 10, x % 24, y] = B[x // 24, x % 24 * 16 + y] + T.float32(1.0)
    """
    )
    text = script(lower(func))
    assert "A[T.ramp(x * 16, 1, 16)] = B[T.ramp(x * 16, 1, 16)]" in text
    a, b = np.zeros((3, 10, 24, 16), "float32"), np.arange(11520, dtype="float32").reshape(30, 384)
    build(func)(a, b)
    np.testing.assert_array_equal(a.reshape(30, 384), b + 1)


def test_the_checked_pipeline_checks_before_flattening() -> None:
    assert CHECKED_PIPELINE.index("BoundCheck") < CHECKED_PIPELINE.index("FlattenBuffer")
    assert set(KERNEL_PIPELINE) < set(CHECKED_PIPELINE)
    assert all(name in PASSES for name in CHECKED_PIPELINE)


def test_signature_names_every_packed_argument() -> None:
    func = lower(
        function(
            """
    def f(A: T.Buffer((n, 4), "float16"), k: T.int32, x: T.float64, B: T.Buffer((n * 2,), "bool")):
        n = T.int64()
        B[0] = T.bool(True)
    """
        )
    )
    assert func.attrs["signature"] == ("float16[n, 4]", "int32", "float64", "bool[B_shape_0]")
    assert func.attrs["written"] == ("B",)
    assert [param.name for param in func.params] == ["A", "k", "x", "B", "n", "B_shape_0"]


def test_computed_extents_are_asserted() -> None:
    text = """
    def f(A: T.Buffer((n,), "float32"), B: T.Buffer((n * 2,), "float32")):
        n = T.int64()
        for i in T.serial(n):
            B[i * 2] = A[i]
    """
    compiled = build(text)
    compiled(np.ones(3, "float32"), np.zeros(6, "float32"))
    with pytest.raises(WorkbenchError, match="another extent"):
        compiled(np.ones(3, "float32"), np.zeros(5, "float32"))


def test_extents_that_no_argument_tells_are_refused() -> None:
    text = """
    def f(A: T.Buffer((n * 2,), "float32")):
        n = T.int64()
        A[0] = T.float32(0.0)
    """
    with pytest.raises(WorkbenchError, match="E-TIR-SHAPE-VARIABLE"):
        lower(function(text))


# --- storage ------------------------------------------------------------------------------------------------------

CHAIN = """
def main(x: T.Buffer((1000,), "float32"), y: T.Buffer((1000,), "float32")):
    T.func_attr({"role": "entry"})
    with T.block("root"):
        a = T.alloc_buffer((1000,), "float32")
        b = T.alloc_buffer((1000,), "float32")
        c = T.alloc_buffer((1000,), "float32")
        d = T.alloc_buffer((10,), "float32")
        T.evaluate(T.call_tir("k", T.address_of(x[0]), T.address_of(a[0])))
        T.evaluate(T.call_tir("k", T.address_of(a[0]), T.address_of(b[0])))
        T.evaluate(T.call_tir("k", T.address_of(b[0]), T.address_of(c[0])))
        T.evaluate(T.call_tir("k", T.address_of(c[0]), T.address_of(y[0])))
        d[0] = T.float32(1.0)
"""


def test_intermediates_share_an_arena(golden: Callable[..., None]) -> None:
    func = upto(CHAIN, "StoragePlan")
    assert func.attrs["arena_bytes"] == 2 * 4032
    golden(script(func))


def test_placement_never_overlaps_what_lives_together() -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        lives = []
        for _ in range(30):
            first = int(random.integers(0, 40))
            size = int(random.integers(1, 50)) * 64
            lives.append(Life(None, size, first, first + int(random.integers(0, 10))))  # type: ignore[arg-type]
        total = place(lives)
        assert live_bytes(lives) <= total <= 1.3 * live_bytes(lives)
        for a in lives:
            assert a.offset % 64 == 0 and a.offset + a.size <= total
            for b in lives:
                if a is not b and a.first <= b.last and b.first <= a.last:
                    assert a.offset + a.size <= b.offset or b.offset + b.size <= a.offset


def test_the_most_live_bytes_are_those_of_the_widest_moment() -> None:
    lives = [Life(None, size, first, last) for size, first, last in ((64, 0, 2), (128, 2, 3), (256, 4, 4), (64, 3, 9))]  # type: ignore[arg-type]
    assert live_bytes(lives) == 320 and live_bytes([]) == 0 == place([])


def test_a_small_buffer_that_lives_long_is_not_in_the_way_of_large_ones() -> None:
    """The largest first leaves a hole between them that neither fills: another order loses nothing."""
    told = ((192, 0, 1), (128, 1, 2), (192, 2, 3), (128, 3, 4), (64, 0, 4))
    lives = [Life(None, size, first, last) for size, first, last in told]  # type: ignore[arg-type]
    assert place(lives) == live_bytes(lives)


# --- sums ---------------------------------------------------------------------------------------------------------
