"""Lesson 13, reading generated code: counting multiply-adds, sums that are not spilled, lanes that lie side by side."""

from __future__ import annotations

from typing import Any

from ... import te
from ...schedule.schedule import Schedule
from ..checks import holds, legal, same_numbers, value_is
from ..exercise import Exercise
from ..machine_code import hot_code
from ..work import Work
from .lesson_06 import matmul

LANES = 8


def row_by_row(n: int, m: int, k: int) -> Any:
    """The product with its rows innermost: LLVM makes vectors of it by itself."""
    sch = Schedule(matmul(n, m, k))
    i, j, r = sch.get_loops("C")
    sch.reorder(i, r, j)
    return sch.func


def dot_products(n: int, m: int, k: int) -> Any:
    """C[i, j] = sum over k of A[i, k] B[j, k]: both are walked along their rows."""
    a, b = te.placeholder((n, k), name="A"), te.placeholder((m, k), name="B")
    r = te.reduce_axis((0, k), name="k")
    return te.create_prim_func([a, b, te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[j, r], axis=r), name="C")])


def multiply_adds(func: Any, shapes: Any) -> int:
    """How many stand in the assembly of the hot statement."""
    return hot_code(func).multiply_adds


def _whole_vectors(work: Work) -> Any:
    code = hot_code(work.function)
    if code.lanes < LANES:
        return f"{code.source}: its arithmetic works on {code.lanes or 'no'} lane{'s' * (code.lanes != 1)} at once"
    return True


def _side_by_side(work: Work) -> Any:
    vectors = _whole_vectors(work)
    if vectors is not True:
        return vectors
    code = hot_code(work.function)
    if code.gathered:
        return f"{code.source}: {code.gathered} instructions put vectors together from single numbers"
    return True


def _not_spilled(work: Work) -> Any:
    vectors = _whole_vectors(work)
    if vectors is not True:
        return vectors
    spills = hot_code(work.function).spills
    return f"{spills} instructions put vectors on the stack or fetch them from there" if spills else True


EXERCISES = (
    Exercise(
        id="13_1",
        title="Count the multiply-adds",
        goal="A product of `n` x `m` numbers whose rows are innermost (`start()` is the program). How many fused "
        "multiply-adds stand in its hot statement, for a processor with vectors of eight?",
        start=row_by_row,
        shapes={"n": (16, 24), "m": (64, 48, 80), "k": (128, 160)},
        answer="value",
        checks=(value_is(multiply_adds, "the number of multiply-adds"),),
        hints={
            "the number of multiply-adds": (
                "A row of m numbers is m / 8 vectors, and LLVM keeps them all in registers while k runs.",
                'print(teach.hot_code(teach.task("13_1").start()))  # count the lines with vfmadd',
            )
        },
    ),
    Exercise(
        id="13_2",
        title="Nothing on the stack",
        goal="With rows innermost LLVM keeps a whole row of C in registers, and if the row is too long for them, on "
        "the stack: that is a store and a load for each multiply-add. Arrange the loops so that the machine code works "
        "on eight lanes and nothing is spilled.",
        start=matmul,
        shapes={"n": (2, 3), "m": (256, 320), "k": (96, 128)},
        checks=(
            same_numbers(lambda a, b: a @ b),
            legal(),
            holds("eight lanes and no spills", _not_spilled, points=3),
        ),
        template='    i, j, k = sch.get_loops("C")\n    sch.reorder(i, k, j)  # a full stack\n    return sch',
        hints={
            "eight lanes and no spills": (
                "A part of a row must fit into 16 registers of eight numbers, with one to spare for a number of A.",
                "split j, and put its outer loop before k: then a piece of the row is finished before the next begins",
            )
        },
    ),
    Exercise(
        id="13_3",
        title="Lanes that lie side by side",
        goal="C[i, j] is the dot product of a row of A and a row of B. Arrange it so that the machine code works on "
        "eight lanes at once and loads each vector by one instruction: none that puts a vector together. (Which "
        "loop walks through memory without jumping, and what stands against making it a vector?)",
        start=dot_products,
        shapes={"n": (4, 6), "m": (16, 8), "k": (128, 160)},
        checks=(
            same_numbers(lambda a, b: a @ b.T),
            legal(),
            holds("eight lanes, loaded as they lie", _side_by_side, points=3),
        ),
        template='    i, j, k = sch.get_loops("C")\n    # your steps\n    return sch',
        hints={
            "eight lanes, loaded as they lie": (
                "Along k both arrays lie side by side, but k carries the sum: eight partial sums, one for each lane, "
                "may be a vector (lesson 09).",
                "split k by 8, rfactor the inner loop, then vectorize the loop of the partial sums; "
                "teach.hot_code(sch) shows what came of it",
            )
        },
    ),
)
