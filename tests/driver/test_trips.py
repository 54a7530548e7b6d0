"""How often lines of code run, by the loops around their statements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import pytest

import workbench as wb
from tests.driver.programs import small_model, small_session
from tests.schedule.programs import plain_matmul
from workbench import te
from workbench.driver.trips import hottest, loop_depths, nests, trips
from workbench.schedule import Schedule
from workbench.tir import nodes as t
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


def test_what_stands_before_a_loop_is_not_as_hot_as_the_loop() -> None:
    """What leads to the innermost loop had the colour of the multiplications in it."""
    sch = Schedule(plain_matmul(64, 48, 32))
    i, j, k = sch.get_loops("C")
    j_0, j_1 = sch.split(j, [None, 16])
    sch.reorder(i, j_0, k, j_1)
    sch.vectorize(j_1)
    provenance = wb.open(sch).provenance
    text = provenance.text("main", "asm")
    counts, depths, lines = trips(provenance, "main", "asm"), loop_depths(text), text.split("\n")
    instructions = {spot.text_line - 1 for spot in provenance.native("main", "asm").spots if spot.line > 1}
    by_depth = {depth: {counts[at] for at in instructions if depths[at] == depth} for depth in (1, 2, 3)}
    assert by_depth == {1: {64}, 2: {64 * 3}, 3: {64 * 3 * 32}}, text
    hot = hottest(provenance, "main", "asm")
    assert depths[hot - 1] == 3 and "mm" in lines[hot - 1]


def test_blocks_of_assembly_say_how_deep_they_are() -> None:
    text = "\n".join(
        [
            "main:", "# %bb.0:", "\tnop", ".LBB0_1:", "\t# =>This Loop Header: Depth=1",
            "\t#   Child Loop BB0_2 Depth 2", ".Ltmp1:", "\tnop", ".LBB0_2:", "\t#   Parent Loop BB0_1 Depth=1",
            "\t# =>  This Inner Loop Header: Depth=2",
            "\tnop", "// %bb.3:", "\t//   in Loop: Header=BB0_1 Depth=1", "\tnop", "# %bb.4:", "\tret",
        ]
    )  # fmt: skip
    assert loop_depths(text) == (0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 2, 2, 0, 1, 1, 0, 0)


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


def elementwise(vectorized: str) -> wb.Session:
    """Two stages whose loops have the same names and extents; the inner loop of one is vectorised."""
    a = te.placeholder((8, 16), name="A")
    b = te.compute((8, 16), lambda i, j: a[i, j] + 1.0, name="B")
    session = wb.open([a, te.compute((8, 16), lambda i, j: b[i, j] * 2.0, name="C")])
    schedule = session.schedule("main")
    schedule.vectorize(schedule.get_loops(vectorized)[1])
    return session.edit(schedule={"main": schedule})


def outside_of_k() -> wb.Session:
    schedule = Schedule(plain_matmul(64, 64, 256))
    i, j, k = schedule.get_loops("C")
    schedule.reorder(i, k, j)
    schedule.decompose_reduction("C", k)
    schedule.vectorize(j)
    return wb.open(schedule)


def unrolled_reduction() -> wb.Session:
    """What the sums begin with stands in the block, in the loop that is unrolled, and is done once."""
    schedule = Schedule(plain_matmul(8, 16, 4))
    i, j, k = schedule.get_loops("C")
    schedule.reorder(i, k, j)
    schedule.unroll(k)
    schedule.vectorize(j)
    return wb.open(schedule)


SESSIONS: dict[str, Callable[[], wb.Session]] = {
    "product": product, "first stage in lanes": lambda: elementwise("B"), "second stage in lanes":
    lambda: elementwise("C"), "outside of k": outside_of_k, "reduction unrolled": unrolled_reduction,
    "network": small_session, "network, 8 lanes": lambda: wb.open(small_model(), target="llvm -mcpu=x86-64-v3"),
}  # fmt: skip


@pytest.mark.parametrize("name", SESSIONS)
def test_a_line_stands_in_the_loops_that_it_runs_in(name: str) -> None:
    """Lines outside of a loop were told as inside it, and a line in lanes lost its loop, by the loops' names."""
    session = SESSIONS[name]()
    for kernel in session.kernels:
        for line, nest in nests(session.provenance.function(kernel), kernel).items():
            place = place_of(session, kernel, "tir", line)
            counted = [int(loop.extent) for loop in place.loops if loop.kind not in ("vectorized", "unroll")]
            assert place.trips == prod(counted) > 0, (kernel, line, place.loops)
            if isinstance(nest.statement, t.BufferStore):
                lanes = prod(int(loop.extent) for loop in place.loops if loop.kind == "vectorized")
                assert nest.statement.value.dtype.lanes == lanes, (kernel, line, place.loops)


def test_what_an_unrolled_reduction_begins_with_is_not_in_it() -> None:
    session = unrolled_reduction()
    text = session.provenance.text("main", "tir").split("\n")
    begins = next(line for line, words in enumerate(text, 1) if "T.broadcast(T.float32(0" in words)
    assert [loop.name for loop in place_of(session, "main", "tir", begins).loops] == ["i", "j"]
    adds = next(line for line, words in enumerate(text, 1) if "+" in words.partition("=")[2])
    assert [loop.name for loop in place_of(session, "main", "tir", adds).loops] == ["i", "k", "j"]
