"""tensorize: golden before and after, each refusal, the library on interpreter and compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from workbench import te, tir
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.script import tir as T
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.tensor_intrin import TENSOR_INTRINSICS, TensorIntrin, registered_name
from workbench.tir.verify import verify


@T.prim_func
def add_row_description(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        for i in T.serial(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] + T.float32(1)


@T.prim_func
def add_row(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        B[T.ramp(0, 1, 4)] = A[T.ramp(0, 1, 4)] + T.broadcast(T.float32(1), 4)


@T.prim_func
def tile_description(A: T.Buffer((2, 4), "float32"), B: T.Buffer((4, 2), "float32"), C: T.Buffer((2, 2), "float32")):
    with T.block("root"):
        T.reads(C[0:2, 0:2], A[0:2, 0:4], B[0:4, 0:2])
        T.writes(C[0:2, 0:2])
        for i, j, k in T.grid(2, 2, 4):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def tile_in_another_order(
    A: T.Buffer((2, 4), "float32"), B: T.Buffer((4, 2), "float32"), C: T.Buffer((2, 2), "float32")
):
    with T.block("root"):
        T.reads(C[0:2, 0:2], A[0:2, 0:4], B[0:4, 0:2])
        T.writes(C[0:2, 0:2])
        for k in T.serial(4):
            for i, j in T.grid(2, 2):
                with T.block("step"):
                    vk, vi, vj = T.axis.remap("RSS", [k, i, j])
                    C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@pytest.fixture(autouse=True, scope="module")
def intrinsics() -> Any:
    entries = {"test_add_row": (add_row_description, add_row), "test_tile": (tile_description, tile_in_another_order)}
    for name, (description, implementation) in entries.items():
        TensorIntrin.register(name, description, implementation, override=True)
    yield
    for name in entries:
        TENSOR_INTRINSICS.remove(name)


def plus_one() -> t.PrimFunc:
    a = te.placeholder((3, 8), name="A")
    return te.create_prim_func([a, te.compute((3, 8), lambda i, j: a[i, j] + 1.0, name="B")])


def test_a_row_at_an_offset(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        _, inside = sch.split(sch.get_loops("B")[1], factors=[None, 4])
        sch.tensorize(inside, "test_add_row")

    check_steps(golden, plus_one, steps)


def product() -> t.PrimFunc:
    return p.matmul(4, 6, 8)


def tiled(sch: Schedule) -> Any:
    i, j, k = sch.get_loops("C")
    pairs = [sch.split(loop, factors=[None, size]) for loop, size in ((i, 2), (j, 2), (k, 4))]
    sch.reorder(*(pair[0] for pair in pairs), *(pair[1] for pair in pairs))
    return pairs[0][1]


def test_an_accumulating_tile_keeps_its_init(golden: Golden) -> None:
    check_steps(golden, product, lambda sch: sch.tensorize(tiled(sch), "test_tile"))


def test_after_the_reduction_was_decomposed(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        inner = tiled(sch)
        sch.decompose_reduction("C", sch.get_loops("C")[2])
        sch.tensorize(inner, "test_tile")

    check_steps(golden, product, steps)


def test_a_block_that_was_blockized_and_twice_the_same_intrinsic(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        outer = sch.blockize(tiled(sch))
        sch.tensorize(outer, "test_tile")
        with pytest.raises(WorkbenchError):
            sch.tensorize(outer, "test_tile")

    check_steps(golden, product, steps)


# --- dot products of bytes ----------------------------------------------------------------------------------------


def dot(rows: int = 32, columns: int = 5, depth: int = 8) -> t.PrimFunc:
    """Y[n, o] = sum over k of X[n, k] * W[o, k], weights packed in tiles of 16 x 4."""
    x = te.placeholder((columns, depth), "uint8", name="X")
    w = te.placeholder((rows // 16, depth // 4, 16, 4), "int8", name="W")
    k = te.reduce_axis((0, depth), name="k")
    y = te.compute(
        (columns, rows),
        lambda n, o: te.sum(
            te.cast("int32", x[n, k])
            * te.cast("int32", w[te.floordiv(o, 16), te.floordiv(k, 4), te.floormod(o, 16), te.floormod(k, 4)]),
            axis=k,
        ),
        name="Y",
    )
    return te.create_prim_func([x, w, y])


def dot_in_tiles(sch: Schedule, name: str) -> None:
    n, o, k = sch.get_loops("Y")
    outer, inner = sch.split(o, factors=[None, 16])
    far, near = sch.split(k, factors=[None, 4])
    sch.reorder(n, outer, far, inner, near)
    sch.tensorize(inner, name)


@pytest.mark.parametrize("name", ["dot_16x4_plain", "dot_16x4_vnni"])
def test_dot_products(golden: Golden, name: str) -> None:
    sch = Schedule(dot())
    dot_in_tiles(sch, name)
    golden(sch.script() + "\n")
    verify(sch.func)
    random = np.random.default_rng(1)
    x = random.integers(0, 200, (5, 8)).astype(np.uint8)
    w = random.integers(-128, 127, (2, 2, 16, 4)).astype(np.int8)
    flat = w.transpose(0, 2, 1, 3).reshape(32, 8).astype(np.int32)
    wanted = x.astype(np.int32) @ flat.T
    found = np.zeros((5, 32), np.int32)
    interpret(sch.func, x, w, found, check_regions=True)
    np.testing.assert_array_equal(found, wanted)
    if name.endswith("plain") or "avx512vnni" in wb.Target("llvm").available_features:
        found[...] = 0
        wb.build(sch)["main"](x, w, found)
        np.testing.assert_array_equal(found, wanted)


def test_a_target_without_the_instruction_says_so(golden: Golden) -> None:
    sch = Schedule(dot())
    dot_in_tiles(sch, "dot_16x4_vnni")
    with pytest.raises(WorkbenchError) as caught:
        wb.build(sch, target="llvm -mcpu=x86-64-v3")
    assert caught.value.code == "E-CODEGEN-INTRINSIC"
    golden(f"{caught.value}\n")
    code = wb.build(sch, target="llvm -mcpu=cascadelake")
    assert "vpdpbusd" in code.get_source("asm")


def test_dot_products_of_arm_print_and_compile_for_arm() -> None:
    x = te.placeholder((4,), "int8", name="X")
    w = te.placeholder((4, 4), "int8", name="W")
    k = te.reduce_axis((0, 4), name="k")
    y = te.compute((4,), lambda i: te.sum(te.cast("int32", x[k]) * te.cast("int32", w[i, k]), axis=k), name="Y")
    sch = Schedule(te.create_prim_func([x, w, y]))
    sch.tensorize(sch.get_loops("Y")[0], "dot_4x4_i8i8s32_sdot")
    assert "llvm.aarch64.neon.sdot" in sch.script()
    code = wb.build(sch, target="llvm -mtriple=aarch64-linux-gnu -mattr=+dotprod")
    assert "sdot" in code.get_source("asm")
    with pytest.raises(WorkbenchError, match="sdot"):
        wb.build(sch, target="llvm -mtriple=aarch64-linux-gnu")


# --- declared by tensor expressions -------------------------------------------------------------------------------


def gemv(depth: int, m: int, parts: str) -> TensorIntrin:
    """c[i] = sum of a[k] * b[i, k], as loops in another order; `parts`: "body", "update", "reset and update"."""
    a, b = te.placeholder((depth,), name="a"), te.placeholder((m, depth), name="b")
    k = te.reduce_axis((0, depth), name="k")
    c = te.compute((m,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    row = te.var("row")
    bound = tir.decl_buffer((m, depth), "float32", "bound", strides=[row, 1], offset_factor=1)

    def compute(ins: list[t.Buffer], outs: list[t.Buffer]) -> Any:
        def loop(body: Callable[[Any], t.Stmt], extent: int) -> t.Stmt:
            var = tir.Var("i")
            return tir.For(var, te.const(0), te.const(extent), tir.ForKind.SERIAL, body(var))

        def cleared() -> t.Stmt:
            return loop(lambda i: outs[0].vstore([i], te.const(0.0)), m)

        def added() -> t.Stmt:
            return loop(
                lambda i: loop(
                    lambda j: outs[0].vstore([j], outs[0].vload([j]) + ins[0].vload([i]) * ins[1].vload([j, i])), m
                ),
                depth,
            )

        body = tir.SeqStmt((cleared(), added()))
        return {"body": body, "update": (body, None, added()), "reset and update": (None, cleared(), added())}[parts]

    return te.decl_tensor_intrin(c.op, compute, name="test_gemv", binds={b: bound})


def gemm() -> t.PrimFunc:
    """C[i, j] = sum of A[i, k] * B[j, k]"""
    a, b = te.placeholder((3, 8), name="A"), te.placeholder((4, 8), name="B")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((3, 4), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    return te.create_prim_func([a, b, c])


@pytest.mark.parametrize(("parts", "depth"), [("body", 8), ("update", 4), ("reset and update", 4)])
def test_a_matrix_vector_product(golden: Golden, parts: str, depth: int) -> None:
    name = registered_name(gemv(depth, 2, parts))

    def steps(sch: Schedule) -> None:
        i, j, k = sch.get_loops("C")
        outer, inner = sch.split(j, factors=[None, 2])
        if depth < 8:
            far, near = sch.split(k, factors=[None, depth])
            sch.reorder(i, outer, far, inner, near)
        sch.tensorize(inner, name)

    try:
        check_steps(golden, gemm, steps)
    finally:
        TENSOR_INTRINSICS.remove(name)


def test_one_intrinsic_has_one_name() -> None:
    one, other = gemv(4, 2, "body"), gemv(8, 2, "body")
    names = [registered_name(item) for item in (one, gemv(4, 2, "body"), other)]
    assert names[0] == names[1] != names[2]
    for name in set(names):
        TENSOR_INTRINSICS.remove(name)


# --- refusals -----------------------------------------------------------------------------------------------------


def other_extent(sch: Schedule) -> Any:
    _, inside = sch.split(sch.get_loops("B")[1], factors=[None, 2])
    return sch.tensorize(inside, "test_add_row")


def other_expression(sch: Schedule) -> Any:
    _, inside = sch.split(sch.get_loops("C")[1], factors=[None, 3])
    return sch.tensorize(inside, "test_add_row")


def other_order(sch: Schedule) -> Any:
    i, j, k = sch.get_loops("C")
    pairs = [sch.split(loop, factors=[None, size]) for loop, size in ((i, 2), (j, 2), (k, 4))]
    sch.reorder(*(pair[0] for pair in pairs), pairs[2][1], pairs[0][1], pairs[1][1])
    return sch.tensorize(pairs[2][1], "test_tile")


def other_kind(sch: Schedule) -> Any:
    inner = tiled(sch)
    sch.unroll(inner)
    return sch.tensorize(inner, "test_tile")


def half_the_reduction(sch: Schedule) -> Any:
    i, j, k = sch.get_loops("C")
    outer, inner = sch.split(j, factors=[None, 2])
    far, near = sch.split(k, factors=[None, 4])
    sch.reorder(i, outer, far, inner, near)
    name = registered_name(gemv(4, 2, "body"))
    try:
        return sch.tensorize(inner, name)
    finally:
        TENSOR_INTRINSICS.remove(name)


def other_init() -> t.PrimFunc:
    a, b = te.placeholder((3, 8), name="A"), te.placeholder((4, 8), name="B")
    k = te.reduce_axis((0, 8), name="k")
    from_one = te.comm_reducer(lambda x, y: x + y, lambda dtype: te.const(1, dtype), name="from_one")
    c = te.compute((3, 4), lambda i, j: from_one(a[i, k] * b[j, k], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def with_other_init(sch: Schedule) -> Any:
    _, j, _ = sch.get_loops("C")
    _, inner = sch.split(j, factors=[None, 2])
    name = registered_name(gemv(8, 2, "body"))
    try:
        return sch.tensorize(inner, name)
    finally:
        TENSOR_INTRINSICS.remove(name)


def strided() -> t.PrimFunc:
    a = te.placeholder((3, 16), name="A")
    return te.create_prim_func([a, te.compute((3, 8), lambda i, j: a[i, j * 2] + 1.0, name="B")])


def wide() -> t.PrimFunc:
    a = te.placeholder((3, 8), "float64", name="A")
    return te.create_prim_func([a, te.compute((3, 8), lambda i, j: a[i, j] + te.const(1.0, "float64"), name="B")])


def row_of_four(sch: Schedule) -> Any:
    _, inside = sch.split(sch.get_loops("B")[1], factors=[None, 4])
    return sch.tensorize(inside, "test_add_row")


REFUSALS: dict[str, tuple[Callable[[], t.PrimFunc], Callable[[Schedule], Any]]] = {
    "unknown": (plus_one, lambda sch: sch.tensorize(sch.get_loops("B")[1], "nothing of the kind")),
    "no_loops": (plus_one, lambda sch: sch.tensorize("B", "test_add_row")),
    "extent": (plus_one, other_extent),
    "expression": (product, other_expression),
    "order": (product, other_order),
    "kind": (product, other_kind),
    "partial": (gemm, half_the_reduction),
    "init": (other_init, with_other_init),
    "stride": (strided, row_of_four),
    "dtype": (wide, row_of_four),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(golden: Golden, name: str) -> None:
    program, attempt = REFUSALS[name]
    check_refusal(golden, program, attempt, "E-SCHEDULE-TENSORIZE")


def test_intrinsics_that_do_not_fit_together() -> None:
    with pytest.raises(WorkbenchError) as caught:
        TensorIntrin.register("test_bad", add_row_description, tile_in_another_order)
    assert caught.value.code == "E-TENSOR-INTRIN" and "other parameters" in caught.value.message
    with pytest.raises(WorkbenchError) as caught:
        TensorIntrin.register("test_bad", add_row_description, None)
    assert caught.value.code == "E-TENSOR-INTRIN"
    with pytest.raises(WorkbenchError) as caught:
        TensorIntrin.register("test_bad", add_row, add_row)
    assert "no block" in caught.value.message
    with pytest.raises(WorkbenchError) as caught:
        TensorIntrin.register("test_tile", tile_description, tile_in_another_order)
    assert caught.value.code == "E-TABLE-CLASH"
    with pytest.raises(WorkbenchError) as caught:
        TensorIntrin.get("dot_16x4_vnnj")
    assert "dot_16x4_vnni" in caught.value.fix
    assert TensorIntrin.get("no such thing", allow_missing=True) is None


DECLARATIONS: dict[str, Callable[[], Any]] = {
    "placeholder": lambda: te.decl_tensor_intrin(te.placeholder((4,)).op, lambda ins, outs: te.const(0)),
    "nothing": lambda: te.decl_tensor_intrin(
        te.compute((4,), lambda i: te.const(0.0)).op, lambda ins, outs: (None, None, None)
    ),
    "number": lambda: te.decl_tensor_intrin(te.compute((4,), lambda i: te.const(0.0)).op, lambda ins, outs: 3),
    "four": lambda: te.decl_tensor_intrin(te.compute((4,), lambda i: te.const(0.0)).op, lambda ins, outs: (1, 2, 3, 4)),
}


@pytest.mark.parametrize("name", DECLARATIONS)
def test_declarations_that_are_refused(name: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        DECLARATIONS[name]()
    assert caught.value.code in ("E-TE-INTRIN", "E-TENSOR-INTRIN")


def test_one_buffer_along_other_axes_is_another_tile() -> None:
    """A[i, 0, j] and A[0, i, j] begin in one place, and are not one tile of the description's A[i, j]."""

    @T.prim_func
    def described(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
        with T.block("root"):
            T.reads(A[0:4, 0:4])
            T.writes(B[0:4, 0:4])
            for i, j in T.grid(4, 4):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj] + A[vi, vj]

    @T.prim_func
    def doubled(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
        with T.block("root"):
            T.reads(A[0:4, 0:4])
            T.writes(B[0:4, 0:4])
            for i, j in T.grid(4, 4):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj] * T.float32(2)

    @T.prim_func
    def program(A: T.Buffer((4, 4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, 0, vj] + A[0, vi, vj]

    TensorIntrin.register("test.doubled", described, doubled, override=True)
    try:
        schedule = Schedule(program)
        with pytest.raises(WorkbenchError, match="A is accessed in another way"):
            schedule.tensorize(schedule.get_loops("B")[0], "test.doubled", preserve_unit_iters=False)
    finally:
        TENSOR_INTRINSICS.remove("test.doubled")
