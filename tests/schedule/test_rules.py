"""Default schedules: right numbers, the shape they promise, replayable, computed without search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.conftest import Golden
from tests.nightly import some
from tests.schedule.executing import inputs
from tests.schedule.implemented import NARROW, WIDE, Made, implemented, loops_alone, relu, scheduled
from workbench import te
from workbench.arith import build
from workbench.codegen.llvm.facts import needs_one_pass
from workbench.core.node import post_order
from workbench.schedule import Schedule, Trace
from workbench.schedule.errors import ScheduleError
from workbench.schedule.rules import generic
from workbench.schedule.rules.generic import blockwise
from workbench.schedule.rules.shapes import Machine
from workbench.target import Target
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.transforms.compact_buffers import compact
from workbench.tir.transforms.lower_blocks import lower_blocks
from workbench.tir.transforms.pipeline import lower
from workbench.topi.nn_conv import Conv2D
from workbench.topi.nn_dense import BatchMatMul, DensePack, MatMul
from workbench.topi.nn_norm import Softmax
from workbench.topi.nn_pool import MaxPool2D
from workbench.topi.transform_join import Concatenate


def convolution(ci: int, co: int, size: int, kernel: int, groups: int = 1, stride: int = 1) -> Made:
    pad = kernel // 2
    x = te.placeholder((1, ci, size, size), name="X")
    w = te.placeholder((-(-co // 16), ci // groups, kernel, kernel, 16), name="W")
    bias = te.placeholder((co, 1, 1), name="bias")
    op = Conv2D(
        kernel_layout="OIHW16o", channels=co, padding=(pad,) * 4, kernel_size=(kernel, kernel), groups=groups,
        strides=(stride, stride),
    )  # fmt: skip

    def biased(conv: te.Tensor) -> Any:
        return [bias], te.compute(
            conv.shape, lambda n, o, y, x_: build.maximum(conv[n, o, y, x_] + bias[o, 0, 0], 0.0), name="relu"
        )

    return implemented(op, [x, w], biased)


def channels_last(ci: int, co: int, size: int, kernel: int, stride: int = 1, groups: int = 1) -> Made:
    x = te.placeholder((1, size, size, ci), name="X")
    w = te.placeholder((-(-co // 16), ci // groups, kernel, kernel, 16), name="W")
    op = Conv2D(
        groups=groups, data_layout="NHWC", kernel_layout="OIHW16o", channels=co, padding=(kernel // 2,) * 4,
        kernel_size=(kernel, kernel), strides=(stride, stride),
    )  # fmt: skip
    return implemented(op, [x, w], relu)


def in_blocks(ci: int, co: int, size: int, kernel: int, stride: int = 1, groups: int = 1) -> Made:
    """Data, weight and result in blocks of sixteen channels."""
    x = te.placeholder((1, ci // 16, size, size, 16), name="X")
    w = te.placeholder((-(-co // 16), ci // groups, kernel, kernel, 16), name="W")
    op = Conv2D(
        groups=groups, data_layout="NCHW16c", kernel_layout="OIHW16o", channels=co, padding=(kernel // 2,) * 4,
        kernel_size=(kernel, kernel), strides=(stride, stride),
    )  # fmt: skip
    return implemented(op, [x, w], relu)


def by_columns(
    ci: int, co: int, size: tuple[int, int], kernel: tuple[int, int], block: int = 1, **attributes: Any
) -> Made:
    """Vectors along the rows of pictures; the weight as it is written, or in blocks."""
    groups = attributes.get("groups", 1)
    x = te.placeholder((2, ci, *size), name="X")
    shape = (-(-co // block), ci // groups, *kernel, block) if block > 1 else (co, ci // groups, *kernel)
    layout = f"OIHW{block}o" if block > 1 else "OIHW"
    pad = tuple(taps // 2 for taps in kernel) * 2
    op = Conv2D(kernel_layout=layout, channels=co, padding=pad, kernel_size=kernel, **attributes)
    return implemented(op, [x, te.placeholder(shape, name="W")], relu, "conv2d.columns")


def plain_convolution() -> Made:
    x, w = te.placeholder((1, 3, 7, 7), name="X"), te.placeholder((5, 3, 3, 3), name="W")
    return implemented(Conv2D(padding=(1, 1, 1, 1)), [x, w])


def depthwise(channels: int, size: int, stride: int = 1, kernel: int = 3) -> Made:
    pad = kernel // 2
    x, w = te.placeholder((1, channels, size, size), name="X"), te.placeholder((channels, 1, kernel, kernel), name="W")
    op = Conv2D(
        channels=channels, padding=(pad,) * 4, kernel_size=(kernel,) * 2, groups=channels, strides=(stride,) * 2
    )
    return implemented(op, [x, w], relu)


def depthwise_channels_last(
    channels: int, size: int, stride: int = 1, kernel: int = 3, of_each: int = 1, dilation: int = 1
) -> Made:
    outputs = channels * of_each
    x, w = te.placeholder((1, size, size, channels), name="X"), te.placeholder((kernel, kernel, outputs, 1), name="W")
    op = Conv2D(
        channels=outputs, padding=(kernel // 2 * dilation,) * 4, kernel_size=(kernel,) * 2, groups=channels,
        strides=(stride,) * 2, dilation=(dilation,) * 2, data_layout="NHWC", kernel_layout="HWOI",
    )  # fmt: skip
    return implemented(op, [x, w], relu)


def dense(rows: int, inner: int, units: int) -> Made:
    a, w = te.placeholder((rows, inner), name="A"), te.placeholder((-(-units // 16), inner, 16), name="W")
    return implemented(DensePack(weight_layout="NC16n", units=units), [a, w])


def product(rows: int, inner: int, columns: int) -> Made:
    a, b = te.placeholder((rows, inner), name="A"), te.placeholder((inner, columns), name="B")
    return implemented(MatMul(), [a, b])


def batched() -> Made:
    a, b = te.placeholder((2, 6, 5), name="A"), te.placeholder((2, 5, 32), name="B")
    return implemented(BatchMatMul(transpose_b=False), [a, b])


def rows() -> Made:
    return implemented(Softmax(axis=-1), [te.placeholder((3, 21), name="X")])


def columns() -> Made:
    return implemented(Softmax(axis=0), [te.placeholder((6, 5), name="X")])


def elementwise(*shape: int) -> Made:
    x, bias = te.placeholder(shape, name="X"), te.placeholder((shape[1],), name="bias")
    y = te.compute(shape, lambda *i: x(*i) + bias[i[1]], name="biased")
    z = te.compute(shape, lambda *i: build.maximum(y(*i), 0.0), name="relu")
    return loops_alone([x, bias, z])


def mean() -> Made:
    x = te.placeholder((2, 6, 4, 5), name="X")
    ry, rx = te.reduce_axis((0, 4), name="ry"), te.reduce_axis((0, 5), name="rx")
    total = te.compute((2, 6), lambda n, c: te.sum(x[n, c, ry, rx], axis=[ry, rx]), name="total")
    return loops_alone([x, te.compute((2, 6), lambda n, c: total[n, c] * 0.25, name="mean")])


def split_heads() -> Made:
    """(6, 64) as (2, 4 heads, 3, 16): rows of the result are parts of rows of the operand."""
    x, bias = te.placeholder((6, 64), name="X"), te.placeholder((64,), name="bias")

    def at(n: Any, head: Any, word: Any, lane: Any) -> Any:
        flat = (n * 3 + word) * 64 + head * 16 + lane
        return x[flat // 64, flat % 64] + bias[flat % 64]

    return loops_alone([x, bias, te.compute((2, 4, 3, 16), at, name="heads")])


def joined_heads() -> Made:
    x = te.placeholder((2, 4, 3, 16), name="X")
    made = te.compute((6, 64), lambda i, j: x[i // 3, j // 16, i % 3, j % 16], name="joined")
    return loops_alone([x, made])


def joined_channels(*channels: int) -> Made:
    """Pictures joined along their channels, which lie last."""
    given = [te.placeholder((1, 5, 6, count), name=f"X{number}") for number, count in enumerate(channels)]
    return loops_alone([*given, Concatenate(axis=3).compute(given)])


def padded_windows(channels: int) -> Made:
    op = MaxPool2D(pool_size=(3, 3), strides=(2, 2), padding=(1, 1, 1, 1), layout="NHWC")
    return implemented(op, [te.placeholder((1, 13, 14, channels), name="X")])


def crossing_rows() -> Made:
    """Vectors of 16 would cross the ends of what is taken of each row."""
    x = te.placeholder((4, 32), name="X")
    return loops_alone([x, te.compute((2, 48), lambda i, j: x[i * 2 + j // 24, j % 24], name="joined")])


def transposed(rows: int = 10) -> Made:
    x = te.placeholder((rows, 12), name="X")
    return loops_alone([x, te.compute((12, rows), lambda i, j: x[j, i] + 1.0, name="turned")])


def into_blocks(columns: int = 64, block: int = 16) -> Made:
    """A matrix cut into blocks of columns, each with all of its rows."""
    x = te.placeholder((10, columns), name="X")
    shape = (columns // block, 10, block)
    return loops_alone([x, te.compute(shape, lambda o, k, i: x[k, o * block + i] * 2.0, name="blocks")])


def taken() -> Made:
    """Rows that a table tells."""
    x, table = te.placeholder((9, 32), name="X"), te.placeholder((5,), "int64", name="table")
    row = lambda i: build.maximum(build.minimum(table[i], 8), 0)  # noqa: E731
    return loops_alone([x, table, te.compute((5, 32), lambda i, j: x[row(i), j] * 2.0, name="taken")])


def sums(*shape: int) -> Made:
    x = te.placeholder(shape, name="X")
    k = te.reduce_axis((0, shape[-1]), name="k")
    return loops_alone([x, te.compute(shape[:-1], lambda *i: te.sum(x[(*i, k)], axis=[k]), name="total")])


def row_means() -> Made:
    x = te.placeholder((3, 10, 37), name="X")
    k = te.reduce_axis((0, 37), name="k")
    total = te.compute((3, 10), lambda i, j: te.sum(x[i, j, k], axis=[k]), name="total")
    return loops_alone([x, te.compute((3, 10), lambda i, j: total[i, j] * 0.25, name="mean")])


KERNELS: dict[str, Callable[[], Made]] = {
    "conv": lambda: convolution(3, 40, 9, 3), "conv 1x1": lambda: convolution(4, 20, 13, 1),
    "conv stride": lambda: convolution(3, 16, 9, 3, 1, 2), "conv depthwise": lambda: convolution(24, 24, 9, 3, 24),
    "conv by columns": lambda: by_columns(3, 6, (9, 37), (3, 5)),
    "conv by columns, in blocks": lambda: by_columns(2, 24, (5, 70), (3, 3), 16),
    "conv by columns, half a block": lambda: by_columns(3, 8, (5, 21), (1, 7), 16),
    "conv by columns, stride": lambda: by_columns(3, 4, (11, 39), (3, 3), strides=(2, 2)),
    "conv by columns, stride of three": lambda: by_columns(2, 5, (7, 50), (5, 7), strides=(1, 3)),
    "conv by columns, fewer taps than stride": lambda: by_columns(4, 8, (9, 40), (1, 1), 8, strides=(2, 2)),
    "conv by columns, dilated": lambda: by_columns(2, 4, (12, 30), (3, 3), dilation=(2, 3)),
    "conv by columns, groups": lambda: by_columns(6, 12, (6, 18), (3, 3), groups=3),
    "conv by columns, groups in blocks": lambda: by_columns(8, 20, (6, 18), (1, 1), 8, groups=2),
    "conv plain": plain_convolution, "conv channels last": lambda: channels_last(3, 40, 9, 3),
    "conv channels last, stride": lambda: channels_last(4, 32, 11, 1, 2),
    "conv channels last, depthwise": lambda: channels_last(32, 32, 9, 3, 2, 32),
    "conv channels last, depthwise, filled up": lambda: channels_last(24, 24, 7, 3, 1, 24),
    "conv in blocks": lambda: in_blocks(16, 48, 9, 3), "conv in blocks, one tap": lambda: in_blocks(32, 16, 7, 1),
    "conv in blocks, stride": lambda: in_blocks(16, 32, 11, 3, 2),
    "conv in blocks, filled up": lambda: in_blocks(16, 24, 5, 3),
    "conv in blocks, depthwise": lambda: in_blocks(32, 32, 9, 3, 1, 32),
    "depthwise": lambda: depthwise(5, 14),
    "depthwise odd": lambda: depthwise(3, 11, 2, 5),
    "depthwise channels last": lambda: depthwise_channels_last(32, 14),
    "depthwise channels last, odd": lambda: depthwise_channels_last(10, 11, 2, 5),
    "depthwise channels last, two of each": lambda: depthwise_channels_last(8, 8, 1, 3, 2),
    "depthwise channels last, dilated": lambda: depthwise_channels_last(16, 9, 1, 3, 1, 2),
    "dense": lambda: dense(3, 10, 30),
    "dense one row": lambda: dense(1, 12, 64),
    "matmul": lambda: product(8, 5, 32), "matmul odd": lambda: product(7, 5, 19),
    "matmul tiny": lambda: product(1, 5, 7),
    "batch_matmul": batched, "softmax": rows, "softmax columns": columns,
    "elementwise": lambda: elementwise(2, 5, 6, 6),
    "elementwise odd": lambda: elementwise(1, 3, 7), "mean": mean,
    "split heads": split_heads, "joined heads": joined_heads, "crossing rows": crossing_rows,
    "transposed": transposed, "into blocks": into_blocks, "into odd blocks": lambda: into_blocks(60, 12),
    "channels": lambda: joined_channels(48, 16, 32), "channels, by eight": lambda: joined_channels(24, 16, 24),
    "channels, odd": lambda: joined_channels(20, 13, 31),
    "windows": lambda: padded_windows(32), "windows, odd": lambda: padded_windows(20),
    "taken": taken, "sums": lambda: sums(3, 10, 37), "sums prime": lambda: sums(7, 40),
    "row means": row_means, "sums one": lambda: sums(1, 1, 33), "sums many": lambda: sums(4, 96, 48),
}  # fmt: skip


def check_numbers_stay(made: Made, target: Target) -> None:
    """The default schedule gives the same numbers, touches what its blocks declare, and is made again by its trace."""
    func, sch = made(target).func, scheduled(made, target)
    expected, found = inputs(func), inputs(func)
    interpret(func, *expected)
    interpret(sch.func, *found, check_regions=True)
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    again = Schedule(func)
    Trace.from_json(sch.trace.as_json()).apply_to(again)
    assert again.fingerprint() == sch.fingerprint()


@pytest.mark.parametrize("target", (WIDE, NARROW), ids=("wide", "narrow"))
@pytest.mark.parametrize("name", some(KERNELS, 3))
def test_default_schedules_keep_the_numbers(name: str, target: Target) -> None:
    check_numbers_stay(KERNELS[name](), target)


@pytest.mark.parametrize(
    ("name", "shape"), [("depthwise", (1, 1, 16, 16)), ("depthwise channels last", (1, 16, 16, 16))]
)
def test_what_is_padded_is_copied_a_part_at_a_time(name: str, shape: tuple[int, ...]) -> None:
    """Not the whole of the data before the first result: it would go to memory and back."""
    func = compact(lower_blocks(scheduled(KERNELS[name](), WIDE).func))
    held = [node.buffer for node in post_order(func.body) if isinstance(node, t.AllocBuffer)]
    (padded,) = (buffer for buffer in held if buffer.name == "data_pad")
    assert tuple(getattr(size, "value", None) for size in padded.shape) == shape


@pytest.mark.parametrize("name", ("conv", "conv depthwise", "dense", "matmul", "softmax", "elementwise"))
def test_steps_of_default_schedules(name: str, golden: Golden) -> None:
    sch = scheduled(KERNELS[name]())
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
     ("crossing rows", "joined", []), ("transposed", "turned", []), ("channels", "concatenate", [16]),
     ("channels, by eight", "concatenate", [8]), ("channels, odd", "concatenate", []), ("windows", "pool_pad", [16])),
)  # fmt: skip
def test_rows_in_step_with_memory_become_vectors(name: str, block: str, lanes: list[int]) -> None:
    assert vector_loops(scheduled(KERNELS[name]()), block) == lanes


def test_short_rows_that_are_apart_in_memory_are_written_out() -> None:
    loops = scheduled(transposed(3)).state.tree.blocks["turned"].loops
    assert [loop.kind for loop in loops] == [t.ForKind.SERIAL, t.ForKind.UNROLLED]


def test_rows_that_are_apart_in_memory_go_in_tiles_of_both_axes() -> None:
    loops = scheduled(transposed(64)).state.tree.blocks["turned"].loops
    assert [loop.kind for loop in loops] == [*[t.ForKind.SERIAL] * 3, t.ForKind.UNROLLED]
    assert [getattr(loop.extent, "value", None) for loop in loops] == [1, 4, 12, 16]


@pytest.mark.parametrize(("columns", "together"), ((64, 4), (16 * 24, 8), (16 * 7, 7)))
def test_a_move_into_blocks_reads_several_runs_of_a_row(columns: int, together: int) -> None:
    loops = scheduled(into_blocks(columns)).state.tree.blocks["blocks"].loops
    assert [getattr(loop.extent, "value", None) for loop in loops] == [columns // 16 // together, 10, together, 16]
    assert loops[-1].kind is t.ForKind.VECTORIZED


@pytest.mark.parametrize(("shape", "together"), (((3, 10, 37), 5), ((7, 40), 7), ((4, 96, 50), 8), ((1, 1, 33), 1)))
def test_sums_along_memory_are_added_up_side_by_side(shape: tuple[int, ...], together: int) -> None:
    loops = scheduled(sums(*shape)).state.tree.blocks["total"].loops
    unrolled = [loop.extent.value for loop in loops if loop.kind is t.ForKind.UNROLLED]  # type: ignore[attr-defined]
    assert unrolled == ([together] if together > 1 else [])


@pytest.mark.parametrize(("shape", "widths"), (((3, 10, 48), [4, 16]), ((7, 128), [4, 16, 64]), ((5, 100), [4, 16])))
def test_long_sums_along_memory_go_in_the_lanes_of_vectors(shape: tuple[int, ...], widths: list[int]) -> None:
    schedule = scheduled(sums(*shape))
    partial = [name for name in schedule.state.tree.blocks if name.startswith("total_rf") and "init" not in name]
    assert sorted(width for name in partial for width in vector_loops(schedule, name)) == widths
    given = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    found = np.zeros(shape[:-1], np.float32)
    interpret(schedule.func, given, found, check_regions=True, check_races=True)
    np.testing.assert_allclose(found, given.sum(axis=-1, dtype=np.float64), rtol=1e-5, atol=1e-5)
    assert {buffer.scope for buffer in buffers_of(schedule) if buffer.name.startswith("total_rf")} == {"local"}


def buffers_of(schedule: Schedule) -> list[t.Buffer]:
    return [node for node in post_order(schedule.func) if isinstance(node, t.Buffer)]


ONE_PASS = ("split heads", "joined heads", "transposed", "taken", "row means", "channels", "windows")


@pytest.mark.parametrize("name", ONE_PASS)
def test_their_code_needs_one_pass(name: str) -> None:
    lowered = lower(scheduled(KERNELS[name]()).func)
    assert needs_one_pass(lowered.body)


@pytest.mark.parametrize(
    ("ci", "co", "size", "kernel"),
    ((64, 64, 56, 3), (512, 512, 7, 3), (3, 64, 112, 7), (96, 24, 56, 5)),
)
def test_convolutions_fill_the_registers(ci: int, co: int, size: int, kernel: int) -> None:
    sch = scheduled(convolution(ci, co, size, kernel))
    assert vector_loops(sch, "conv2d") == [16]
    accumulators = 1
    for loop in sch.state.tree.blocks["conv2d_init"].loops:
        if loop.kind is t.ForKind.UNROLLED:
            accumulators *= loop.extent.value  # type: ignore[attr-defined]
    assert 12 <= accumulators <= 28
    local = next(node for node in post_order(sch.func) if isinstance(node, t.Buffer) and node.name == "conv2d")
    assert local.scope == "local"
    assert sch.state.tree.blocks["conv2d"].loops[0].kind is t.ForKind.PARALLEL


@pytest.mark.parametrize("layout", ("NCHW", "NHWC", "NCHW16c"))
def test_vectors_are_stored_along_memory(layout: str) -> None:
    made = {"NCHW": convolution, "NHWC": channels_last, "NCHW16c": in_blocks}[layout]
    sch = scheduled(made(16, 32, 8, 3))
    vector = next(loop for loop in sch.state.tree.blocks["relu"].loops if loop.kind is t.ForKind.VECTORIZED)
    assert vector.extent.value == (8 if layout == "NCHW" else 16)  # type: ignore[attr-defined]


def test_small_kernels_stay_on_one_thread() -> None:
    sch = scheduled(elementwise(1, 3, 7))
    assert all(site.loop.kind is not t.ForKind.PARALLEL for site in sch.state.tree.loops.values())


def test_symbolic_extents_get_a_schedule_too() -> None:
    from workbench.arith.nodes import Var

    n = Var("n")
    x = te.placeholder((n, 8), name="X")
    sch = scheduled(loops_alone([x, te.compute((n, 8), lambda i, j: x[i, j] + 1.0, name="Y")]))
    data, out = np.ones((5, 8), "float32"), np.zeros((5, 8), "float32")
    interpret(sch.func, data, out)
    assert (out == 2).all()


def sums_of_columns() -> Schedule:
    x = te.placeholder((64, 48), name="X")
    k = te.reduce_axis((0, 64), name="k")
    return Schedule(te.create_prim_func([x, te.compute((48,), lambda j: te.sum(x[k, j], axis=k), name="total")]))


def test_sums_of_columns_go_in_vectors() -> None:
    """The loop over columns is cut before it changes places with that over rows, and made a vector afterwards."""
    schedule = sums_of_columns()
    blockwise(schedule, Machine(16, 32))
    kinds = [loop.kind for loop in post_order(schedule.func) if isinstance(loop, t.For)]
    assert t.ForKind.VECTORIZED in kinds, schedule.code()
    values, found = np.random.default_rng(0).random((64, 48), np.float32), np.zeros(48, np.float32)
    interpret(schedule.func, values, found, check_regions=True)
    np.testing.assert_allclose(found, values.sum(0, dtype=np.float64), rtol=1e-5)


@pytest.mark.parametrize("name", KERNELS)
def test_no_rule_of_a_block_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that is refused leaves its block unscheduled, and says nothing."""
    refused: list[str] = []

    def told(rule: Callable[..., None]) -> Callable[..., None]:
        def run(schedule: Schedule, block: str, machine: Machine) -> None:
            try:
                rule(schedule, block, machine)
            except ScheduleError as error:
                refused.append(f"{rule.__name__} of {block}: {error}")
                raise

        return run

    for rule in ("reduction", "elementwise"):
        monkeypatch.setattr(generic, rule, told(getattr(generic, rule)))
    for target in (NARROW, WIDE):
        scheduled(KERNELS[name](), target)
    blockwise(sums_of_columns(), Machine(16, 32))
    assert refused == []
