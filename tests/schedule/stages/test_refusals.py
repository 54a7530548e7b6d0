"""Each refusal of a te schedule: its golden text, the call it names, and that nothing has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Golden
from tests.property.stage_orders import chain, matmul
from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.schedule import ScheduleError
from workbench.schedule.stages import StageError
from workbench.tir.script import script


class Program:
    """matmul: D = A @ B + 1, with the handles that the cases use."""

    def __init__(self) -> None:
        self.a, self.b, self.d = matmul()
        self.c = self.d.op.body[0].a.producer
        self.s = te.create_schedule(self.d.op)
        self.i, self.j = self.d.op.axis
        self.ci, self.cj = self.c.op.axis
        self.k = self.c.op.reduce_axis[0]
        self.args = [self.a, self.b, self.d]

    def look(self) -> Any:
        return self.s.to_schedule(self.args)


Attempt = Callable[[Program], Any]


def consumed(p: Program) -> Any:
    p.s[p.d].split(p.i, factor=2)
    p.s[p.d].fuse(p.i, p.j)


def marked(p: Program) -> Any:
    p.s[p.d].vectorize(p.j)
    p.s[p.d].split(p.j, factor=2)


def cached_late(p: Program) -> Any:
    p.s[p.c].reorder(p.cj, p.ci)
    p.s.cache_write(p.c, "local")


def cached_read_twice(p: Program) -> Any:
    p.s.cache_read(p.a, "local", [p.c])
    p.s.cache_read(p.a, "local", [p.c])


def factored_late(p: Program) -> Any:
    p.s[p.c].split(p.ci, factor=2)
    p.s.rfactor(p.c, p.k)


def factored_mixed(p: Program) -> Any:
    p.s.rfactor(p.c, p.s[p.c].fuse(p.cj, p.k))


def laid_out_late(p: Program) -> Any:
    p.s[p.c].split(p.ci, factor=2)
    p.s[p.c].transform_layout(lambda i, j: (j, i))


AT_ONCE: dict[str, tuple[Attempt, str]] = {
    "axis_of_another_stage": (lambda p: p.s[p.d].split(p.ci, factor=2), "E-STAGE-AXIS"),
    "axis_of_another_schedule": (lambda p: p.s[p.d].unroll(matmul()[2].op.axis[0]), "E-STAGE-AXIS"),
    "no_axis": (lambda p: p.s[p.d].parallel("i"), "E-STAGE-AXIS"),
    "axis_of_a_placeholder": (lambda p: p.s[p.a].split(p.i, factor=2), "E-STAGE-AXIS"),
    "consumed": (consumed, "E-STAGE-CONSUMED"),
    "marked": (marked, "E-STAGE-MARKED"),
    "split_both": (lambda p: p.s[p.d].split(p.i, factor=2, nparts=2), "E-STAGE-SPLIT"),
    "split_neither": (lambda p: p.s[p.d].split(p.i), "E-STAGE-SPLIT"),
    "factor_zero": (lambda p: p.s[p.d].split(p.i, factor=0), "E-STAGE-FACTOR"),
    "factor_text": (lambda p: p.s[p.d].split(p.i, nparts="8"), "E-STAGE-FACTOR"),
    "fuse_apart": (lambda p: p.s[p.c].fuse(p.ci, p.k), "E-STAGE-FUSE"),
    "fuse_inside_out": (lambda p: p.s[p.c].fuse(p.cj, p.ci), "E-STAGE-FUSE"),
    "fuse_nothing": (lambda p: p.s[p.c].fuse(), "E-STAGE-FUSE"),
    "reorder_twice": (lambda p: p.s[p.c].reorder(p.ci, p.ci), "E-STAGE-TWICE"),
    "place_in_itself": (lambda p: p.s[p.c].compute_at(p.s[p.c], p.ci), "E-STAGE-PARENT"),
    "place_in_no_stage": (lambda p: p.s[p.c].compute_at(p.d, p.i), "E-STAGE-PARENT"),
    "place_at_a_foreign_loop": (lambda p: p.s[p.c].compute_at(p.s[p.d], p.ci), "E-STAGE-AXIS"),
    "inline_a_placeholder": (lambda p: p.s[p.a].compute_inline(), "E-STAGE-PLACEHOLDER"),
    "bind_to_nothing": (lambda p: p.s[p.d].bind(p.i, 3), "E-STAGE-THREAD"),
    "align_no_axis": (lambda p: p.s[p.c].storage_align(p.k, 8, 0), "E-STAGE-AXIS"),
    "cache_late": (cached_late, "E-STAGE-SCHEDULED"),
    "cache_a_placeholder": (lambda p: p.s.cache_write(p.a, "local"), "E-STAGE-PLACEHOLDER"),
    "cache_two_operations": (lambda p: p.s.cache_write([p.c, p.d], "local"), "E-STAGE-CACHE"),
    "cache_for_a_stranger": (lambda p: p.s.cache_read(p.a, "local", [p.d]), "E-STAGE-READER"),
    "cache_for_nobody": (lambda p: p.s.cache_read(p.a, "local", []), "E-STAGE-READER"),
    "cache_read_twice": (cached_read_twice, "E-STAGE-READER"),
    "factor_data": (lambda p: p.s.rfactor(p.c, p.ci), "E-STAGE-RFACTOR"),
    "factor_mixed": (factored_mixed, "E-STAGE-RFACTOR"),
    "factor_late": (factored_late, "E-STAGE-SCHEDULED"),
    "factor_position": (lambda p: p.s.rfactor(p.c, p.k, 3), "E-STAGE-RFACTOR"),
    "layout_late": (laid_out_late, "E-STAGE-SCHEDULED"),
    "layout_of_other_rank": (lambda p: p.s[p.c].transform_layout(lambda i: i), "E-TIR-INDEX-MAP"),
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_refused_at_once(name: str, golden: Golden) -> None:
    attempt, code = AT_ONCE[name]
    p = Program()
    with pytest.raises(StageError) as caught:
        attempt(p)
    error = caught.value
    assert error.code == code and error.call is not None
    assert error.call.text in error.message and "test_refusals.py line" in error.where
    assert error.found and error.expected and error.fix
    golden(_without_line(error))


def placed_in_a_producer(p: Program) -> None:
    p.s[p.d].compute_at(p.s[p.c], p.ci)


def placed_in_an_inlined_stage(p: Program) -> None:
    cache = p.s.cache_write(p.d, "local")
    p.s[p.c].compute_at(p.s[cache], p.s[cache].op.axis[0])
    p.s[cache].compute_inline()


def placed_at_a_loop_split_later(p: Program) -> None:
    p.s[p.c].compute_at(p.s[p.d], p.i)
    p.s[p.d].split(p.i, factor=2)


def placed_at_a_loop_of_the_cache(p: Program) -> None:
    shared = p.s.cache_read(p.a, "shared", [p.c])
    p.s[shared].compute_at(p.s[p.c], p.k)
    p.s.cache_write(p.c, "local")


def vectorized_reduction(p: Program) -> None:
    p.s[p.c].vectorize(p.k)


def inlined_reduction(p: Program) -> None:
    p.s[p.c].compute_inline()


def inlined_output(p: Program) -> None:
    p.s[p.d].compute_inline()


def scope_of_an_output(p: Program) -> None:
    p.s[p.d].set_scope("local")


def bound_to_no_thread(p: Program) -> None:
    p.s[p.d].bind(p.i, te.thread_axis("threadIdx.q"))


AT_THE_LOOK: dict[str, tuple[Callable[[Program], None], str, str]] = {
    "placed_in_a_producer": (placed_in_a_producer, "E-STAGE-PARENT", "compute_at"),
    "placed_in_an_inlined_stage": (placed_in_an_inlined_stage, "E-STAGE-PARENT", "compute_at"),
    "placed_at_a_loop_split_later": (placed_at_a_loop_split_later, "E-STAGE-CONSUMED", "compute_at"),
    "placed_at_a_loop_of_the_cache": (placed_at_a_loop_of_the_cache, "E-STAGE-CONSUMED", "compute_at"),
    "vectorized_reduction": (vectorized_reduction, "E-SCHEDULE-DEPENDENCE", "vectorize"),
    "inlined_reduction": (inlined_reduction, "E-SCHEDULE-INLINE-FORM", "compute_inline"),
    "inlined_output": (inlined_output, "E-SCHEDULE-OUTPUT", "compute_inline"),
    "scope_of_an_output": (scope_of_an_output, "E-SCHEDULE-SCOPE-PARAMETER", "set_scope"),
    "bound_to_no_thread": (bound_to_no_thread, "E-SCHEDULE-THREAD", "bind"),
}


@pytest.mark.parametrize("name", AT_THE_LOOK)
def test_refused_at_the_look(name: str, golden: Golden) -> None:
    """The call to blame is named with its line; the record stays, and so does the next refusal."""
    calls, code, blamed = AT_THE_LOOK[name]
    p = Program()
    calls(p)
    texts: list[str] = []
    for _ in range(2):
        with pytest.raises(StageError) as caught:
            p.look()
        error = caught.value
        assert error.code == code and error.call is not None and f".{blamed}(" in error.call.text
        assert error.call.text in error.message and "test_refusals.py line" in error.where
        assert error.found and error.expected and error.fix
        texts.append(_without_line(error))
    assert texts[0] == texts[1]
    golden(f"{texts[0]}\n{error.underlined}".rstrip() + "\n")


def test_a_refused_call_changes_nothing() -> None:
    for attempt, _ in AT_ONCE.values():
        p = Program()
        before = script(p.look().func)
        with pytest.raises(ScheduleError):
            p.s[p.d].split(p.ci, factor=2)
        record = p.s.recorded
        try:
            attempt(p)
        except StageError:
            pass
        if p.s.recorded is record:
            assert script(p.look().func) == before


OTHERS: dict[str, tuple[Callable[[], Any], str]] = {
    "no_operations": (lambda: te.create_schedule([]), "E-STAGE-OPERATIONS"),
    "a_function": (lambda: te.create_schedule(te.create_prim_func(matmul())), "E-STAGE-OPERATIONS"),
    "a_tensor_of_another_graph": (lambda: te.create_schedule(matmul()[2].op)[chain()[1]], "E-STAGE-UNKNOWN"),
    "an_output_left_out": (lambda: Program().s.to_schedule(matmul()[:2]), "E-STAGE-ARGS"),
    "a_placeholder_left_out": (lambda: _look_without_a(), "E-TE-ARGS"),
}


def _look_without_a() -> Any:
    p = Program()
    return p.s.to_schedule([p.b, p.d])


@pytest.mark.parametrize("name", OTHERS)
def test_refused_before_any_call(name: str, golden: Golden) -> None:
    attempt, code = OTHERS[name]
    with pytest.raises(WorkbenchError) as caught:
        attempt()
    assert caught.value.code == code
    golden(f"{caught.value}\n")


def _without_line(error: WorkbenchError) -> str:
    """The text without line numbers of this file, which move."""
    import re

    return re.sub(r"test_refusals\.py line \d+: .*", "test_refusals.py line ...", str(error)) + "\n"
