"""Lesson 06, schedule primitives: order, tails, lanes, stages."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import te
from ...analysis.tree import extent_of
from ...arith import build
from ...schedule.schedule import Schedule
from ..checks import at_most_steps, legal, same_numbers, value_is
from ..exercise import Exercise
from ..loop_checks import loop_order, parallel, vectorized
from ..stage_checks import inside, scratch_at_most

_MATMUL = {"n": (24, 20, 28), "m": (32, 40, 48), "k": (16, 12, 20)}


def matmul(n: int, m: int, k: int) -> Any:
    """C = A @ B"""
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="k")
    return te.create_prim_func([a, b, te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")])


def layer(n: int, m: int, k: int) -> Any:
    """D = max(A @ B, 0)"""
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    d = te.compute((n, m), lambda i, j: build.maximum(c[i, j], 0.0), name="D")
    return te.create_prim_func([a, b, d])


def vector_add(n: int) -> Any:
    """C = A + B"""
    a, b = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    return te.create_prim_func([a, b, te.compute((n,), lambda i: a[i] + b[i], name="C")])


def idle_iterations(func: Any, shapes: Any) -> int:
    """Iterations that do nothing after the loop of C is split by 8: what the new loops run, less what there is."""
    sch = Schedule(func)
    loops = sch.split(sch.get_loops("C")[0], factors=[None, 8])
    run = int(np.prod([extent_of(sch.get(loop)) or 0 for loop in loops]))
    return run - shapes["n"]


def _product(a: Any, b: Any) -> Any:
    return a @ b


EXERCISES = (
    Exercise(
        id="06_1",
        title="Another order",
        goal="Let the loops of block `C` run in the order i, k, j: then the innermost one walks along the rows of B "
        "and C. "
        "One step is enough.",
        start=matmul,
        shapes=_MATMUL,
        checks=(
            same_numbers(_product),
            legal(),
            loop_order("C", "i", "k", "j", points=2),
            at_most_steps(1),
        ),
        template='    i, j, k = sch.get_loops("C")\n    # one step\n    return sch',
    ),
    Exercise(
        id="06_2",
        title="What the tail costs",
        goal="A loop of n iterations is split with `factors=[None, 8]`, and 8 does not divide n. How many of the new "
        "iterations "
        'are masked out by the condition `T.where`? Give a number (try it on `teach.task("06_2").start()`).',
        start=vector_add,
        shapes={"n": (50, 27, 37, 45, 59, 61)},
        checks=(value_is(idle_iterations, "the number of masked iterations"),),
        answer="value",
        hints={
            "the number of masked iterations": (
                "Both new loops together run more often than n: the product of their extents is the next multiple of "
                "8.",
                'sch = teach.task("06_2").start()\nprint([sch.get(loop).extent for loop in '
                'sch.split(sch.get_loops("C")[0], factors=[None, 8])])',
            )
        },
    ),
    Exercise(
        id="06_3",
        title="Eight lanes",
        goal="Make the innermost loop of block `C` a vector of 8 lanes that lie side by side in memory.",
        start=matmul,
        shapes=_MATMUL,
        checks=(same_numbers(_product), legal(), vectorized("C", lanes=8, points=3), at_most_steps(4)),
        template='    i, j, k = sch.get_loops("C")\n    # your steps\n    return sch',
    ),
    Exercise(
        id="06_4",
        title="Use it while it is near",
        goal="`D` is the positive part of the product `C`. As it stands, the whole of C is written to memory and "
        "read again. "
        "Arrange the stages so that at most one row of C is kept at a time, and share the rows among threads.",
        start=layer,
        shapes=_MATMUL,
        checks=(
            same_numbers(lambda a, b: np.maximum(a @ b, 0)),
            legal(),
            inside("C", "D"),
            scratch_at_most(lambda shapes: shapes["m"], points=2),
            parallel("D"),
        ),
        template='    i, j = sch.get_loops("D")\n    # your steps\n    return sch',
    ),
)
