"""A schedule by hand leaves a kernel's parameters as its callers pass them; a function of one's own may change its."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import WorkbenchError, relay, te
from workbench.driver.build import build_model
from workbench.lower.provider import default_provider
from workbench.schedule import Schedule
from workbench.tir.script import parse

KERNEL = "fused_exp"

CHANGES: dict[str, tuple[Callable[[Schedule], object], str]] = {
    "rows and columns exchanged": (lambda sch: relaid(sch, "write", lambda i, j: (j, i)), "exp: float32[6, 4]"),
    "the read one": (lambda sch: relaid(sch, "read", lambda i, j: (j, i)), "p0: float32[6, 4]"),
    "rows backwards, of the same shape": (lambda sch: relaid(sch, "write", lambda i, j: (3 - i, j)), "(3 - i, j)"),
    "the read one's rows": (lambda sch: relaid(sch, "read", lambda i, j: (3 - i, j)), "(3 - i, j)"),
    "in blocks, padded": (lambda sch: relaid(sch, "write", lambda i, j: (i, j // 4, j % 4), 0.0), "[4, 2, 4]"),
    "in one axis": (lambda sch: relaid(sch, "write", lambda i, j: (i * 6 + j,)), "exp: float32[24]"),
    "unsafely": (
        lambda sch: sch.transform_layout(sch.get_block("exp"), ("write", 0), lambda i, j: (j, i), unsafe=True),
        "exp: float32[6, 4]",
    ),
}


def relaid(sch: Schedule, which: str, index_map: Callable[..., Any], pad_value: float | None = None) -> Schedule:
    sch.transform_layout(sch.get_block("exp"), (which, 0), index_map, pad_value=pad_value)
    return sch


def graph() -> Any:
    x = relay.var("x", shape=(4, 6))
    return relay.Function([x], relay.exp(x))


def changed(session: Any, what: str) -> Schedule:
    schedule = session.schedule(KERNEL, default=False)
    CHANGES[what][0](schedule)
    return schedule


def require_told(error: WorkbenchError, what: str) -> None:
    assert error.code == "E-EDIT-SIGNATURE" and KERNEL in error.where and error.fix and error.kept
    name = "p0" if "read" in what else "exp"
    assert CHANGES[what][1] in error.found and error.expected == f"{name}: float32[4, 6]"


@pytest.mark.parametrize("what", CHANGES)
def test_a_schedule_by_hand_keeps_the_parameters(what: str) -> None:
    session = wb.open(graph())
    with pytest.raises(WorkbenchError) as caught:
        session.edit(schedule={KERNEL: changed(session, what)})
    require_told(caught.value, what)


@pytest.mark.parametrize("what", CHANGES)
def test_a_provider_keeps_the_parameters(what: str) -> None:
    def provider(kernel: Any) -> Schedule:
        schedule = Schedule(kernel.func)
        CHANGES[what][0](schedule)
        return schedule

    with pytest.raises(WorkbenchError) as caught:
        build_model(wb.IRModule.from_expr(graph()), "llvm", provider=provider)
    require_told(caught.value, what)
    build_model(wb.IRModule.from_expr(graph()), "llvm", provider=default_provider)


@pytest.mark.parametrize("what", ["rows and columns exchanged", "rows backwards, of the same shape"])
def test_a_file_with_such_a_schedule_stops_at_its_step(what: str, tmp_path: Path) -> None:
    session = wb.open(graph())
    schedule = session.schedule(KERNEL, default=False)
    schedule.annotate(schedule.get_loops(schedule.get_block("exp"))[0], "note", 1)
    path = tmp_path / "s.wb.json"
    session.edit(schedule={KERNEL: schedule}).save(str(path))
    saved = json.loads(path.read_text())
    (row,) = (row for row in saved["plan"] if row.get("tails"))
    row["tails"][0]["trace"] = json.loads(changed(session, what).trace.as_json())
    path.write_text(json.dumps(saved))
    opened = wb.open(str(path))
    error = opened["Schedule"].error
    assert error is not None
    require_told(error, what)
    with pytest.raises(WorkbenchError) as caught:
        opened.run({"x": np.zeros((4, 6), np.float32)})
    assert caught.value is error


def test_a_copy_may_lie_otherwise() -> None:
    session = wb.open(graph())
    schedule = session.schedule(KERNEL, default=False)
    schedule.cache_write(schedule.get_block("exp"), 0, "global")
    relaid(schedule, "write", lambda i, j: (j, i))
    schedule.set_axis_separator(schedule.get_block("exp"), ("read", 0), [1])
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
    (found,) = session.edit(schedule={KERNEL: schedule}).run({"x": x}).values()
    np.testing.assert_allclose(found, np.exp(x), rtol=1e-6)


# --- loop programs of one's own ---------------------------------------------------------------------------------------

MAPS: dict[str, tuple[Callable[..., Any], Callable[[np.ndarray], np.ndarray]]] = {
    "exchanged": (lambda i, j: (j, i), lambda array: array.T),
    "backwards": (lambda i, j: (3 - i, j), lambda array: array[::-1]),
    "in blocks": (lambda i, j: (i, j // 3, j % 3), lambda array: array.reshape(4, 2, 3)),
}


@pytest.mark.parametrize("which", ["read", "write"])
@pytest.mark.parametrize("how", MAPS)
def test_who_runs_a_function_of_ones_own_sees_its_parameters(how: str, which: str, tmp_path: Path) -> None:
    index_map, arranged = MAPS[how]
    a = te.placeholder((4, 6), name="a")
    session = wb.open(te.create_prim_func([a, te.compute((4, 6), lambda i, j: a[i, j] * 2.0, name="exp")]))
    edited = session.edit(schedule={"main": relaid(session.schedule("main"), which, index_map)})
    edited.save(str(tmp_path / "s.wb.json"))
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    for made in (edited, wb.open(str(tmp_path / "s.wb.json"))):
        (found,) = made.run({"a": np.ascontiguousarray(arranged(x)) if which == "read" else x}).values()
        np.testing.assert_array_equal(found, x * 2 if which == "read" else arranged(x * 2))


CALLED = """
@I.ir_module
class Module:
    @T.prim_func
    def twice(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
        T.func_attr({"noalias": True})
        for i, j in T.grid(4, 6):
            with T.block("exp"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2.0)

    @T.prim_func
    def main(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
        T.func_attr({"noalias": True})
        with T.block("root"):
            T.reads(A[0:4, 0:6])
            T.writes(B[0:4, 0:6])
            T.evaluate(T.call_tir("twice", T.address_of(A[0, 0]), T.address_of(B[0, 0]), dtype="int32"))
"""


@pytest.mark.parametrize("how", MAPS)
def test_a_function_that_another_calls_keeps_its_parameters(how: str) -> None:
    session = wb.open(parse(CALLED))
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    np.testing.assert_array_equal(session.run({"A": x})["B"], x * 2)
    schedule = relaid(session.schedule("twice", default=False), "write", MAPS[how][0])
    with pytest.raises(WorkbenchError) as caught:
        session.edit(schedule={"twice": schedule})
    assert caught.value.code == "E-EDIT-SIGNATURE" and "main calls it" in caught.value.message


# --- texts ------------------------------------------------------------------------------------------------------------

TEXTS = {
    "strides": ('(4, 6), "float32")):', '(4, 6), "float32", strides=(1, 4))):', "strides [1, 4]"),
    "an offset": ('(4, 6), "float32")):', '(4, 6), "float32", elem_offset=2)):', "offset 2"),
    "another extent": ('(4, 6), "float32")):', '(4, 7), "float32")):', "float32[4, 7]"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_a_text_keeps_the_layout_of_the_parameters(what: str) -> None:
    before, after, told = TEXTS[what]
    session = wb.open(graph())
    text = session["Lower"].program[KERNEL].script()
    edited = session.edit(tir={KERNEL: text.replace(before, after)}, at="Lower")
    error = next(edited[label].error for label in edited.labels if edited[label].error is not None)
    assert error.code == "E-EDIT-SIGNATURE" and told in error.found and "exp: float32[4, 6]" in error.expected
