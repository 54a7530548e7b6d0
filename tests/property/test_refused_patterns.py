"""Steps that were refused once: accepted, and their numbers right, in the interpreter and in machine code."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.nightly import tonight
from tests.property.refused_in_place import IN_PLACE
from tests.property.refused_more import MORE, MORE_SYMBOLIC
from tests.property.refused_patterns import PATTERNS as ELSEWHERE
from tests.property.refused_symbolic import SIZES
from tests.property.refused_symbolic import SYMBOLIC as BY_SIZES
from tests.schedule.executing import inputs
from tests.schedule.harness import check_numbers, check_replay
from tests.schedule.primitives.test_rfactor import first_of_ties
from workbench import build
from workbench.arith.build import floordiv
from workbench.arith.evaluate import evaluate
from workbench.arith.nodes import Var
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule, ScheduleError
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse
from workbench.tir.transforms.lower_blocks import lower_blocks

EVERY_RUN = 5
PATTERNS = {**ELSEWHERE, **IN_PLACE, **MORE}
SYMBOLIC = {**BY_SIZES, **MORE_SYMBOLIC}


def check(pattern: str, seed: int) -> None:
    text, steps = PATTERNS[pattern](random.Random(seed))
    func = parse(text)
    sch = Schedule(func)
    steps(sch)
    check_numbers(func, sch.func)
    check_replay(func, sch)
    if not any(isinstance(loop, t.For) and loop.thread for loop in _loops(sch)):
        expected, found = inputs(func), inputs(func)
        interpret(func, *expected)
        build(sch.func, target="llvm")(*found)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(other, one)


def check_symbolic(pattern: str, seed: int) -> None:
    """The same, of a function of a size n, for several n."""
    text, steps = SYMBOLIC[pattern](random.Random(seed))
    func = parse(text)
    sch = Schedule(func)
    steps(sch)
    check_replay(func, sch)
    compiled, lowered = build(sch.func, target="llvm"), lower_blocks(sch.func)
    for size in SIZES:
        expected = inputs_at(func, size)
        interpret(func, *expected)
        for run in (
            lambda *found: interpret(sch.func, *found, check_regions=True),
            lambda *found: interpret(lowered, *found, check_races=True),
            compiled,
        ):
            found = inputs_at(func, size)
            run(*found)
            for one, other in zip(expected, found, strict=True):
                np.testing.assert_array_equal(other, one)


def inputs_at(func: t.PrimFunc, size: int) -> list[np.ndarray]:
    """Small whole numbers for every parameter, where all symbolic extents are made of one size."""
    numbers = np.random.default_rng(size)
    sizes = {extent: size for item in func.params for extent in item.shape if isinstance(extent, Var)}
    shapes = [tuple(int(evaluate(extent, sizes)) for extent in item.shape) for item in func.params]
    return [numbers.integers(-4, 5, shape).astype("int32") for shape in shapes]


def _loops(sch: Schedule) -> list[t.For]:
    return [site.loop for site in sch.state.tree.loops.values()]


@pytest.mark.parametrize("seed", range(EVERY_RUN))
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_step_that_was_refused_keeps_the_numbers(pattern: str, seed: int) -> None:
    check(pattern, seed)


@pytest.mark.parametrize("seed", range(EVERY_RUN))
@pytest.mark.parametrize("pattern", SYMBOLIC)
def test_a_step_on_symbolic_extents_keeps_the_numbers(pattern: str, seed: int) -> None:
    check_symbolic(pattern, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", tonight(range(EVERY_RUN, 60)))
@pytest.mark.parametrize("pattern", SYMBOLIC)
def test_many_steps_on_symbolic_extents_keep_the_numbers(pattern: str, seed: int) -> None:
    check_symbolic(pattern, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", tonight(range(EVERY_RUN, 100)))
@pytest.mark.parametrize("pattern", PATTERNS)
def test_many_steps_that_were_refused_keep_the_numbers(pattern: str, seed: int) -> None:
    check(pattern, seed)


TABLE: dict[str, tuple[str, ...]] = {
    "copies, decompose_reduction, compute_at and reverse_compute_at inside blocks": (
        "blocks_inside_a_block", "a_sum_inside_a_block",
    ),
    "reverse_compute_inline of B[v // 8, v % 8], and over a part": ("inline_at_digits", "inline_of_a_part"),
    "reindex of a write that is declared as read": ("a_declared_result_reindexed",),
    "copies in a shared loop": ("copies_in_a_shared_loop", "moved_copies_in_a_shared_loop", "copies_of_rows"),
    "bind of a reduction to threads": ("a_sum_bound_to_threads",),
    "reverse_compute_at of Y[v] = B[v // 16, v % 16]": ("a_consumer_by_digits_moved",),
    "compute_at of an output, guarded tiles of 32 over 48": ("an_output_moved",),
    "pad_einsum and layouts with sizes": ("padded_products", "layouts_in_blocks", "rows_by_a_size_of_the_program"),
    "rolling_buffer of windows in two directions": ("a_window_rolled_along_an_outer_loop",),
    "compute_inline into predicates, of what nobody reads": (
        "inline_into_a_predicate", "inline_of_what_nobody_reads",
    ),
    "kinds replaced, reorder of unrolled loops, fuse of one": ("a_loop_of_another_kind",),
    "read_at and write_at in blocks of threads, copies for a block without iterators": (
        "copies_in_thread_blocks", "a_block_without_iterators_copies",
    ),
    "indices by calls, a padding in a shared loop, rfactor over a unit loop": (
        "indices_by_calls", "a_padding_in_a_shared_loop", "a_sum_over_a_unit_loop",
    ),
    "parallel over parts of (n + 1) // 2": ("halves_made_parallel",),
}  # fmt: skip
"""What was refused, as people met it, and the patterns that draw such programs."""


def test_each_row_of_the_table_has_its_patterns() -> None:
    assert len(TABLE) == 14
    for patterns in TABLE.values():
        for pattern in patterns:
            draw = {**PATTERNS, **SYMBOLIC}[pattern]
            assert len({draw(random.Random(seed))[0] for seed in range(EVERY_RUN)}) > 1


def test_a_layout_by_a_size_that_may_be_0_is_refused() -> None:
    """Rows of n of a buffer of 8: right for n = 0, where there is no ``i // n``."""
    func = parse(BY_A_SIZE)
    with pytest.raises(ScheduleError) as refusal:
        Schedule(func).transform_layout("B", "B", "lambda i: (i // n, i % n)")
    assert "no positive number" in refusal.value.message
    a, c = np.arange(8, dtype="int32"), np.zeros(8, "int32")
    build(func, target="llvm")(a, c, np.zeros(0, "int32"))
    np.testing.assert_array_equal(c, a * 2 + 1)
    n = next(iter(func.params[2].shape))
    with pytest.raises((WorkbenchError, ZeroDivisionError)):
        evaluate(floordiv(3, n), {n: 0})


def test_an_argmax_in_parts_takes_another_one_of_equal_values() -> None:
    """Rows 0, 3, 3, 0, ...: the first of the greatest is at 1; of those at even and at odd places, the one at 2."""
    def in_parts(unsafe: bool) -> t.PrimFunc:
        sch = Schedule(first_of_ties())
        sch.rfactor(sch.split(sch.get_loops("M")[1], factors=[None, 2])[1], 0, unsafe=unsafe)
        return sch.func

    with pytest.raises(ScheduleError) as refusal:
        in_parts(unsafe=False)
    assert refusal.value.code == "E-SCHEDULE-COMBINER"
    found: list[set[int]] = []
    for func in (first_of_ties(), in_parts(unsafe=True)):
        rows, at, most = np.float32([[0, 3, 3, 0, 0, 0]] * 3), np.zeros(3, "int32"), np.zeros(3, "float32")
        build(func, target="llvm")(rows, at, most)
        found.append(set(at))
    assert found == [{1}, {2}]


BY_A_SIZE = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"), z: T.handle):
    n = T.int64()
    Z = T.match_buffer(z, (n,), "int32")
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + 1
"""
