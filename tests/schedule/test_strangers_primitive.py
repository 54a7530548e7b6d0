"""A primitive from outside the package, in one file, following CONTRIBUTING: it is a method, a step, and listed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.schedule.executing import inputs
from tests.schedule.programs import matmul
from workbench.core.errors import WorkbenchError
from workbench.schedule import PRIMITIVES, Change, LoopRV, Schedule, ScheduleState, Trace, primitive
from workbench.schedule.errors import require
from workbench.schedule.surgery import replaced
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret


def peel_annotation(state: ScheduleState, loop: LoopRV, times: int = 1) -> Change[None]:
    """Ask a later pass to peel a loop's first iterations.

    before:  for i in range(8): ...
    after:   for i in T.serial(8, annotations={"peel": 1}): ...
    """
    old = state.loop(loop)
    require(
        times < 4,
        "E-MINE-PEEL",
        f"cannot peel {times} iterations of {old.var.name}",
        found=f"{times} iterations",
        expected="at most 3",
        fix="peel fewer",
        nodes=(old,),
    )
    made: t.For = old.replace(annotations=old.annotations.set("peel", times))
    return Change(replaced(state.func, {id(old): made}))


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    primitive(category="loop")(peel_annotation)
    yield
    PRIMITIVES.remove("peel_annotation")


def test_it_is_a_method_with_its_own_signature() -> None:
    import inspect

    sch = Schedule(matmul())
    assert "peel_annotation" in dir(sch)
    assert list(inspect.signature(sch.peel_annotation).parameters) == ["loop", "times"]
    assert "first iterations" in (sch.peel_annotation.__doc__ or "")


def test_it_is_a_step_of_the_trace() -> None:
    func = matmul()
    sch = Schedule(func)
    i, _ = sch.get_loops("D")
    sch.peel_annotation(i, times=2)
    assert "sch.peel_annotation(l0, times=2)" in sch.code()
    again = Schedule(func)
    Trace.from_json(sch.trace.as_json()).apply_to(again)
    assert again.fingerprint() == sch.fingerprint()
    arrays = inputs(func)
    interpret(sch.func, *arrays)
    assert np.isfinite(arrays[-1]).all()


def test_it_is_refused_and_listed_like_the_others() -> None:
    sch = Schedule(matmul())
    i, _ = sch.get_loops("D")
    before = sch.fingerprint()
    error = sch.why_not("peel_annotation", i, times=9)
    assert error is not None and error.code == "E-MINE-PEEL" and "line" in error.where and "^" in error.underlined
    assert sch.fingerprint() == before
    assert sch.applicable(i)["peel_annotation"] is None


def test_a_name_is_taken_once() -> None:
    with pytest.raises(WorkbenchError, match="registered already"):
        primitive(category="loop")(peel_annotation)
    primitive(category="loop", override=True)(peel_annotation)


def test_a_malformed_primitive_is_refused() -> None:
    def bare(state: ScheduleState, **options: int) -> Change[None]:
        """Not a primitive."""
        return Change(state.func)

    with pytest.raises(WorkbenchError) as caught:
        primitive()(bare)
    assert caught.value.code == "E-SCHEDULE-PRIMITIVE"
