"""How often lines of code run, by the loops around their statements."""

from __future__ import annotations

from math import prod

import pytest

import workbench as wb
from tests.driver.programs import small_session
from tests.schedule.programs import plain_matmul
from workbench.driver.trips import hottest, nests, trips
from workbench.schedule import Schedule
from workbench.views.places import place_of


def product() -> wb.Session:
    sch = Schedule(plain_matmul(8, 12, 16))
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    sch.vectorize(j)
    return wb.open(sch)


def test_the_statement_of_a_product_runs_once_for_each_pass_of_its_loops() -> None:
    session = product()
    provenance = session.provenance
    lines = provenance.text("main", "tir").split("\n")
    counts = trips(provenance, "main", "tir")
    innermost = max(range(len(lines)), key=lambda at: counts[at])
    assert counts[innermost] == 8 * 16, "the vectorised loop is one instruction, not 12 trips"
    assert "=" in lines[innermost] or "for" in lines[innermost]
    nest = nests(provenance.function("main"), "main")[innermost + 1]
    assert [loop.var.name for loop in nest.loops][:2] == ["i", "k"]


@pytest.mark.parametrize("form", ["tir", "ll", "asm"])
def test_every_line_has_a_count_and_multiplications_the_greatest(form: str) -> None:
    provenance = product().provenance
    text = provenance.text("main", form).split("\n")
    counts = trips(provenance, "main", form)
    assert len(counts) == len(text)
    words = {"tir": " * ", "ll": "fmul", "asm": "mul"}[form]
    work = [
        count for line, count in zip(text, counts, strict=True) if words in line or "fmadd" in line or "fma." in line
    ]
    assert work and max(work) == max(counts) == 8 * 16


@pytest.mark.parametrize("form", ["tir", "ll", "asm"])
def test_the_hottest_line_is_of_the_product(form: str) -> None:
    provenance = product().provenance
    line = hottest(provenance, "main", form)
    assert trips(provenance, "main", form)[line - 1] == 8 * 16


def test_a_line_leads_to_its_loops_their_moves_and_the_nodes_of_the_file() -> None:
    session = product()
    asm = session.provenance.text("main", "asm").split("\n")
    line = next(at for at, text in enumerate(asm, 1) if "fmadd" in text or "mulps" in text or "fmla" in text)
    place = place_of(session, "main", "asm", line)
    assert place.trips == 8 * 16 and [loop.name for loop in place.loops] == ["i", "k", "j"]
    assert [move.name for move in place.moves] == ["reorder", "vectorize"]
    small = small_session()
    kernel = next(name for name in small.kernels if "softmax" in name)
    last = small.provenance.text(kernel, "asm").count("\n")
    assert any(
        "Softmax" in place_of(small, kernel, "asm", at).sources[0]
        for at in range(1, last, 20)
        if place_of(small, kernel, "asm", at).sources
    )


def test_a_line_is_run_as_often_as_its_loops_say() -> None:
    """A line outside of `k` was told as inside of it, where a vectorised loop is in `k`."""
    outside, small = Schedule(plain_matmul(64, 64, 256)), small_session()
    i, j, k = outside.get_loops("C")
    outside.reorder(i, k, j)
    outside.decompose_reduction("C", k)
    outside.vectorize(j)
    kernels = [(wb.open(outside), "main"), (product(), "main"), *((small, kernel) for kernel in small.kernels)]
    for session, kernel in kernels:
        for line in range(1, session.provenance.text(kernel, "tir").count("\n") + 1):
            place = place_of(session, kernel, "tir", line)
            counted = [int(loop.extent) for loop in place.loops if loop.kind not in ("vectorized", "unroll")]
            assert place.trips in (0, prod(counted)), (kernel, line, place.loops)
