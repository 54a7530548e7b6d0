"""Which lines of a loop program compute in lanes already."""

from __future__ import annotations

import workbench as wb
from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask
from workbench.driver.lanes import vector_lines
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench


def lines_with(session: wb.Session, word: str) -> set[int]:
    text = session.provenance.text("main", "tir").split("\n")
    return {at for at, line in enumerate(text, 1) if word in line}


def product(vectorized: bool) -> wb.Session:
    sch = Schedule(plain_matmul(8, 16, 12))
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    if vectorized:
        sch.vectorize(j)
    return wb.open(sch)


def test_loops_around_vectors_are_vectorised_and_scalar_ones_are_not() -> None:
    session = product(True)
    found = vector_lines(session.provenance, "main")
    assert lines_with(session, " * B[") <= found and lines_with(session, "for k in") <= found
    assert vector_lines(product(False).provenance, "main") == frozenset()


def test_a_loop_that_is_left_beside_vectors_is_none_of_them() -> None:
    """The first loop of two stages is vectorised, the second is LLVM's to vectorise."""
    a = wb.te.placeholder((32,), name="A")
    b = wb.te.compute((32,), lambda i: a[i] * 2.0, name="B")
    sch = Schedule(wb.te.create_prim_func([a, wb.te.compute((32,), lambda i: b[i] + 1.0, name="C")]))
    sch.vectorize(sch.split(sch.get_loops("B")[0], [None, 8])[1])
    session = wb.open(sch)
    found = vector_lines(session.provenance, "main")
    scalar = lines_with(session, "C[i] =") or lines_with(session, "C[")
    assert found and not found & (scalar - lines_with(session, "def ")), session.provenance.text("main", "tir")


def test_remarks_tell_which_loops_the_schedule_has_vectorised() -> None:
    """A dozen "loop not vectorized" stood for a kernel that was full of vectors."""
    for vectorized in (True, False):
        session = product(vectorized)
        told = ask(Workbench(session), "remarks", kernel="main")["remarks"]
        assert told and {lanes for _, _, lanes in told} <= {vectorized, False}
        assert any(lanes for _, _, lanes in told) == vectorized
