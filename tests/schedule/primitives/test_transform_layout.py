"""transform_layout: golden, padding, parameters, machine code against NumPy, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from workbench import te
from workbench.arith import build
from workbench.arith.nodes import Ramp, Var
from workbench.core.node import pre_order
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.build import decl_buffer, load, nest, point_region
from workbench.tir.index_map import IndexMap
from workbench.tir.interpret import interpret
from workbench.tir.script import parse


def blocked(sch: Schedule) -> None:
    sch.transform_layout("C", ("write", 0), lambda i, j: (i // 2, j, i % 2))


def test_blocked(golden: Golden) -> None:
    check_steps(golden, p.matmul, blocked)


def test_after_moving(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.compute_at("C", sch.get_loops("D")[0])
        sch.transform_layout("D", "C", lambda i, j: (j, i))

    check_steps(golden, p.matmul, steps)


def test_padding_is_left_undefined(golden: Golden) -> None:
    check_steps(
        golden,
        p.convolution,
        lambda sch: sch.transform_layout("conv", ("read", 0), "lambda c, y, x: (c, y, x // 4, x % 4)"),
    )


def test_padding_is_written(golden: Golden) -> None:
    check_steps(
        golden,
        p.matmul,
        lambda sch: sch.transform_layout("C", ("write", 0), lambda i, j: (i, j // 4, j % 4), pad_value=0),
    )


def test_the_buffer_itself_stands_for_its_name() -> None:
    one, other = Schedule(p.matmul()), Schedule(p.matmul())
    buffer = one.get(one.get_block("C")).writes[0].buffer
    one.transform_layout("C", buffer, lambda i, j: (j, i))
    other.transform_layout("C", "C", IndexMap.from_func(lambda i, j: (j, i)))
    assert one.script() == other.script()


def test_a_parameter_changes_for_its_callers(golden: Golden) -> None:
    sch = Schedule(p.plain_matmul())
    sch.transform_layout("C", ("read", 1), lambda k, j: (j, k))
    golden(f"{sch.code()}{sch.notes}\n{sch.script()}\n")
    a, b = np.arange(20, dtype="float32").reshape(4, 5), np.arange(30, dtype="float32").reshape(5, 6)
    c = np.zeros((4, 6), "float32")
    interpret(sch.func, a, np.ascontiguousarray(b.T), c, check_regions=True)
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("pad", [None, 0.0])
def test_machine_code_agrees_with_numpy(pad: float | None) -> None:
    sch = Schedule(p.matmul(5, 7, 9))
    sch.transform_layout("C", ("write", 0), lambda i, j: (i // 4, j // 4, i % 4, j % 4), pad_value=pad)
    random = np.random.default_rng(0)
    a, b = random.standard_normal((5, 9)).astype("float32"), random.standard_normal((9, 7)).astype("float32")
    d = np.zeros((5, 7), "float32")
    wb.build(sch.func)["main"](a, b, d)
    np.testing.assert_allclose(d, a.astype("float64") @ b + 1, rtol=1e-5)


SWAPPED = "lambda i: (i // 2 * 2 + (i + 1) % 2,)"
"""Neighbours change places, which the workbench does not see."""


def symbolic() -> t.PrimFunc:
    n = Var("n")
    x = te.placeholder((n,), name="X")
    y = te.compute((n,), lambda i: x[i] + 1.0, name="Y")
    return te.create_prim_func([x, te.compute((n,), lambda i: y[i] * 2.0, name="Z")])


def sized() -> t.PrimFunc:
    """C = A * 2 over (1, 32, 1, n), and a vector of m elements; the sizes are int32, as many write them."""
    return parse("""
@T.prim_func
def main(a: T.handle, c: T.handle, d: T.handle):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (1, 32, 1, n), "float32")
    C = T.match_buffer(c, (1, 32, 1, n), "float32")
    D = T.match_buffer(d, (m,), "float32")
    for i0, i1, i2, i3 in T.grid(1, 32, 1, n):
        with T.block("C"):
            x, y, z, w = T.axis.remap("SSSS", [i0, i1, i2, i3])
            C[x, y, z, w] = A[x, y, z, w] * T.float32(2)
    for i in range(m):
        with T.block("D"):
            v = T.axis.spatial(m, i)
            D[v] = T.float32(1)
""")


def test_a_map_of_a_size_of_the_program(golden: Golden) -> None:
    """A function of indices sees the size as a variable of the program; the trace has its name."""

    def steps(sch: Schedule) -> None:
        n = sch.get(sch.get_block("C")).writes[0].buffer.shape[3]
        sch.transform_layout("C", ("write", 0), lambda x, y, z, w: x * 32 * n + y * n + z * n + w)

    sch = check_steps(golden, sized, steps, runs=False)
    for size in (1, 3):
        a, c, d = np.arange(32 * size, dtype="float32"), np.zeros(32 * size, "float32"), np.zeros(2, "float32")
        interpret(sch.func, a.reshape(1, 32, 1, size), c, d, check_regions=True)
        np.testing.assert_array_equal(c, a * 2)


def test_blocks_of_symbolic_rows(golden: Golden) -> None:
    """Rounded up, and what is beyond n filled: the function's result of more elements than were asked for."""
    blocks = "lambda x, y, z, w: (y // 16, w // 16, y % 16, w % 16)"
    sch = check_steps(golden, sized, lambda s: s.transform_layout("C", "C", blocks, pad_value=0.5), runs=False)
    for size in (1, 16, 17):
        a = np.arange(32 * size, dtype="float32").reshape(1, 32, 1, size)
        c, d = np.full((2, -(-size // 16), 16, 16), 9, "float32"), np.zeros(2, "float32")
        interpret(sch.func, a, c, d, check_regions=True)
        rows = c.transpose(0, 2, 1, 3).reshape(32, -1)
        np.testing.assert_array_equal(rows[:, :size], a[0, :, 0] * 2)
        assert (rows[:, size:] == 0.5).all()


def test_assumed_injective(golden: Golden) -> None:
    sch = Schedule(symbolic())
    sch.transform_layout("Y", ("write", 0), SWAPPED, assume_injective_transform=True)
    golden(f"{sch.code()}{sch.notes}\n{sch.script()}\n")
    data, result = np.arange(10, dtype="float32"), np.zeros(10, "float32")
    interpret(sch.func, data, result, check_regions=True)
    np.testing.assert_array_equal(result, (data + 1) * 2)


def test_separators_stand_in_the_buffer() -> None:
    sch = Schedule(p.matmul())
    sch.transform_layout("C", ("write", 0), lambda i, j: (i, IndexMap.AXIS_SEPARATOR, j))
    assert "axis_separators=(1,)" in sch.script()


# --- refusals -----------------------------------------------------------------------------------------------------


def vector_read() -> t.PrimFunc:
    """O[0..3] = M[0..3] as one vector, M = X."""
    x, mid, out = (decl_buffer((4,), name=name) for name in ("X", "M", "O"))
    i, vi = Var("i"), Var("vi")
    make = t.Block(
        "make", (t.IterVar(vi, t.Range(build.const(0), build.const(4)), t.IterKind.SPATIAL),),
        (point_region(x, (vi,)),), (point_region(mid, (vi,)),), (), None,
        t.BufferStore(mid, load(x, vi), (vi,)),
    )  # fmt: skip
    ramp = Ramp(build.const(0), build.const(1), 4)
    whole = (t.BufferRegion(mid, (t.Range(build.const(0), build.const(4)),)),)
    use = t.Block("use", (), whole, (t.BufferRegion(out, whole[0].region),), (), None,
                  t.BufferStore(out, t.BufferLoad(mid, (ramp,)), (ramp,)))  # fmt: skip
    body = t.SeqStmt((
        nest([(i, 4)], t.BlockRealize((i,), build.const(True), make)), t.BlockRealize((), build.const(True), use),
    ))  # fmt: skip
    return p.in_root((x, out), (mid,), body)


def aligned_first(sch: Schedule) -> Any:
    sch.storage_align("C", 0, 0, 8, 0)
    return sch.transform_layout("C", "C", lambda i, j: (j, i))


FOURS = "lambda i: (i // 4, i % 4)"
ROWS = "lambda i, j: (i, j // 4, j % 4)"
def test_every_second_row_is_padding(golden: Golden) -> None:
    check_steps(golden, p.matmul, lambda sch: sch.transform_layout("C", "C", lambda i, j: (i * 2, j), 0.0))


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "rank": (p.matmul, lambda s: s.transform_layout("C", "C", lambda i: i), "E-SCHEDULE-MAP-RANK"),
    "negative": (p.matmul, lambda s: s.transform_layout("C", "C", lambda i, j: (i - 1, j)), "E-SCHEDULE-MAP-SHAPE"),
    "collides": (p.matmul, lambda s: s.transform_layout("C", "C", lambda i, j: i + j), "E-SCHEDULE-MAP-COLLIDES"),
    "unproven": (symbolic, lambda s: s.transform_layout("Y", "Y", SWAPPED), "E-SCHEDULE-MAP-UNPROVEN"),
    "divided by a size": (  # m elements in rows of n: n may be 0, and then there is no i // n
        sized, lambda s: s.transform_layout("D", "D", "lambda i: (i // n, i % n)"), "E-SCHEDULE-ARGUMENT",
    ),
    "a size that nobody tells": (
        sized, lambda s: s.transform_layout("D", "D", FOURS), "E-SCHEDULE-LAYOUT-SIZE",
    ),
    "rows too short": (  # of m elements where there are n: where n > m, C[0, 0, 0, m] and C[0, 1, 0, 0] share a place
        sized, lambda s: s.transform_layout("C", "C", "lambda x, y, z, w: (y * m + w,)"), "E-SCHEDULE-MAP-UNPROVEN",
    ),
    "aligned": (p.matmul, aligned_first, "E-SCHEDULE-LAYOUT-STRIDES"),
    "vector": (vector_read, lambda s: s.transform_layout("make", "M", FOURS), "E-SCHEDULE-LAYOUT-VECTOR"),
    "pad of an input": (
        p.matmul, lambda s: s.transform_layout("C", "A", lambda i, k: (i, k // 4, k % 4), 0.0), "E-SCHEDULE-LAYOUT-PAD",
    ),
    "pad of no simple form": (
        p.matmul, lambda s: s.transform_layout("C", "C", lambda i, j: (i * i, j), 0.0), "E-SCHEDULE-LAYOUT-PAD",
    ),
    "pad of another kind": (
        p.matmul,
        lambda s: [s.unsafe_set_dtype("C", 0, "int8"), s.transform_layout("C", "C", ROWS, 0.5)],
        "E-SCHEDULE-LAYOUT-PAD",
    ),
    "no such buffer": (p.matmul, lambda s: s.transform_layout("C", "Q", lambda i, j: (j, i)), "E-SCHEDULE-BUFFER"),
    "no such number": (p.matmul, lambda s: s.transform_layout("C", ("own", 3), ROWS), "E-SCHEDULE-BUFFER"),
    "no buffer": (p.matmul, lambda s: s.transform_layout("C", ("both", 3), lambda i, j: (j, i)), "E-SCHEDULE-ARGUMENT"),
    "no map": (p.matmul, lambda s: s.transform_layout("C", "C", 3), "E-SCHEDULE-ARGUMENT"),
    "a bad map": (p.matmul, lambda s: s.transform_layout("C", "C", "lambda i, j: (k, i)"), "E-SCHEDULE-ARGUMENT"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    program, attempt, code = REFUSALS[name]
    check_refusal(golden, program, attempt, code)


def test_no_node_of_the_old_buffer_is_left() -> None:
    sch = Schedule(p.matmul())
    old = sch.get(sch.get_block("C")).writes[0].buffer
    blocked(sch)
    assert all(node is not old for node in pre_order(sch.func))
