"""Lesson 09, reductions and rfactor: where a sum starts, partial sums for threads and for lanes, how many are best."""

from __future__ import annotations

from typing import Any

from ... import te
from ...arith.scope import variables_in
from ...tir.nodes import IterKind
from ..checks import holds, legal, same_numbers, value_is
from ..exercise import Exercise
from ..loop_checks import parallel, vectorized
from ..stage_checks import partial_results
from ..work import Work
from .lesson_06 import matmul


def total(n: int) -> Any:
    """B[0] is the sum of A."""
    a = te.placeholder((n,), name="A")
    r = te.reduce_axis((0, n), name="k")
    return te.create_prim_func([a, te.compute((1,), lambda i: te.sum(a[r], axis=r), name="B")])


def starts_outside(work: Work) -> Any:
    """Whether C is set to its start before, and outside of, the loops that sum it up."""
    site = work.site("C")
    if site.block.init is not None:
        return "the start of C is still tested for in every iteration of its block"
    reduced = {
        id(var)
        for item, value in site.bindings
        if item.kind is IterKind.REDUCE
        for var in variables_in(value)
    }  # fmt: skip
    written = site.block.writes[0].buffer
    for other in work.tree.writers(written):
        if other.name != site.name:
            inside = [loop.var.name for loop in other.loops if id(loop.var) in reduced]
            return f"the start stands inside of {inside[0]}, which sums" if inside else True
    return "nothing sets C to its start"


def best_count(func: Any, shapes: Any) -> int:
    """How many partial sums give the shortest chain of additions: n / f in a partial sum, then f."""
    n = shapes["n"]
    return min((f for f in range(1, n + 1) if n % f == 0), key=lambda f: (n // f + f, f))


def _sum(a: Any) -> Any:
    return a.sum(keepdims=True)


EXERCISES = (
    Exercise(
        id="09_1",
        title="Where a sum starts",
        goal="In the order i, k, j the start of the sums is tested for in each innermost iteration. Bring the loops "
        "of `C` into that order and "
        "let the start be a block of its own, outside of the loop that sums.",
        start=matmul,
        shapes={"n": (16, 20, 12), "m": (24, 16, 32), "k": (12, 8, 20)},
        checks=(
            same_numbers(lambda a, b: a @ b),
            legal(),
            holds("the start stands outside of the sum", starts_outside, "", points=2, helps=("decompose_reduction",)),
        ),
        template='    i, j, k = sch.get_loops("C")\n    sch.reorder(i, k, j)\n    # one more step\n    return sch',
    ),
    Exercise(
        id="09_2",
        title="A sum for each thread",
        goal="The sum of n numbers is one chain: nothing in it can be parallel. Make eight partial sums of it "
        "(`B_rf`), each of consecutive "
        "numbers, and let the threads share them.",
        start=total,
        shapes={"n": (320, 240, 400, 480)},
        checks=(
            same_numbers(_sum),
            legal(),
            partial_results("B", 8, points=2),
            parallel("B_rf"),
        ),
        template='    i, k = sch.get_loops("B")\n    # your steps\n    return sch',
    ),
    Exercise(
        id="09_3",
        title="A sum for each lane",
        goal="The same sum for one thread with vectors of eight lanes: lane 0 sums up A[0], A[8], A[16], and so on. "
        "Make eight partial sums, and "
        "a contiguous vector of the innermost loop of `B_rf`.",
        start=total,
        shapes={"n": (320, 240, 400, 480)},
        checks=(
            same_numbers(_sum),
            legal(),
            partial_results("B", 8, neighbours=True),
            vectorized("B_rf", lanes=8, points=2),
        ),
        template='    i, k = sch.get_loops("B")\n    # your steps\n    return sch',
    ),
    Exercise(
        id="09_4",
        title="How many partial sums?",
        goal="With f partial sums of n / f numbers each (f divides n), the longest chain of additions that wait for "
        "one another is n / f, and "
        "then f for adding up the parts. For which f is it shortest? If two are equal, take the smaller.",
        start=total,
        shapes={"n": (360, 240, 420, 480)},
        answer="value",
        checks=(value_is(best_count, "the number of partial sums"),),
        hints={
            "the number of partial sums": (
                "More partial sums make the first part shorter and the second part longer. Near the square root of n "
                "both are equal.",
                "print([(n // f + f, f) for f in range(1, n + 1) if n % f == 0])",
            )
        },
    ),
)
