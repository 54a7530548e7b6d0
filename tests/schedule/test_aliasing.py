"""Parameters that may overlap: what keeps the order of accesses is legal, the rest is refused."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.conftest import Golden
from tests.schedule.harness import check_refusal
from workbench.schedule import Schedule, ScheduleError
from workbench.schedule.references import LoopRV
from workbench.schedule.registry import PRIMITIVES, STILL, primitive
from workbench.schedule.state import Change, ScheduleState
from workbench.tir import nodes as t
from workbench.tir.script import parse


def running(noalias: str = '"noalias": False') -> t.PrimFunc:
    """Each element is the one before it and 1, if B is A shifted by one."""
    return parse(f"""
@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({{{noalias}}})
    for i in T.serial(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi] + T.float32(1)
""")


def shifted(schedule: Schedule) -> np.ndarray:
    memory = np.zeros(65, "float32")
    wb.build(schedule)["f"](memory[:-1], memory[1:])
    return memory


IN_ORDER: dict[str, Any] = {
    "nothing": lambda s, loop: None,
    "split": lambda s, loop: s.split(loop, [None, 8]),
    "split and unroll": lambda s, loop: s.unroll(s.split(loop, [None, 8])[1]),
    "loop_partition": lambda s, loop: s.loop_partition(loop, [10, None]),
    "annotate": lambda s, loop: s.annotate(loop, "note", 1),
}
REORDERING: dict[str, Any] = {
    "vectorize": lambda s, loop: s.vectorize(loop),
    "parallel": lambda s, loop: s.parallel(loop),
    "cache_read": lambda s, loop: s.cache_read("B", 0, "local"),
    "cache_write": lambda s, loop: s.cache_write("B", 0, "local"),
}


def test_a_primitive_says_itself_that_it_keeps_the_order() -> None:
    kept = {entry.name for entry in PRIMITIVES.values() if entry.keeps_order and entry.category not in STILL}
    assert kept == {"split", "fuse", "unroll", "add_unit_loop", "loop_partition", "enter_postproc"}
    assert all(entry.keeps_order for entry in PRIMITIVES.values() if entry.category in STILL)


@pytest.mark.parametrize("keeps", [False, True])
def test_a_primitive_of_ones_own_says_it_too(keeps: bool, request: pytest.FixtureRequest) -> None:
    def stay(state: ScheduleState, loop: LoopRV) -> Change[None]:
        """Leave a loop as it is."""
        return Change(state.func)

    primitive(keeps_order=keeps)(stay)
    request.addfinalizer(lambda: PRIMITIVES.remove("stay"))
    schedule: Any = Schedule(running())
    refused = nullcontext() if keeps else pytest.raises(ScheduleError, match="E-SCHEDULE-OVERLAP")
    with refused:
        schedule.stay(schedule.get_loops("B")[0])


@pytest.mark.parametrize("name", IN_ORDER)
def test_what_keeps_the_order_keeps_the_numbers(name: str) -> None:
    schedule = Schedule(running())
    IN_ORDER[name](schedule, schedule.get_loops("B")[0])
    np.testing.assert_array_equal(shifted(schedule), np.arange(65))


@pytest.mark.parametrize("attribute", ['"noalias": False', '"tir.noalias": False'])
@pytest.mark.parametrize("name", REORDERING)
def test_what_may_change_it_is_refused(name: str, attribute: str) -> None:
    schedule = Schedule(running(attribute))
    before = schedule.script()
    with pytest.raises(ScheduleError, match="E-SCHEDULE-OVERLAP"):
        REORDERING[name](schedule, schedule.get_loops("B")[0])
    assert schedule.script() == before


def test_refusal(golden: Golden) -> None:
    check_refusal(golden, running, lambda s: s.cache_write("B", 0, "local"), "E-SCHEDULE-OVERLAP")


@pytest.mark.parametrize("name", REORDERING)
def test_it_is_legal_where_parameters_are_apart(name: str) -> None:
    schedule = Schedule(running('"noalias": True'))
    REORDERING[name](schedule, schedule.get_loops("B")[0])


def test_unsafe_does_it_all_the_same_and_says_so() -> None:
    schedule = Schedule(running())
    schedule.vectorize(schedule.get_loops("B")[0], unsafe=True)
    assert any("may overlap" in note for notes in schedule.notes.values() for note in notes)
