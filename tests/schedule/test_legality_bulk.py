"""Many questions at once say what the questions say one by one, and soon."""

from __future__ import annotations

import time

import pytest

from benchmarks.schedules import LIMITS, convolution, measured, thirty_steps, tiled
from tests.schedule import programs as p
from workbench.schedule import PRIMITIVES, Schedule, ScheduleError
from workbench.views.editor_forms import option_form


@pytest.mark.parametrize(
    ("program", "block"),
    (("matmul", "C"), ("convolution", "conv"), ("skewed", "wave"), ("stencil", "step"), ("fused_pair", "use")),
)
def test_moves_are_what_each_question_says(program: str, block: str) -> None:
    sch = Schedule(p.PROGRAMS[program]())
    before = sch.fingerprint()
    rows = sch.legal_moves(block)
    assert sch.fingerprint() == before
    loops = sch.get_loops(block)
    assert [row.loop.var for row in rows] == [loop.target for loop in loops] or all(
        row.loop.var is loop.target for row, loop in zip(rows, loops, strict=True)
    )
    for number, (row, loop) in enumerate(zip(rows, loops, strict=True)):
        assert _code(row.parallel) == _code(sch.why_not("parallel", loop))
        assert _code(row.vectorize) == _code(sch.why_not("vectorize", loop))
        assert _code(row.unroll) == _code(sch.why_not("unroll", loop))
        if number + 1 < len(loops):
            assert _code(row.swap) == _code(sch.why_not("reorder", loops[number + 1], loop))
    assert rows[-1].swap is not None and rows[-1].swap.code == "E-SCHEDULE-SELECTION"


@pytest.mark.parametrize(("program", "block"), (("matmul", "C"), ("convolution", "pad"), ("softmax", "shifted")))
def test_drop_targets_are_what_each_question_says(program: str, block: str) -> None:
    sch = Schedule(p.PROGRAMS[program]())
    rows = sch.drop_targets(sch.get_block(block))
    own = {id(loop) for loop in sch.state.find_block(block).loops}
    every = {id(loop) for site in sch.state.tree.leaves for loop in site.loops}
    assert {id(row.loop) for row in rows} == every - own
    moved = sch.get_block(block)
    for site in sch.state.tree.leaves:
        for loop in sch.get_loops(site.name):
            for row in rows:
                if row.loop.var is loop.target:
                    assert _code(row.compute_at) == _code(sch.why_not("compute_at", moved, loop))
                    assert _code(row.reverse_compute_at) == _code(sch.why_not("reverse_compute_at", moved, loop))


def _code(error: ScheduleError | None) -> str:
    return "" if error is None else error.code


def test_suggestions_from_a_row_apply_to_the_schedule_that_was_asked() -> None:
    sch = Schedule(p.matmul())
    refused = sch.legal_moves("C")[2].vectorize
    assert refused is not None
    sch.suggest(refused)[0].apply(sch)
    assert "sch.vectorize" in sch.code()


def test_an_unknown_block_is_refused() -> None:
    sch = Schedule(p.matmul())
    for ask in (sch.legal_moves, sch.drop_targets):
        with pytest.raises(ScheduleError) as caught:
            ask("nothing")
        assert caught.value.code == "E-SCHEDULE-BLOCK"


def test_the_benchmark_s_programs_are_what_it_says() -> None:
    sch = Schedule(convolution(8))
    tiled(sch)
    assert len(sch.get_loops("conv")) == 16
    whole = Schedule(convolution())
    thirty_steps(whole)
    assert len(whole.trace) >= 30


def test_answers_end() -> None:
    """No question runs away; how long each takes is in `benchmarks.schedules`, which has a limit for each."""
    begin = time.process_time()
    assert set(measured(1)) == set(LIMITS)
    assert time.process_time() - begin < 10


def test_every_primitive_has_a_form() -> None:
    for name, entry in PRIMITIVES.items():
        form = option_form(name)
        wanted = [item for i, item in enumerate(entry.parameters) if i or item.kind is item.VAR_POSITIONAL]
        assert [field.name for field in form] == [item.name for item in wanted]
