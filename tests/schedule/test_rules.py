"""Default schedules: right numbers, the shape they promise, replayable, computed without search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.conftest import Golden
from tests.schedule.executing import inputs
from workbench import te
from workbench.arith import build
from workbench.codegen.llvm.facts import needs_one_pass
from workbench.core.node import post_order
from workbench.schedule import Schedule, Trace, rules
from workbench.schedule.rules import conv as conv_rules
from workbench.schedule.rules import matmul as matmul_rules
from workbench.schedule.rules.shapes import Machine
from workbench.target import Target
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.transforms.pipeline import lower
from workbench.topi.nn_conv import Conv2D
from workbench.topi.nn_dense import BatchMatMul, DensePack, MatMul
from workbench.topi.nn_norm import Softmax

WIDE = Target("llvm -mcpu=znver5")
NARROW = Target("llvm -mcpu=x86-64-v3")


@dataclass(frozen=True)
class Kernel:
    func: t.PrimFunc
    target: Target = WIDE


def convolution(ci: int, co: int, size: int, kernel: int, groups: int = 1, stride: int = 1) -> t.PrimFunc:
    pad = kernel // 2
    x = te.placeholder((1, ci, size, size), name="X")
    w = te.placeholder((-(-co // 16), ci // groups, kernel, kernel, 16), name="W")
    bias = te.placeholder((co, 1, 1), name="bias")
    op = Conv2D(
        kernel_layout="OIHW16o", channels=co, padding=(pad,) * 4, kernel_size=(kernel, kernel), groups=groups,
        strides=(stride, stride),
    )  # fmt: skip
    conv = op.compute(x, w)
    relu = te.compute(
        conv.shape, lambda n, o, y, x_: build.maximum(conv[n, o, y, x_] + bias[o, 0, 0], 0.0), name="relu"
    )
    return te.create_prim_func([x, w, bias, relu])


def channels_last(ci: int, co: int, size: int, kernel: int, stride: int = 1, groups: int = 1) -> t.PrimFunc:
    x = te.placeholder((1, size, size, ci), name="X")
    w = te.placeholder((-(-co // 16), ci // groups, kernel, kernel, 16), name="W")
    op = Conv2D(
        groups=groups, data_layout="NHWC", kernel_layout="OIHW16o", channels=co, padding=(kernel // 2,) * 4,
        kernel_size=(kernel, kernel), strides=(stride, stride),
    )  # fmt: skip
    conv = op.compute(x, w)
    return te.create_prim_func([x, w, te.compute(conv.shape, lambda *i: build.maximum(conv(*i), 0.0), name="relu")])


def plain_convolution() -> t.PrimFunc:
    x, w = te.placeholder((1, 3, 7, 7), name="X"), te.placeholder((5, 3, 3, 3), name="W")
    return te.create_prim_func([x, w, Conv2D(padding=(1, 1, 1, 1)).compute(x, w)])


def depthwise(channels: int, size: int, stride: int = 1, kernel: int = 3) -> t.PrimFunc:
    pad = kernel // 2
    x, w = te.placeholder((1, channels, size, size), name="X"), te.placeholder((channels, 1, kernel, kernel), name="W")
    op = Conv2D(
        channels=channels, padding=(pad,) * 4, kernel_size=(kernel,) * 2, groups=channels, strides=(stride,) * 2
    )
    conv = op.compute(x, w)
    relu = te.compute(conv.shape, lambda *i: build.maximum(conv(*i), 0.0), name="relu")
    return te.create_prim_func([x, w, relu])


def dense(rows: int, inner: int, units: int) -> t.PrimFunc:
    a, w = te.placeholder((rows, inner), name="A"), te.placeholder((-(-units // 16), inner, 16), name="W")
    return te.create_prim_func([a, w, DensePack(weight_layout="NC16n", units=units).compute(a, w)])


def product(rows: int, inner: int, columns: int) -> t.PrimFunc:
    a, b = te.placeholder((rows, inner), name="A"), te.placeholder((inner, columns), name="B")
    return te.create_prim_func([a, b, MatMul().compute(a, b)])


def batched() -> t.PrimFunc:
    a, b = te.placeholder((2, 6, 5), name="A"), te.placeholder((2, 5, 32), name="B")
    return te.create_prim_func([a, b, BatchMatMul(transpose_b=False).compute(a, b)])


def rows() -> t.PrimFunc:
    x = te.placeholder((3, 21), name="X")
    return te.create_prim_func([x, Softmax(axis=-1).compute(x)])


def columns() -> t.PrimFunc:
    x = te.placeholder((6, 5), name="X")
    return te.create_prim_func([x, Softmax(axis=0).compute(x)])


def elementwise(*shape: int) -> t.PrimFunc:
    x, bias = te.placeholder(shape, name="X"), te.placeholder((shape[1],), name="bias")
    y = te.compute(shape, lambda *i: x(*i) + bias[i[1]], name="biased")
    z = te.compute(shape, lambda *i: build.maximum(y(*i), 0.0), name="relu")
    return te.create_prim_func([x, bias, z])


def mean() -> t.PrimFunc:
    x = te.placeholder((2, 6, 4, 5), name="X")
    ry, rx = te.reduce_axis((0, 4), name="ry"), te.reduce_axis((0, 5), name="rx")
    total = te.compute((2, 6), lambda n, c: te.sum(x[n, c, ry, rx], axis=[ry, rx]), name="total")
    return te.create_prim_func([x, te.compute((2, 6), lambda n, c: total[n, c] * 0.25, name="mean")])


def split_heads() -> t.PrimFunc:
    """(6, 64) as (2, 4 heads, 3, 16): rows of the result are parts of rows of the operand."""
    x, bias = te.placeholder((6, 64), name="X"), te.placeholder((64,), name="bias")

    def at(n: Any, head: Any, word: Any, lane: Any) -> Any:
        flat = (n * 3 + word) * 64 + head * 16 + lane
        return x[flat // 64, flat % 64] + bias[flat % 64]

    return te.create_prim_func([x, bias, te.compute((2, 4, 3, 16), at, name="heads")])


def joined_heads() -> t.PrimFunc:
    x = te.placeholder((2, 4, 3, 16), name="X")
    made = te.compute((6, 64), lambda i, j: x[i // 3, j // 16, i % 3, j % 16], name="joined")
    return te.create_prim_func([x, made])


def crossing_rows() -> t.PrimFunc:
    """Vectors of 16 would cross the ends of what is taken of each row."""
    x = te.placeholder((4, 32), name="X")
    return te.create_prim_func([x, te.compute((2, 48), lambda i, j: x[i * 2 + j // 24, j % 24], name="joined")])


def transposed() -> t.PrimFunc:
    x = te.placeholder((10, 12), name="X")
    return te.create_prim_func([x, te.compute((12, 10), lambda i, j: x[j, i] + 1.0, name="turned")])


def taken() -> t.PrimFunc:
    """Rows that a table tells."""
    x, table = te.placeholder((9, 32), name="X"), te.placeholder((5,), "int64", name="table")
    row = lambda i: build.maximum(build.minimum(table[i], 8), 0)  # noqa: E731
    return te.create_prim_func([x, table, te.compute((5, 32), lambda i, j: x[row(i), j] * 2.0, name="taken")])


def sums(*shape: int) -> t.PrimFunc:
    x = te.placeholder(shape, name="X")
    k = te.reduce_axis((0, shape[-1]), name="k")
    return te.create_prim_func([x, te.compute(shape[:-1], lambda *i: te.sum(x[(*i, k)], axis=[k]), name="total")])


def row_means() -> t.PrimFunc:
    x = te.placeholder((3, 10, 37), name="X")
    k = te.reduce_axis((0, 37), name="k")
    total = te.compute((3, 10), lambda i, j: te.sum(x[i, j, k], axis=[k]), name="total")
    return te.create_prim_func([x, te.compute((3, 10), lambda i, j: total[i, j] * 0.25, name="mean")])


KERNELS: dict[str, Callable[[], t.PrimFunc]] = {
    "conv": lambda: convolution(3, 40, 9, 3), "conv 1x1": lambda: convolution(4, 20, 13, 1),
    "conv stride": lambda: convolution(3, 16, 9, 3, 1, 2), "conv depthwise": lambda: convolution(24, 24, 9, 3, 24),
    "conv plain": plain_convolution, "conv channels last": lambda: channels_last(3, 40, 9, 3),
    "conv channels last, stride": lambda: channels_last(4, 32, 11, 1, 2),
    "conv channels last, depthwise": lambda: channels_last(32, 32, 9, 3, 2, 32),
    "conv channels last, depthwise, filled up": lambda: channels_last(24, 24, 7, 3, 1, 24),
    "depthwise": lambda: depthwise(5, 14),
    "depthwise odd": lambda: depthwise(3, 11, 2, 5), "dense": lambda: dense(3, 10, 30),
    "dense one row": lambda: dense(1, 12, 64),
    "matmul": lambda: product(8, 5, 32), "matmul odd": lambda: product(7, 5, 19),
    "matmul tiny": lambda: product(1, 5, 7),
    "batch_matmul": batched, "softmax": rows, "softmax columns": columns,
    "elementwise": lambda: elementwise(2, 5, 6, 6),
    "elementwise odd": lambda: elementwise(1, 3, 7), "mean": mean,
    "split heads": split_heads, "joined heads": joined_heads, "crossing rows": crossing_rows,
    "transposed": transposed, "taken": taken, "sums": lambda: sums(3, 10, 37), "sums prime": lambda: sums(7, 40),
    "row means": row_means, "sums one": lambda: sums(1, 1, 33), "sums many": lambda: sums(4, 96, 48),
}  # fmt: skip


def check_numbers_stay(func: t.PrimFunc, target: Target) -> None:
    """The default schedule gives the same numbers, touches what its blocks declare, and is made again by its trace."""
    sch = rules.default(Kernel(func, target))
    expected, found = inputs(func), inputs(func)
    interpret(func, *expected)
    interpret(sch.func, *found, check_regions=True)
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    again = Schedule(func)
    Trace.from_json(sch.trace.as_json()).apply_to(again)
    assert again.fingerprint() == sch.fingerprint()


@pytest.mark.parametrize("target", (WIDE, NARROW), ids=("wide", "narrow"))
@pytest.mark.parametrize("name", KERNELS)
def test_default_schedules_keep_the_numbers(name: str, target: Target) -> None:
    check_numbers_stay(KERNELS[name](), target)


@pytest.mark.parametrize("name", ("conv", "conv depthwise", "dense", "matmul", "softmax", "elementwise"))
def test_steps_of_default_schedules(name: str, golden: Golden) -> None:
    sch = rules.default(Kernel(KERNELS[name]()))
    golden(f"{sch.code()}\n{sch.script()}\n")


def vector_loops(sch: Schedule, block: str) -> list[int]:
    return [
        loop.extent.value  # type: ignore[attr-defined]
        for loop in sch.state.tree.blocks[block].loops
        if loop.kind is t.ForKind.VECTORIZED
    ]


@pytest.mark.parametrize(
    ("name", "block", "lanes"),
    (("split heads", "heads", [16]), ("joined heads", "joined", [16]), ("taken", "taken", [16]),
     ("crossing rows", "joined", []), ("transposed", "turned", [])),
)  # fmt: skip
def test_rows_in_step_with_memory_become_vectors(name: str, block: str, lanes: list[int]) -> None:
    assert vector_loops(rules.default(Kernel(KERNELS[name]())), block) == lanes


def test_short_rows_that_are_apart_in_memory_are_written_out() -> None:
    loops = rules.default(Kernel(transposed())).state.tree.blocks["turned"].loops
    assert [loop.kind for loop in loops] == [t.ForKind.SERIAL, t.ForKind.UNROLLED]


@pytest.mark.parametrize(("shape", "together"), (((3, 10, 37), 5), ((7, 40), 7), ((4, 96, 48), 8), ((1, 1, 33), 1)))
def test_sums_along_memory_are_added_up_side_by_side(shape: tuple[int, ...], together: int) -> None:
    loops = rules.default(Kernel(sums(*shape))).state.tree.blocks["total"].loops
    unrolled = [loop.extent.value for loop in loops if loop.kind is t.ForKind.UNROLLED]  # type: ignore[attr-defined]
    assert unrolled == ([together] if together > 1 else [])


@pytest.mark.parametrize("name", ("split heads", "joined heads", "transposed", "taken", "row means"))
def test_their_code_needs_one_pass(name: str) -> None:
    lowered = lower(rules.default(Kernel(KERNELS[name]())).func)
    assert needs_one_pass(lowered.body)


@pytest.mark.parametrize(
    ("ci", "co", "size", "kernel"),
    ((64, 64, 56, 3), (512, 512, 7, 3), (3, 64, 112, 7), (96, 24, 56, 5)),
)
def test_convolutions_fill_the_registers(ci: int, co: int, size: int, kernel: int) -> None:
    sch = rules.default(Kernel(convolution(ci, co, size, kernel)))
    assert vector_loops(sch, "conv2d") == [16]
    accumulators = 1
    for loop in sch.state.tree.blocks["conv2d_init"].loops:
        if loop.kind is t.ForKind.UNROLLED:
            accumulators *= loop.extent.value  # type: ignore[attr-defined]
    assert 12 <= accumulators <= 28
    local = next(node for node in post_order(sch.func) if isinstance(node, t.Buffer) and node.name == "conv2d")
    assert local.scope == "local"
    assert sch.state.tree.blocks["conv2d"].loops[0].kind is t.ForKind.PARALLEL


@pytest.mark.parametrize("layout", ("NCHW", "NHWC"))
def test_vectors_are_stored_along_memory(layout: str) -> None:
    sch = rules.default(Kernel(channels_last(8, 32, 8, 3) if layout == "NHWC" else convolution(8, 32, 8, 3)))
    vector = next(loop for loop in sch.state.tree.blocks["relu"].loops if loop.kind is t.ForKind.VECTORIZED)
    assert vector.extent.value == (16 if layout == "NHWC" else 8)  # type: ignore[attr-defined]


@pytest.mark.parametrize("inner", (8, 4096))
@pytest.mark.parametrize(("rows", "columns"), ((256, 1024), (7, 64), (1, 512), (127, 96), (100, 20)))
def test_tiles_of_products_fit_and_leave_no_remainder_where_they_can(rows: int, columns: int, inner: int) -> None:
    for lanes, registers in ((16, 32), (8, 16), (4, 32)):
        machine = Machine(lanes, registers)
        vectors, height = matmul_rules.register_tile(machine, rows, columns, lanes, inner)
        assert vectors * height <= registers - 2
        if any(rows % some == 0 for some in (4, 5, 6, 7, 8)):
            assert rows % height == 0


def test_register_tiles_never_exceed_the_registers() -> None:
    for lanes, registers in ((16, 32), (8, 16), (4, 16)):
        machine = Machine(lanes, registers)
        for blocks in range(1, 40):
            for columns in range(1, 120):
                block_tile, width = conv_rules.register_tile(machine, blocks, columns)
                assert blocks % block_tile == 0 and columns % width == 0
                assert block_tile * width <= registers - 2


def test_small_kernels_stay_on_one_thread() -> None:
    sch = rules.default(Kernel(elementwise(1, 3, 7)))
    assert all(site.loop.kind is not t.ForKind.PARALLEL for site in sch.state.tree.loops.values())


def test_symbolic_extents_get_a_schedule_too() -> None:
    from workbench.arith.nodes import Var

    n = Var("n")
    x = te.placeholder((n, 8), name="X")
    func = te.create_prim_func([x, te.compute((n, 8), lambda i, j: x[i, j] + 1.0, name="Y")])
    sch = rules.default(Kernel(func))
    data, out = np.ones((5, 8), "float32"), np.zeros((5, 8), "float32")
    interpret(sch.func, data, out)
    assert (out == 2).all()
