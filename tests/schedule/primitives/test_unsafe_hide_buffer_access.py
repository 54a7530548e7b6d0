"""unsafe_hide_buffer_access: golden, what it hides, machine code, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from tests.schedule.numpy_checks import check_matmul
from workbench.schedule import Schedule
from workbench.tir.verify import problems


def hidden(sch: Schedule) -> Any:
    return sch.unsafe_hide_buffer_access("C", "read", [1])


def test_read(golden: Golden) -> None:
    sch = check_steps(golden, p.matmul, hidden)
    assert not problems(sch.func)
    assert sch.func.attrs["unsafe"] == 1 and any("hidden" in note for note in sch.notes[2])


def test_hidden_dependences_are_no_obstacle() -> None:
    sch = Schedule(p.stencil())
    assert sch.why_not("parallel", sch.get_loops("step")[1]) is not None
    sch.unsafe_hide_buffer_access("step", "read", [0])
    sch.parallel(sch.get_loops("step")[1])


def test_machine_code_agrees_with_numpy() -> None:
    check_matmul(hidden)


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "nothing": (p.matmul, lambda s: s.unsafe_hide_buffer_access("C", "read", []), "E-SCHEDULE-HIDE"),
    "no such buffer": (p.matmul, lambda s: s.unsafe_hide_buffer_access("C", "write", [1]), "E-SCHEDULE-BUFFER"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    program, action, code = REFUSALS[name]
    check_refusal(golden, program, action, code)
