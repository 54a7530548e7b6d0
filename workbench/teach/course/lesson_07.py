"""Lesson 07, legality: iterations in conflict, what may be reordered, how many lanes, a stage that is needed twice."""

from __future__ import annotations

import itertools
from typing import Any

from ... import te
from ...core.errors import WorkbenchError
from ...schedule.schedule import Schedule
from ...tir.script import parse
from ..checks import holds, legal, same_numbers, value_is
from ..exercise import Exercise
from ..loop_checks import parallel, vectorized
from ..stage_checks import inside, scratch_at_most
from ..work import Work, run

STEPS = ("parallel i", "parallel j", "reorder j, i")


def recurrence(d: int, n: int) -> Any:
    """B[i + d] = B[i] + A[i]"""
    return parse(f"""
@T.prim_func
def main(A: T.Buffer(({n},), "float32"), B: T.Buffer(({n + d},), "float32")):
    for i in range({n}):
        with T.block("B"):
            vi = T.axis.spatial({n}, i)
            T.reads(A[vi], B[vi])
            T.writes(B[vi + {d}])
            B[vi + {d}] = B[vi] + A[vi]
""")


def steps_back(down: int, right: int) -> Any:
    """Y[i + down, j + right] = Y[i, j] + X[i, j], shifted so that all indices stay inside; `right` may be negative."""
    rows, columns, left = 12 + down, 12 + abs(right), max(0, -right)
    return parse(f"""
@T.prim_func
def main(X: T.Buffer((12, 12), "float32"), Y: T.Buffer(({rows}, {columns}), "float32")):
    for i, j in T.grid(12, 12):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[vi, vj], Y[vi, vj + {left}])
            T.writes(Y[vi + {down}, vj + {left + right}])
            Y[vi + {down}, vj + {left + right}] = Y[vi, vj + {left}] + X[vi, vj]
""")


def blur(n: int, m: int) -> Any:
    """B = 2 A; C is the sum of three rows of B."""
    a = te.placeholder((n + 2, m), name="A")
    b = te.compute((n + 2, m), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((n, m), lambda i, j: b[i, j] + b[i + 1, j] + b[i + 2, j], name="C")
    return te.create_prim_func([a, c])


def in_conflict(work: Work) -> Any:
    """Whether the value is a pair of iterations of which one writes what the other touches (found by counting)."""
    value, n, d = work.value, work.shapes["n"], work.shapes["d"]
    if value is None:
        return "there is no answer yet"
    if not isinstance(value, list) or len(value) != 2 or not all(type(item) is int for item in value):
        return f"{value!r} is not a pair of whole numbers"
    one, other = value
    for number in value:
        if not 0 <= number < n:
            return f"there is no iteration {number}; i runs from 0 to {n - 1}"
    if one == other:
        return "these are one and the same iteration"
    touched = [{"reads": {i}, "writes": {i + d}} for i in (one, other)]
    if (
        touched[0]["writes"] & (touched[1]["reads"] | touched[1]["writes"])
        or touched[1]["writes"] & touched[0]["reads"]
    ):
        return True
    shown = " and ".join(f"iteration {i} reads B[{i}] and writes B[{i + d}]" for i in (one, other))
    return f"these may run in any order: {shown}"


def legal_steps(func: Any, shapes: Any) -> list[str]:
    """Of `STEPS` those that the schedule allows."""
    found: list[str] = []
    for step in STEPS:
        sch = Schedule(func)
        i, j = sch.get_loops("Y")
        loops = {"i": i, "j": j}
        name, _, arguments = step.partition(" ")
        try:
            getattr(sch, name)(*[loops[item] for item in arguments.split(", ")])
        except WorkbenchError:
            continue
        found.append(step)
    return found


def _legal_of_all(func: Any, shapes: Any) -> list[str]:
    return sorted(legal_steps(func, shapes))


def in_order(check: Any) -> Any:
    """The order in which the steps are listed does not matter."""
    from dataclasses import replace

    def run(work: Work) -> Any:
        if isinstance(work.value, list) and all(isinstance(item, str) for item in work.value):
            work = replace(work, value=sorted(work.value))
        return check.run(work)

    return replace(check, run=run)


def _recurrence_numbers(work: Work) -> Any:
    """The program still computes the recurrence, run one iteration after another."""
    inputs, outputs = work.numbers
    _, expected = run(work.start)
    return all((one == other).all() for one, other in itertools.zip_longest(outputs, expected)) and len(inputs) == 1


EXERCISES = (
    Exercise(
        id="07_1",
        title="Two iterations in conflict",
        goal="The loop i of `B[i + d] = B[i] + A[i]` cannot be made parallel. Prove it: return a pair [p, q] of "
        "iterations of which one "
        "writes what the other one reads or writes.",
        start=recurrence,
        shapes={"d": (4, 3, 5, 6), "n": (60,)},
        answer="value",
        checks=(holds("a pair of iterations in conflict", in_conflict, "the pair is not in conflict"),),
        hints={
            "a pair of iterations in conflict": (
                "Iteration 0 writes one element of B. Which iteration reads it?",
                'sch = wb.schedule.Schedule(teach.task("07_1").program)\n'
                'print(sch.why_not("parallel", sch.get_loops("B")[0]))',
            )
        },
    ),
    Exercise(
        id="07_2",
        title="As many lanes as there can be",
        goal="The same loop can run in vectors all the same, if they are short enough: what a lane reads must have "
        "been written "
        "before its vector began. Make the innermost loop of `B` a vector of as many lanes as the recurrence allows.",
        start=recurrence,
        shapes={"d": (4, 3, 5, 6), "n": (60,)},
        checks=(
            legal(),
            holds("the same numbers as one after another", _recurrence_numbers, "the numbers differ", points=0),
            vectorized("B", lanes=lambda shapes: shapes["d"], points=2),
        ),
        template='    (i,) = sch.get_loops("B")\n    # your steps\n    return sch',
    ),
    Exercise(
        id="07_3",
        title="What may be done here?",
        goal="`start()` shows two loops that carry a dependence from one element to another. Which of these are "
        "legal, each on its own? "
        'Return a list with some of "parallel i", "parallel j", "reorder j, i". Draw the arrows first, then ask '
        "`why_not`.",
        start=steps_back,
        shapes={"down": (1, 2, 0, 1), "right": (1, -1, -2, 2)},
        answer="value",
        checks=(in_order(value_is(_legal_of_all, "the legal steps, and no other", points=2)),),
        hints={
            "the legal steps, and no other": (
                "An arrow goes from each iteration to the one that reads what it wrote. A step is legal if no arrow "
                "points backwards after it, "
                "and, for parallel, if no arrow leads from one iteration of the loop to another.",
                'sch = wb.schedule.Schedule(teach.task("07_3").program)\ni, j = '
                'sch.get_loops("Y")\nprint(sch.why_not("parallel", i))',
            )
        },
    ),
    Exercise(
        id="07_4",
        title="Needed three times",
        goal="Each row of C needs three rows of B, so `C` cannot simply follow `B` under its loop: the step in the "
        "answer is refused. "
        "Arrange the two stages so that at most three rows of B are kept at a time, and make the rows of C parallel.",
        start=blur,
        shapes={"n": (16, 12, 20), "m": (24, 32, 20)},
        checks=(
            same_numbers(lambda a: 2 * (a[:-2] + a[1:-1] + a[2:])),
            legal(),
            inside("B", "C"),
            scratch_at_most(lambda shapes: 3 * shapes["m"]),
            parallel("C"),
        ),
        template='    i, j = sch.get_loops("B")\n    sch.reverse_compute_at("C", i)  # refused: read why\n    return '
        "sch",
    ),
)
