"""rfactor: golden before and after, each refusal; reductions of several values; combiners and their flaws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conftest import Golden
from tests.property.sum_programs import reversed_sum
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench import te
from workbench.arith import build
from workbench.arith.nodes import Var
from workbench.schedule import Schedule
from workbench.schedule.reductions import reduction_of, reduction_operator
from workbench.tir import nodes as t


def test_inner(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        block = sch.get_block("C")
        *_, k = sch.get_loops(block)
        _, inner = sch.split(k, factors=[None, 2])
        partial = sch.rfactor(inner, 0)
        sch.reorder(sch.get_loops(partial)[3], sch.get_loops(partial)[2])

    check_steps(golden, p.plain_matmul, steps)


def test_placed_in_its_consumer(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        block = sch.get_block("C")
        outer, _ = sch.split(sch.get_loops(block)[2], factors=[2, None])
        partial = sch.rfactor(outer, 2)
        sch.compute_at(partial, sch.get_loops(block)[2])
        sch.decompose_reduction(partial, sch.get_loops(partial)[3])

    check_steps(golden, p.plain_matmul, steps)


def test_one_of_two_axes(golden: Golden) -> None:
    check_steps(golden, p.pooling, lambda sch: sch.rfactor(sch.get_loops("pool")[4], -1))


def test_fused_axes(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        *_, ry, rx = sch.get_loops("pool")
        _, inner = sch.split(sch.fuse(ry, rx), factors=[None, 4])
        sch.rfactor(inner, 0)

    check_steps(golden, p.pooling, steps)


def test_two_values(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        _, k = sch.get_loops("M")
        _, inner = sch.split(k, factors=[None, 3])
        sch.rfactor(inner, 1)

    check_steps(golden, p.argmax, steps)


def test_more_partial_results_than_iterations(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        *_, k = sch.get_loops("C")
        outer, _ = sch.split(k, factors=[4, 3])
        sch.rfactor(outer, 0)

    check_steps(golden, p.plain_matmul, steps)


def test_keeps_the_order_of_a_combiner_that_does_not_commute(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        _, k = sch.get_loops("M")
        outer, _ = sch.split(k, factors=[2, None])
        sch.rfactor(outer, 0)

    check_steps(golden, first_of_ties, steps)


def test_a_sum_of_the_first_values_only(golden: Golden) -> None:
    check_steps(golden, half_reduced, lambda sch: sch.rfactor(sch.get_loops("C")[2], 0))


def test_a_sum_that_is_done_again(golden: Golden) -> None:
    check_steps(golden, done_again, lambda sch: sch.rfactor(sch.get_loops("C")[3], 0))


def test_a_combiner_that_needs_its_order_where_each_part_is_one_value(golden: Golden) -> None:
    check_steps(golden, lambda: doubling(6), lambda sch: sch.rfactor(sch.get_loops("M")[1], 0))


def test_parts_without_a_value_would_double_once_more() -> None:
    """Why a combiner that a start on its right changes is refused under a condition: 1, 2 -> 2 * (0 * 2 + 1) + 2."""
    held = 0
    for part in (1, 2, 0):  # the last part holds nothing but the start
        held = held * 2 + part
    assert held == 8 and 2 * (0 * 2 + 1) + 2 == 4


def doubling(m: int) -> t.PrimFunc:
    return reducing(lambda x, y: x * 2 + y, lambda dtype: te.const(0, dtype), m=m)


def done_again() -> t.PrimFunc:
    """C = A @ B, twice."""
    from workbench.core.node import rewrite

    def post(node: Any) -> Any:
        if isinstance(node, t.For) and node.var.name == "i":
            return t.For(Var("again"), build.const(0), build.const(2), t.ForKind.SERIAL, node)
        return None

    return rewrite(p.plain_matmul(), post)


def reducing(combine: Any, identity: Any, n: int = 3, m: int = 6) -> t.PrimFunc:
    """M[i] = the reduction of X[i, k] by a combiner of one's own."""
    x, k = te.placeholder((n, m), name="X"), te.reduce_axis((0, m), name="k")
    reducer = te.comm_reducer(combine, identity, "own")
    return te.create_prim_func([x, te.compute((n,), lambda i: reducer(x[i, k], axis=k), name="M")])


def test_parts_of_a_row_take_another_one_of_equal_values() -> None:
    """Why rfactor of an argmax that takes the left one is refused: parts are combined in the order of the new loop."""
    row = np.array([0, 3, 3, 0], "float32")

    def left(one: int, other: int) -> int:
        return one if row[one] >= row[other] else other

    serial = left(left(left(0, 1), 2), 3)
    parts = left(left(0, 2), left(1, 3))  # the inner loop of a split by 2 is the new one
    assert (serial, parts) == (1, 2)


def first_of_ties() -> t.PrimFunc:
    """argmax that takes the left one of equal values."""
    x, k = te.placeholder((3, 6), name="X"), te.reduce_axis((0, 6), name="k")

    def combine(one: Any, other: Any) -> Any:
        left = one[1] >= other[1]
        return build.select(left, one[0], other[0]), build.select(left, one[1], other[1])

    reducer = te.comm_reducer(combine, lambda i, v: (te.const(-1, i), te.min_value(v)), "first")
    made = te.compute((3,), lambda i: reducer((build.cast("int32", k.var), x[i, k]), axis=k), name="M")
    return te.create_prim_func([x, *made])


def block_of(func: t.PrimFunc, name: str = "M") -> t.Block:
    return Schedule(func).state.find_block(name).block


@pytest.mark.parametrize(
    ("make", "operator"),
    [(te.sum, "sum"), (te.prod, "product"), (te.max, "maximum"), (te.min, "minimum")],
)
def test_known_operators_are_recognised(make: Any, operator: str) -> None:
    x, k = te.placeholder((3, 6), name="X"), te.reduce_axis((0, 6), name="k")
    func = te.create_prim_func([x, te.compute((3,), lambda i: make(x[i, k], axis=k), name="M")])
    assert reduction_operator(block_of(func)) == operator


def test_any_and_all_are_recognised() -> None:
    for make, operator in ((te.any, "any"), (te.all, "all")):
        x, k = te.placeholder((3, 6), "bool", name="X"), te.reduce_axis((0, 6), name="k")
        func = te.create_prim_func([x, te.compute((3,), lambda i, f=make, x=x, k=k: f(x[i, k], axis=k), name="M")])
        assert reduction_operator(block_of(func)) == operator


def test_combiners_of_ones_own_are_checked() -> None:
    good = reducing(lambda x, y: x * y + x + y, lambda dtype: te.const(0, dtype))
    assert reduction_operator(block_of(good)) == "combiner"
    found = reduction_of(block_of(reducing(lambda x, y: x - y, lambda dtype: te.const(0, dtype))))
    assert found is not None and found.flaws.associative and found.flaws.commutative
    assert reduction_operator(block_of(first_of_ties())) is None
    ordered = reduction_of(block_of(first_of_ties()))
    assert ordered is not None and not ordered.flaws.associative and "other way round" in ordered.flaws.commutative
    assert reduction_operator(block_of(p.argmax())) == "combiner"


def test_a_start_that_is_not_neutral_is_found() -> None:
    found = reduction_of(block_of(reducing(lambda x, y: x * y + x + y, lambda dtype: te.const(1, dtype))))
    assert found is not None and "combined with" in found.flaws.neutral


def test_blocks_that_are_no_reductions() -> None:
    assert reduction_of(block_of(p.matmul(), "D")) is None
    assert reduction_of(block_of(p.stencil(), "step")) is None


def inner(sch: Schedule, name: str) -> Any:
    *_, k = sch.get_loops(name)
    return sch.split(k, factors=[None, 2])[1]


def two_blocks(sch: Schedule) -> Any:
    sch.compute_at("C", sch.get_loops("D")[0])
    return sch.rfactor(sch.get_loops("D")[0], 0)


def shared_reduction_loop(sch: Schedule) -> Any:
    sch.compute_at("pad", sch.get_loops("conv")[3])
    return sch.rfactor(sch.get_loops("conv")[4], 0)


def decomposed(sch: Schedule) -> Any:
    block = sch.get_block("C")
    loops = sch.get_loops(block)
    sch.decompose_reduction(block, loops[2])
    return sch.rfactor(loops[2], 0)


def unrolled(sch: Schedule) -> Any:
    *_, k = sch.get_loops("C")
    sch.unroll(k)
    return sch.rfactor(k, 0)


def mixed_loop(sch: Schedule) -> Any:
    *_, j, k = sch.get_loops("C")
    return sch.rfactor(sch.fuse(j, k), 0)


def triangular_sum() -> t.PrimFunc:
    """C[i] = the sum of A[i, 0 ... i]"""
    source, target = (t.Buffer("A", (build.const(5), build.const(5))), t.Buffer("C", (build.const(5),)))
    i, k, vi, vk = Var("i"), Var("k"), Var("vi"), Var("vk")
    value = build.add(t.BufferLoad(target, (vi,)), t.BufferLoad(source, (vi, vk)))
    block = t.Block(
        "C",
        (
            t.IterVar(vi, t.Range(build.const(0), build.const(5)), t.IterKind.SPATIAL),
            t.IterVar(vk, t.Range(build.const(0), build.const(5)), t.IterKind.REDUCE),
        ),
        (q.point_region(source, (vi, vk)),),
        (q.point_region(target, (vi,)),),
        (),
        t.BufferStore(target, build.const(0.0), (vi,)),
        t.BufferStore(target, value, (vi,)),
    )
    realize = t.BlockRealize((i, k), build.const(True), block)
    return p.in_root((source, target), (), q.nest([(i, 5), (k, build.add(i, 1))], realize))


def half_reduced() -> t.PrimFunc:
    """C[i] += A[i, k] for k below 3 only, of 5."""
    from workbench.core.node import rewrite

    def post(node: Any) -> Any:
        if isinstance(node, t.BlockRealize) and node.block.name == "C":
            return node.replace(predicate=build.less(node.iter_values[2], 3))
        return None

    return rewrite(p.plain_matmul(), post)


def added_twice() -> t.PrimFunc:
    """C = A @ B, each product after the first added twice."""
    from workbench.core.node import rewrite

    def post(node: Any) -> Any:
        if isinstance(node, t.For) and node.var.name == "k":
            return node.replace(body=t.For(Var("again"), build.const(0), build.const(2), t.ForKind.SERIAL, node.body))
        return None

    return rewrite(p.plain_matmul(), post)


def two_sources() -> t.PrimFunc:
    return reducing(lambda x, y: x * y + (y + 1.0), lambda dtype: te.const(0, dtype))


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "spatial loop": (p.plain_matmul, lambda s: s.rfactor(s.get_loops("C")[1], 0), "E-SCHEDULE-NOT-REDUCTION-LOOP"),
    "no reduction": (p.chain, lambda s: s.rfactor(s.get_loops("one")[1], 0), "E-SCHEDULE-NOT-REDUCTION-LOOP"),
    "axis": (p.plain_matmul, lambda s: s.rfactor(s.get_loops("C")[2], 3), "E-SCHEDULE-FACTOR-AXIS"),
    "negative axis": (p.plain_matmul, lambda s: s.rfactor(s.get_loops("C")[2], -4), "E-SCHEDULE-FACTOR-AXIS"),
    "two blocks": (p.matmul, two_blocks, "E-SCHEDULE-BRANCH"),
    "shared reduction loop": (p.convolution, shared_reduction_loop, "E-SCHEDULE-BRANCH"),
    "decomposed": (p.plain_matmul, decomposed, "E-SCHEDULE-NO-INIT"),
    "unrolled": (p.plain_matmul, unrolled, "E-SCHEDULE-KIND"),
    "mixed loop": (p.plain_matmul, mixed_loop, "E-SCHEDULE-MIXED-LOOP"),
    "mixed predicate": (
        q.mixed_predicate,
        lambda s: s.rfactor(s.get_loops("mixed")[2], 0),
        "E-SCHEDULE-MIXED-PREDICATE",
    ),
    "reduced twice": (added_twice, lambda s: s.rfactor(s.get_loops("C")[2], 0), "E-SCHEDULE-REDUCED-TWICE"),
    "init late": (lambda: reversed_sum(2, 6)[0], lambda s: s.rfactor(s.get_loops("sum")[1], 0), "E-SCHEDULE-INIT-LATE"),
    "parts without a value": (
        lambda: doubling(6),
        lambda s: s.rfactor(s.split(s.get_loops("M")[1], factors=[None, 4])[0], 0),
        "E-SCHEDULE-COMBINER",
    ),
    "triangle": (triangular_sum, lambda s: s.rfactor(s.get_loops("C")[1], 0), "E-SCHEDULE-FACTOR-BOUNDS"),
    "not recognised": (two_sources, lambda s: s.rfactor(s.get_loops("M")[1], 0), "E-SCHEDULE-NOT-REDUCTION"),
    "difference": (
        lambda: reducing(lambda x, y: x - y, lambda dtype: te.const(0, dtype)),
        lambda s: s.rfactor(s.get_loops("M")[1], 0),
        "E-SCHEDULE-COMBINER",
    ),
    "ties": (first_of_ties, lambda s: s.rfactor(inner(s, "M"), 0), "E-SCHEDULE-COMBINER"),
    "start": (
        lambda: reducing(lambda x, y: x * y + x + y, lambda dtype: te.const(1, dtype)),
        lambda s: s.rfactor(s.get_loops("M")[1], 0),
        "E-SCHEDULE-COMBINER",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
