"""Saved traces: round trip, and wrong files refused with line and column, nothing applied."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.schedule.programs import chain, matmul
from workbench.schedule import PRIMITIVES, Schedule, ScheduleError, Trace


def saved() -> str:
    sch = Schedule(matmul())
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    _, inner = sch.split(j, factors=[None, 3])
    sch.reorder(k, i)
    sch.vectorize(inner)
    return sch.trace.as_json()


def test_saved_text(golden: Golden) -> None:
    golden(saved(), suffix=".json")
    assert Trace.from_json(saved()).as_json() == saved()


WRONG = {
    "cut file": lambda text: text[: len(text) // 2],
    "not json": lambda text: text.replace("[null, 3]", "[null, x]"),
    "empty": lambda text: "",
    "number": lambda text: "12",
    "unknown primitive": lambda text: text.replace('"split"', '"splitt"'),
    "factor zero": lambda text: text.replace("[null, 3]", "[null, 0]"),
    "factor negative": lambda text: text.replace("[null, 3]", "[null, -1]"),
    "factor huge": lambda text: text.replace("[null, 3]", f"[null, {2**63}]"),
    "factor float": lambda text: text.replace("[null, 3]", "[null, 2.5]"),
    "factor text": lambda text: text.replace("[null, 3]", '[null, "3"]'),
    "wrong axis": lambda text: text.replace('{"result": "l1"}', '{"result": "l9"}'),
    "block for a loop": lambda text: text.replace('{"result": "l1"}', '{"result": "b0"}'),
    "missing argument": lambda text: text.replace(', "factors": [null, 3]', ""),
    "unknown argument": lambda text: text.replace('"factors"', '"factor"'),
    "unknown field": lambda text: text.replace('"results": ["b0"]', '"results": ["b0"], "when": 1'),
    "missing field": lambda text: text.replace('"version": 1, "arguments": {"name"', '"arguments": {"name"'),
    "newer version": lambda text: text.replace('"vectorize", "version": 1', '"vectorize", "version": 2'),
    "other format": lambda text: text.replace("workbench.schedule", "workbench.model"),
    "name twice": lambda text: text.replace('["l3", "l4"]', '["l3", "l3"]'),
    "not a name": lambda text: text.replace('["l3", "l4"]', '["l3", "import os"]'),
    "keyword": lambda text: text.replace('["l3", "l4"]', '["l3", "class"]'),
    "results of none": lambda text: text.replace('"results": []', '"results": ["x"]', 1),
    "something after": lambda text: text + "{}",
    "too deep": lambda text: text.replace("[null, 3]", "[" * 100 + "]" * 100),
    "key twice": lambda text: text.replace('"factors"', '"loop"'),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused_with_their_place(name: str, golden: Golden) -> None:
    text = WRONG[name](saved())
    assert text != saved()
    with pytest.raises(ScheduleError) as caught:
        Trace.from_json(text)
    error = caught.value
    assert error.code.startswith("E-TRACE") and error.where.startswith("line ") and error.fix
    golden(str(error))


def test_a_trace_that_does_not_fit_applies_nothing() -> None:
    trace = Trace.from_json(saved())
    sch = Schedule(chain())
    before = sch.fingerprint()
    with pytest.raises(ScheduleError) as caught:
        trace.apply_to(sch)
    assert "step 1" in caught.value.where and caught.value.kept == "nothing of the trace was applied"
    assert sch.fingerprint() == before


def test_a_trace_refused_half_way_applies_nothing() -> None:
    sch = Schedule(matmul())
    block = sch.get_block("D")
    i, j = sch.get_loops(block)
    sch.parallel(i)
    trace = Trace.from_json(sch.trace.as_json().replace('"D"', '"C"'))
    other = Schedule(matmul())
    before = other.fingerprint()
    with pytest.raises(ScheduleError) as caught:
        trace.apply_to(other)
    assert caught.value.code == "E-TRACE-RESULTS" and other.fingerprint() == before
    assert j


def test_old_versions_are_migrated() -> None:
    from dataclasses import replace

    entry = PRIMITIVES["vectorize"]
    newer = replace(entry, version=2, migrations={1: lambda given: {"loop": given["axis"]}})
    PRIMITIVES.register("vectorize", newer, override=True)
    try:
        old = saved().replace(
            '"vectorize", "version": 1, "arguments": {"loop"', '"vectorize", "version": 1, "arguments": {"axis"'
        )
        trace = Trace.from_json(old)
    finally:
        PRIMITIVES.register("vectorize", entry, override=True)
    assert trace.steps[-1].arguments[0][0] == "loop" and trace.steps[-1].version == 2
