"""What every test file of a primitive asks: golden before and after, equal numbers, replay, and refusals.

def test_split_exact(golden):
    check_steps(golden, p.matmul, lambda sch: sch.split(sch.get_loops("C")[1], factors=[None, 3]))

def test_split_refuses_two_open_factors(golden):
    check_refusal(golden, p.matmul, split_in_two_open_parts, "E-SCHEDULE-SPLIT-FACTORS")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.conftest import Golden
from tests.schedule.executing import inputs
from workbench.schedule import Schedule, ScheduleError, Trace
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse, script
from workbench.tir.transforms.lower_blocks import lower_blocks

Program = Callable[[], t.PrimFunc]
Steps = Callable[[Schedule], Any]


def check_steps(golden: Golden, program: Program, steps: Steps, *, runs: bool = True) -> Schedule:
    """Golden text of `program` before and after `steps`; the same numbers (`runs`); the same program by replay.

    A schedule that no interpreter can run (thread bindings, foreign scopes) says ``runs=False``.
    """
    func = program()
    sch = Schedule(func)
    before = sch.script()
    steps(sch)
    notes = "".join(f"# step {number}: {note}\n" for number, found in sch.notes.items() for note in found)
    golden(f"# before\n{before}\n\n# steps\n{sch.code()}{notes}\n# after\n{sch.script()}\n")
    if runs:
        check_numbers(func, sch.func)
    check_replay(func, sch)
    assert script(parse(script(sch.func))) == script(sch.func)
    return sch


def check_numbers(before: t.PrimFunc, after: t.PrimFunc) -> None:
    """Both functions give the same numbers, bit for bit, on small integers; declared regions and races are checked."""
    expected, found, lowered = inputs(before), inputs(before), inputs(before)
    interpret(before, *expected)
    interpret(after, *found, check_regions=True)
    interpret(lower_blocks(after), *lowered, check_races=True)
    for one, other, third in zip(expected, found, lowered, strict=True):
        np.testing.assert_array_equal(other, one)
        np.testing.assert_array_equal(third, one)


def check_replay(func: t.PrimFunc, sch: Schedule) -> None:
    """The trace leads to the same state as JSON and as Python."""
    read = Trace.from_json(sch.trace.as_json())
    assert read == sch.trace
    again = Schedule(func)
    read.apply_to(again)
    assert again.fingerprint() == sch.fingerprint()
    names: dict[str, Any] = {"sch": Schedule(func)}
    exec(sch.code(), names)
    assert names["sch"].fingerprint() == sch.fingerprint()


def check_refusal(golden: Golden, program: Program, attempt: Steps, code: str) -> ScheduleError:
    """The golden text of a refusal with its underlined program; every part is there, and nothing has changed."""
    sch = Schedule(program())
    committed: list[str] = [sch.fingerprint()]
    original = sch._commit

    def noting(state: Any) -> None:
        original(state)
        committed.append(sch.fingerprint())

    sch._commit = noting  # type: ignore[method-assign]
    with pytest.raises(ScheduleError) as caught:
        attempt(sch)
    error = caught.value
    assert error.code == code
    assert error.message and error.found and error.expected and error.fix
    assert error.kept == "the schedule is unchanged"
    assert sch.fingerprint() == committed[-1]
    golden(f"{error}\n\n{error.underlined}".rstrip() + "\n")
    return error


def check_lowered(func: t.PrimFunc) -> None:
    """Lowered, it reads nothing that is not written, and iterations that run at once do not meet."""
    lowered = lower_blocks(func)
    interpret(lowered, *inputs(lowered), check_races=True)
