"""The trace as the classic API has it: instructions, decisions, editing, dead code, providers of decisions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schedule.programs import matmul, plain_matmul
from workbench.schedule import Schedule, ScheduleError, Step, Trace


def sampled() -> Schedule:
    sch = Schedule(plain_matmul(8, 8, 8), seed=4)
    block = sch.get_block("C")
    _, j, _ = sch.get_loops(block)
    _, inner = sch.split(j, factors=sch.sample_perfect_tile(j, n=2, decision=[2, 4]))
    sch.enter_postproc()
    sch.vectorize(inner)
    return sch


def test_instructions_and_decisions() -> None:
    trace = sampled().trace
    names = [step.kind.name for step in trace.insts]
    assert names == ["GetBlock", "GetLoops", "SamplePerfectTile", "Split", "EnterPostproc", "Vectorize"]
    tile = trace.insts[2]
    assert trace.decisions == {tile: (2, 4)} and trace.get_decision(tile) == (2, 4)
    assert trace.get_decision(trace.insts[0]) is None
    assert [item.name for item in tile.inputs] == ["l1"] and tile.attrs == [2] and tile.outputs == ["v0", "v1"]
    with pytest.raises(ScheduleError) as caught:
        Trace().get_decision(tile)
    assert caught.value.code == "E-TRACE-STEP"


def test_append_and_pop_change_this_trace_alone() -> None:
    sch = sampled()
    trace = sch.trace
    last = trace.pop()
    assert isinstance(last, Step) and last.primitive == "vectorize" and len(trace) == 5 and len(sch.trace) == 6
    trace.append(last)
    assert trace == sch.trace
    made = Trace()
    for step in trace.insts:
        made.append(step, [4, 2] if step.is_sampler else None)
    assert made.steps[2].decision == (4, 2) and Trace().pop() is None
    assert Trace(trace.insts, {trace.insts[2]: (4, 2)}) == made


def test_with_decision_applies_to_another_program() -> None:
    trace = sampled().trace
    other = trace.with_decision(trace.insts[2], [1, 8], remove_postproc=True)
    sch = Schedule(plain_matmul(8, 8, 8))
    other.apply_to_schedule(sch)
    assert len(other) == 4 and [loop.target.name for loop in sch.get_loops("C")] == ["i", "j_0", "j_1", "k"]
    assert sch.trace.steps[2].decision == (1, 8) and trace.steps[2].decision == (2, 4)


def test_simplified_leaves_out_what_nothing_uses() -> None:
    sch = Schedule(matmul())
    unused = sch.get_block("C")
    sch.get_loops(unused)
    sch.sample_categorical([1, 2], probs=[0.5, 0.5])
    sch.parallel(sch.get_loops("D")[0])
    made = sch.trace.simplified()
    assert [step.primitive for step in made] == ["get_block", "get_loops", "parallel"]
    again = Schedule(matmul())
    made.apply_to(again)
    assert again.script() == sch.script()
    assert [step.primitive for step in sampled().trace.simplified(remove_postproc=True)][-1] == "split"


def test_texts_with_and_without_post_processing(capsys: pytest.CaptureFixture[str]) -> None:
    trace = sampled().trace
    assert "enter_postproc()" in trace.as_python() and "vectorize" in trace.as_json()
    assert trace.as_python(remove_postproc=True).splitlines()[-1].startswith("l3, l4 = sch.split")
    assert "vectorize" not in trace.as_json(remove_postproc=True)
    trace.show()
    assert capsys.readouterr().out == trace.as_python()


def test_a_provider_decides() -> None:
    asked: list[tuple[str, Any]] = []

    def provider(inst: Step, inputs: list[Any], attrs: list[Any], decision: Any) -> Any:
        asked.append((inst.kind.name, decision))
        return [8, 1]

    sch = Schedule(plain_matmul(8, 8, 8))
    sampled().trace.apply_to_schedule(sch, remove_postproc=True, decision_provider=provider)
    assert asked == [("SamplePerfectTile", (2, 4))] and sch.trace.steps[2].decision == (8, 1)


def test_saved_decisions_are_checked() -> None:
    saved = sampled().trace.as_json()
    Trace.apply_json_to_schedule(saved, Schedule(plain_matmul(8, 8, 8)))
    for wrong in ('"decision": [2, 0]', '"decision": "many"', '"decision": [2, 4.5]'):
        text = saved.replace('"decision": [2, 4]', wrong)
        with pytest.raises(ScheduleError) as caught:
            Trace.from_json(text)
        assert caught.value.code == "E-TRACE-ARGUMENT" and caught.value.where.startswith("line 6, column")
    text = saved.replace('"results": ["b0"]', '"results": ["b0"], "decision": 1')
    with pytest.raises(ScheduleError, match="takes no decision"):
        Trace.from_json(text)
