"""``unsafe=True``: legality does not stop a primitive; it stands in the trace, the notes and the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.schedule import programs as p
from tests.schedule.primitives.test_cache_read import looked_up
from workbench.core.equal import fingerprint
from workbench.schedule import Schedule, ScheduleError, Trace
from workbench.tir import nodes as t

Steps = Callable[[Schedule, bool], Any]


def swap_wave(sch: Schedule, unsafe: bool) -> Any:
    i, j = sch.get_loops("wave")
    return sch.reorder(j, i, unsafe=unsafe)


def decompose_inside(sch: Schedule, unsafe: bool) -> Any:
    i, j, k = sch.get_loops("C")
    sch.reorder(k, i, j)
    return sch.decompose_reduction("C", i, unsafe=unsafe)


CASES: dict[str, tuple[Callable[[], t.PrimFunc], Steps, str]] = {
    "parallel": (p.matmul, lambda s, u: s.parallel(s.get_loops("C")[2], unsafe=u), "depend on each other"),
    "vectorize": (p.stencil, lambda s, u: s.vectorize(s.get_loops("step")[1], unsafe=u), "depend on each other"),
    "bind": (p.matmul, lambda s, u: s.bind(s.get_loops("C")[2], "blockIdx.x", unsafe=u), "depend on each other"),
    "reorder": (p.skewed, swap_wave, "the wrong way round"),
    "decompose": (p.matmul, decompose_inside, "stands outside"),
    "cache_read": (looked_up, lambda s, u: s.cache_read("C", "B", "local", unsafe=u), "in or after the loops"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_legality_refuses_is_done_and_noted(name: str) -> None:
    program, steps, said = CASES[name]
    func = program()
    with pytest.raises(ScheduleError, match=said):
        steps(Schedule(func), False)
    sch = Schedule(func)
    steps(sch, True)
    noted = [note for notes in sch.notes.values() for note in notes]
    assert any(note.startswith("unsafe: ") and said in note for note in noted)
    assert sch.func.attrs["unsafe"] == 1
    assert "unsafe=True" in sch.code()
    read = Trace.from_json(sch.trace.as_json())
    assert read == sch.trace
    again = Schedule(func)
    read.apply_to(again)
    assert again.fingerprint() == sch.fingerprint() and again.notes == sch.notes
    names: dict[str, Any] = {"sch": Schedule(func)}
    exec(sch.code(), names)
    assert names["sch"].fingerprint() == sch.fingerprint()


def test_a_legal_step_marks_nothing_but_keeps_the_word() -> None:
    sch = Schedule(p.matmul())
    sch.parallel(sch.get_loops("C")[0], unsafe=True)
    assert "unsafe" not in sch.func.attrs and not sch.notes
    assert "unsafe=True" in sch.code()


def test_structure_is_refused_all_the_same() -> None:
    sch = Schedule(p.matmul())
    i, _, _ = sch.get_loops("C")
    before = sch.fingerprint()
    with pytest.raises(ScheduleError) as caught:
        sch.split(i, factors=[None, None], unsafe=True)
    assert caught.value.code == "E-SCHEDULE-SPLIT-FACTORS" and sch.fingerprint() == before


def test_unsafe_is_a_truth_value() -> None:
    sch = Schedule(p.matmul())
    with pytest.raises(ScheduleError, match="unsafe"):
        sch.parallel(sch.get_loops("C")[0], unsafe="yes")


def test_a_hand_edited_trace_says_true_or_nothing() -> None:
    sch = Schedule(p.matmul())
    sch.parallel(sch.get_loops("C")[2], unsafe=True)
    with pytest.raises(ScheduleError) as caught:
        Trace.from_json(sch.trace.as_json().replace('"unsafe": true', '"unsafe": 7'))
    assert caught.value.code == "E-TRACE-ARGUMENT" and "line" in caught.value.where


def test_why_not_takes_it_too() -> None:
    sch = Schedule(p.matmul())
    k = sch.get_loops("C")[2]
    before = fingerprint(sch.func)
    assert sch.why_not("parallel", k) is not None
    assert sch.why_not("parallel", k, unsafe=True) is None
    assert fingerprint(sch.func) == before
