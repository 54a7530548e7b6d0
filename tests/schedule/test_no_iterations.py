"""Every primitive on loops and blocks that never run: it works, with NumPy's numbers, or it is refused in its words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, product
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.schedule.registry import PRIMITIVES
from workbench.tir.interpret import interpret
from workbench.tir.verify import verify

Case = tuple[Any, list[tuple[int, ...]], Callable[..., Any]]


def elementwise(*shape: int) -> Case:
    a = te.placeholder(shape, name="A")
    m = te.compute(shape, lambda *i: a(*i) + 1.0, name="M")
    c = te.compute(shape, lambda *i: m(*i) * 2.0, name="C")
    return te.create_prim_func([a, c]), [shape], lambda x: (x + 1) * 2


def row_sums(rows: int, columns: int) -> Case:
    a, over = te.placeholder((rows, columns), name="A"), te.reduce_axis((0, columns), name="r")
    m = te.compute((rows,), lambda i: te.sum(a[i, over], axis=over), name="M")
    c = te.compute((rows,), lambda i: m[i] + 1.0, name="C")
    return te.create_prim_func([a, c]), [(rows, columns)], lambda x: x.sum(1) + 1


def product_of(n: int, m: int, k: int) -> Case:
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    over = te.reduce_axis((0, k), name="r")
    d = te.compute((n, m), lambda i, j: te.sum(a[i, over] * b[over, j], axis=over), name="M")
    c = te.compute((n, m), lambda i, j: d[i, j] + 1.0, name="C")
    return te.create_prim_func([a, b, c]), [(n, k), (k, m)], lambda x, y: x @ y + 1


def padded() -> Case:
    a = te.placeholder((0,), name="A")
    m = te.compute((4,), lambda i: te.if_then_else(te.all(i >= 2, i < 2), a[i - 2], 0.0), name="M")
    c = te.compute((4,), lambda i: m[i] + 1.0, name="C")
    return te.create_prim_func([a, c]), [(0,)], lambda x: np.ones(4)


PROGRAMS: dict[str, Case] = {
    "elements, last axis": elementwise(3, 0),
    "elements, first axis": elementwise(0, 4),
    "elements, only axis": elementwise(0),
    "a sum over nothing": row_sums(3, 0),
    "no sums": row_sums(0, 3),
    "a product over nothing": product_of(4, 4, 0),
    "an empty product": product_of(0, 4, 3),
    "padding around nothing": padded(),
}
LOOP, BLOCK, ROOT = "a loop", "a block", "the root"
SAME, TURNED = (lambda *i: i), (lambda *i: i[::-1])
TILED = lambda *i: (*i[:-1], i[-1] // 4, i[-1] % 4)  # noqa: E731
REGION = lambda *i: tuple(end for one in i for end in (one, one + 1))  # noqa: E731
ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {
    "add_unit_loop": [(LOOP,), (BLOCK,)],
    "annotate": [(LOOP, "x", 1), (BLOCK, "x", 1)],
    "annotate_buffer_access": [(BLOCK, 0, kind, REGION) for kind in ("read", "write")],
    "bind": [(LOOP, "threadIdx.x")],
    "blockize": [(LOOP,), (BLOCK,), (LOOP, False)],
    "cache_index": [(BLOCK, "global")],
    "cache_inplace": [(BLOCK, 0, "local")],
    "cache_read": [(BLOCK, 0, "local")],
    "cache_write": [(BLOCK, 0, "local")],
    "compute_at": [(BLOCK, LOOP), (BLOCK, LOOP, True)],
    "compute_inline": [(BLOCK,)],
    "decompose_padding": [(BLOCK, LOOP)],
    "decompose_reduction": [(BLOCK, LOOP)],
    "enter_postproc": [()],
    "fuse": [(LOOP,), (LOOP, LOOP)],
    "get_block": [("C",)],
    "get_child_blocks": [(LOOP,), (BLOCK,)],
    "get_consumers": [(BLOCK,)],
    "get_loops": [(BLOCK,)],
    "get_output_blocks": [(ROOT,)],
    "get_producers": [(BLOCK,)],
    "loop_partition": [(LOOP, [2, None]), (LOOP, [None, 2]), (LOOP, [1, 1]), (LOOP, [0, None])],
    "merge": [(LOOP, LOOP)],
    "pad_einsum": [(BLOCK, [4] * axes) for axes in (1, 2, 3)],
    "parallel": [(LOOP,)],
    "read_at": [(LOOP, BLOCK, 0, "local")],
    "reindex": [(BLOCK, (kind, 0)) for kind in ("read", "write")],
    "reindex_cache_read": [(BLOCK, 0, "local", SAME)],
    "reindex_cache_write": [(BLOCK, 0, "local", SAME)],
    "reorder": [(LOOP, LOOP)],
    "reorder_block_iter_var": [(BLOCK, [0]), (BLOCK, [1, 0]), (BLOCK, [0, 2, 1])],
    "reverse_compute_at": [(BLOCK, LOOP), (BLOCK, LOOP, True)],
    "reverse_compute_inline": [(BLOCK,)],
    "rfactor": [(LOOP, place) for place in (0, 1, -1)],
    "rolling_buffer": [(BLOCK, 0)],
    "sample_categorical": [([1, 2], [0.5, 0.5])],
    "sample_compute_location": [(BLOCK,)],
    "sample_partitioned_tile": [(LOOP, 2), (LOOP, 3, 1, 2)],
    "sample_perfect_tile": [(LOOP, 2), (LOOP, 3)],
    "set_axis_separator": [(BLOCK, (kind, 0), [1]) for kind in ("read", "write")],
    "set_scope": [(BLOCK, 0, "local")],
    "split": [(LOOP, [None, 4]), (LOOP, [2, None]), (LOOP, [None, 1]), (LOOP, [0, None]), (LOOP, [None, 0]),
              (LOOP, [2, 2]), (LOOP, [None, 4], True, True), (LOOP, [None, 4], False)],
    "storage_align": [(BLOCK, 0, axis, 32, 4) for axis in (0, 1)],
    "tensorize": [(LOOP, "dot_1x4"), (BLOCK, "dot_1x4")],
    "transform_block_layout": [(BLOCK, TURNED), (BLOCK, TILED), (BLOCK, lambda *i: (i[0] * 4 + i[-1],))],
    "transform_layout": [(BLOCK, (kind, 0), *rest) for kind in ("read", "write")
                         for rest in ((TURNED,), (TILED,), (TILED, 0.0))],
    "unannotate": [(LOOP, "x"), (BLOCK, "x")],
    "unroll": [(LOOP,)],
    "unsafe_hide_buffer_access": [(BLOCK, "read", [0])],
    "unsafe_set_dtype": [(BLOCK, 0, "float64")],
    "vectorize": [(LOOP,)],
    "write_at": [(LOOP, BLOCK, 0, "local")],
}  # fmt: skip
NOT_RUN = ("bind", "enter_postproc", "unsafe_hide_buffer_access", "unsafe_set_dtype")
"""What is for other machines, or asks for no check of its result."""


def applied(function: Any, primitive: str, arguments: tuple[Any, ...]) -> Iterator[Any]:
    """What the primitive makes of each choice of loops and blocks that it does not refuse."""
    for number in count():
        schedule = Schedule(function)
        blocks = schedule.get_child_blocks(schedule.get_block("root"))
        loops = [loop for block in blocks for loop in schedule.get_loops(block)]
        pools = {LOOP: loops, BLOCK: blocks, ROOT: [schedule.get_block("root")]}
        chosen = list(product(*(pools.get(one, [one]) if isinstance(one, str) else [one] for one in arguments)))
        if number >= len(chosen):
            return
        try:
            getattr(schedule, primitive)(*chosen[number])
        except WorkbenchError as error:
            assert not error.code.startswith("E-INTERNAL") and len(str(error).splitlines()) <= 8, error
            continue
        yield schedule.func


def require_numbers(function: Any, shapes: list[tuple[int, ...]], judge: Callable[..., Any]) -> None:
    """Run a function both ways; parameters with other layouts are given zeros and not judged."""
    verify(function)
    sizes = [tuple(extent.value for extent in parameter.shape) for parameter in function.params]
    inputs = [np.ones(shape, np.float32) for shape in shapes]
    given = [one if one.shape == size else np.zeros(size, np.float32) for one, size in zip(inputs, sizes, strict=False)]
    wanted = judge(*inputs)
    for run in (lambda *arrays: interpret(function, *arrays), wb.build(function)["main"]):
        found = np.full(sizes[-1], 7, np.float32)
        run(*given, found)
        if found.shape == wanted.shape:
            np.testing.assert_array_equal(found, wanted)


def test_every_primitive_is_here() -> None:
    own = {name for name in PRIMITIVES if PRIMITIVES[name].function.__module__.startswith("workbench.")}
    assert set(ARGUMENTS) == own


@pytest.mark.parametrize(
    "programs",
    [pytest.param(list(PROGRAMS)[::3], id="some"), pytest.param(list(PROGRAMS), id="all", marks=pytest.mark.nightly)],
)
@pytest.mark.parametrize("primitive", ARGUMENTS)
def test_it_works_or_is_refused(primitive: str, programs: list[str]) -> None:
    for function, shapes, judge in map(PROGRAMS.__getitem__, programs):
        for arguments in ARGUMENTS[primitive]:
            for made in applied(function, primitive, arguments):
                if primitive not in NOT_RUN:
                    require_numbers(made, shapes, judge)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "padding around nothing"])
def test_no_tile_of_nothing(name: str) -> None:
    """It divided by the tile's extent."""
    schedule = Schedule(PROGRAMS[name][0])
    loops = [loop for block in ("M", "C") for loop in schedule.get_loops(block)]
    (empty, *_) = [loop for loop in loops if schedule.get(loop).extent.value == 0]
    with pytest.raises(WorkbenchError, match="E-SCHEDULE-BLOCKIZE") as caught:
        schedule.blockize(empty)
    assert "never run" in caught.value.found


@pytest.mark.parametrize("kind", ["parallel", "vectorize"])
@pytest.mark.parametrize("case", [row_sums(3, 0), row_sums(3, 1), row_sums(0, 3)], ids=["none", "one", "no sums"])
def test_a_sum_in_which_nothing_meets_is_well_formed(kind: str, case: Case) -> None:
    """Legality knew, and the verifier refused what it let through."""
    function, shapes, judge = case
    schedule = Schedule(function)
    getattr(schedule, kind)(schedule.get_loops("M")[1])
    require_numbers(schedule.func, shapes, judge)


def test_a_sum_of_two_in_parallel_is_refused() -> None:
    schedule = Schedule(row_sums(3, 2)[0])
    with pytest.raises(WorkbenchError, match="E-SCHEDULE-DEPENDENCE"):
        schedule.parallel(schedule.get_loops("M")[1])
    schedule.parallel(schedule.get_loops("M")[1], unsafe=True)
    with pytest.raises(WorkbenchError, match="E-TIR-VERIFY"):
        verify(schedule.func)
