"""What it costs to make a program of te stages grows with their expressions: counts, not times."""

from __future__ import annotations

from typing import Any

import workbench as wb
from tests.work import calls
from workbench import te
from workbench.core import equal


def sum_of(terms: int) -> list[Any]:
    """One stage that reads as many elements of a vector as it has terms."""
    read = te.placeholder((terms + 4,), name="A")

    def body(i: Any) -> Any:
        value = read[i]
        for at in range(1, terms):
            value = value + read[i + at]
        return value

    return [read, te.compute((4,), body, name="C")]


def test_the_regions_of_a_stage_are_not_each_compared_with_all_others() -> None:
    """A sum of 1,500 terms took 23 s to open."""
    once, twice = (
        calls(lambda n=terms: te.create_prim_func(sum_of(n)), equal.first_difference, equal._step_node)
        for terms in (60, 120)
    )
    assert twice <= 2.5 * once + 100, (once, twice)


def test_elements_read_twice_are_one_region_and_loops_of_one_form_are_two() -> None:
    read = te.placeholder((4, 4), name="A")
    made = te.compute((4, 4), lambda i, j: read[i, j] + read[i, j] * read[j, i] + read[i + 0, j], name="C")
    text = wb.IRModule.from_expr(te.create_prim_func([read, made])).script()
    assert "T.reads(A[i, j], A[j, i])" in text.replace("vi", "i").replace("vj", "j"), text
