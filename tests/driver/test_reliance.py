"""Operators, tensor intrinsics and rules of users that are defined anew: live, reloaded and saved sessions hear it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import WorkbenchError, relay
from workbench.arith import build
from workbench.arith.intrinsics import INTRINSICS, Result
from workbench.arith.intrinsics import Intrinsic as Scalar
from workbench.ir import register_intrin_lowering
from workbench.relay.ir.operator import OPERATORS, Fusion, Operator, operator
from workbench.relay.patterns import any_, op
from workbench.relay.transforms.simplify_expr import RULES as SIMPLIFY
from workbench.tir.interpret import interpret
from workbench.tir.script import parse
from workbench.tir.tensor_intrin import TENSOR_INTRINSICS, TensorIntrin
from workbench.tir.transforms.intrinsic_rules import remove_intrin_lowering
from workbench.topi.emit import elementwise

FACTOR = {"now": 1.0}
LOOPS = """@T.prim_func
def main(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.exp(A[vi, vj])
"""
ROW = """@T.prim_func
def row(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        for i in T.serial(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = T.exp(A[vi])
"""
VECTOR = """@T.prim_func
def vector(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        B[T.ramp(0, 1, 4)] = A[T.ramp(0, 1, 4)] + T.broadcast(T.float32({}), 4)
"""


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(SIMPLIFY, "_rules", list(SIMPLIFY))
    yield
    OPERATORS.remove("test.times")
    TENSOR_INTRINSICS.remove("test.row")
    INTRINSICS.remove("test_intrinsic")
    remove_intrin_lowering("tir.exp", "llvm", 99)


class Times:
    """An operator whose code holds the factor, defined again as by a cell that is run again."""

    @staticmethod
    def define(factor: float) -> None:
        @operator("test.times", override=True)
        class _Times(Operator):
            fusion = Fusion.ELEMWISE

            def infer(self, data: Any) -> Any:
                return data

            def compute(self, data: Any) -> Any:
                return elementwise(self, lambda x: x * build.const(factor, x.dtype), data)

    @staticmethod
    def opened() -> Any:
        x = relay.var("x", shape=(4, 4))
        return wb.open(relay.Function([x], relay.Call(OPERATORS["test.times"](), [x])))


class TimesGlobal(Times):
    """An operator that reads a global; only that is changed."""

    @staticmethod
    def define(factor: float) -> None:
        FACTOR["now"] = factor
        if "test.times" in OPERATORS:
            return

        @operator("test.times")
        class _TimesGlobal(Operator):
            fusion = Fusion.ELEMWISE

            def infer(self, data: Any) -> Any:
                return data

            def compute(self, data: Any) -> Any:
                return elementwise(self, lambda x: x * build.const(FACTOR["now"], x.dtype), data)


class Simplification:
    """A rule of the user's in a table of the workbench's."""

    @staticmethod
    def define(factor: float) -> None:
        @SIMPLIFY.rule("test-exp", op("exp", any_("x")))
        def _rule(match: Any) -> Any:
            return relay.multiply(match["x"], relay.const(np.float32(factor)))

    @staticmethod
    def opened() -> Any:
        x = relay.var("x", shape=(4, 4))
        return wb.open(relay.Function([x], relay.exp(x)))


class Lowering:
    """What an intrinsic becomes on a target."""

    @staticmethod
    def define(factor: float) -> None:
        def rule(call: Any) -> Any:
            return call.args[0] * build.const(factor, "float32")

        register_intrin_lowering("tir.exp", "llvm", rule, level=99)

    @staticmethod
    def opened() -> Any:
        return wb.open(parse(LOOPS))


class Intrinsic:
    """A tensor intrinsic that a schedule by hand names."""

    @staticmethod
    def define(factor: float) -> None:
        TensorIntrin.register("test.row", parse(ROW), parse(VECTOR.format(factor - 1)), override=True)

    @staticmethod
    def opened() -> Any:
        session = wb.open(parse(LOOPS))
        schedule = session.schedule("main")
        schedule.tensorize(schedule.get_loops("B")[1], "test.row")
        return session.edit(schedule={"main": schedule})


@dataclass(frozen=True)
class Case:
    thing: Any
    needs_reload: bool = False
    """Whether the program holds the old one until it is reloaded."""


CASES = {
    "operator": Case(Times, needs_reload=True),
    "global of an operator": Case(TimesGlobal),
    "rule of a pass": Case(Simplification),
    "lowering rule": Case(Lowering),
    "tensor intrinsic": Case(Intrinsic),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def answer(session: Any) -> float:
    """What ones become; of the things above each gives its factor."""
    name = "x" if session.plan.level == "relay" else "A"
    return float(next(iter(session.run({name: np.ones((4, 4), "float32")}).values())).ravel()[0])


def saved_and_defined_anew(case: Case, folder: Path) -> str:
    """The file of a session that answered 3, after the factor has become 7."""
    case.thing.define(3)
    session, path = case.thing.opened(), str(folder / "s.wb.json")
    assert answer(session) == 3
    session.save(path)
    case.thing.define(7)
    return path


def test_a_live_session_answers_by_what_is_defined_now(case: Case) -> None:
    case.thing.define(3)
    session = case.thing.opened()
    assert answer(session) == 3
    case.thing.define(7)
    assert answer(session) == (3 if case.needs_reload else 7)
    assert answer(session.reload()) == 7
    case.thing.define(3)
    assert answer(session.reload()) == 3


def test_a_comparison_names_what_was_defined_anew() -> None:
    case = CASES["operator"]
    case.thing.define(3)
    session = case.thing.opened()
    assert answer(session) == 3
    case.thing.define(7)
    compared = wb.compare(session, session.reload(), {"x": np.ones((4, 4), "float32")}, repeat=1)
    assert compared.greatest_difference == 4
    assert compared.differing_definitions == ("program's operator test.times",)
    assert "defined otherwise: program's operator test.times" in str(compared)


def test_a_saved_session_is_not_taken_for_what_it_was(case: Case, tmp_path: Path) -> None:
    path = saved_and_defined_anew(case, tmp_path)
    opened = wb.open(path)
    with pytest.raises(WorkbenchError, match="E-SAVED-DIFFERS") as caught:
        answer(opened)
    assert "reload()" in str(caught.value) and caught.value.where.startswith("step ")
    again = str(tmp_path / "again.wb.json")
    opened.save(again)  # what it was made with is not lost
    with pytest.raises(WorkbenchError, match="E-SAVED-DIFFERS"):
        answer(wb.open(again))
    assert answer(opened.reload()) == 7
    case.thing.define(3)
    assert answer(wb.open(path)) == 3 and answer(wb.open(again)) == 3


def test_a_saved_session_hears_what_was_put_before_the_workbenchs_own(tmp_path: Path) -> None:
    session, path = Lowering.opened(), str(tmp_path / "s.wb.json")
    assert answer(session) == pytest.approx(np.e)
    session.save(path)
    Lowering.define(7)
    with pytest.raises(WorkbenchError, match=r"E-SAVED-DIFFERS.*lowering rule"):
        answer(wb.open(path))


def test_what_was_saved_holds_for_changed_plans_too(case: Case, tmp_path: Path) -> None:
    opened = wb.open(saved_and_defined_anew(case, tmp_path))
    changed = opened.rerun(disabled_pass=["Simplify"])
    with pytest.raises(WorkbenchError, match="E-SAVED-DIFFERS"):
        answer(changed)
    assert answer(changed.reload()) == 7
    for stopped in (changed, opened):
        with pytest.raises(WorkbenchError, match="E-SAVED-DIFFERS"):
            answer(stopped)  # a session is not changed by what is made of it


def test_what_has_no_key_hides_nothing_else(tmp_path: Path) -> None:
    lock, factor, path = threading.Lock(), {"now": 3.0}, str(tmp_path / "s.wb.json")

    def rule(call: Any) -> Any:
        with lock:
            return call.args[0] * build.const(factor["now"], "float32")

    register_intrin_lowering("tir.exp", "llvm", rule, level=99)
    session = Lowering.opened()
    assert answer(session) == 3
    last = session.step(len(session) - 1)
    assert session.step(len(session) - 1) is last and len(session.history.computed(session.actions)) == len(session)
    session.save(path)
    factor["now"] = 7.0
    assert answer(session) == 7
    with pytest.raises(WorkbenchError, match=r"E-SAVED-DIFFERS[\s\S]*lock.*which cannot be compared"):
        answer(wb.open(path))


def test_another_one_without_a_key_is_another_one() -> None:
    def define(factor: float) -> None:
        lock = threading.Lock()

        def rule(call: Any) -> Any:
            with lock:
                return call.args[0] * build.const(factor, "float32")

        register_intrin_lowering("tir.exp", "llvm", rule, level=99)

    define(1)
    session = Lowering.opened()
    for factor in range(1, 12):
        define(-1)
        define(factor)
        assert answer(session) == factor


def test_defined_anew_while_a_step_reads_it() -> None:
    began, goes_on = threading.Event(), threading.Event()

    def slow(call: Any) -> Any:
        began.set()
        assert goes_on.wait(60)
        return call.args[0] * build.const(3.0, "float32")

    register_intrin_lowering("tir.exp", "llvm", slow, level=99)
    session = Lowering.opened()
    running = threading.Thread(target=lambda: session.step(len(session) - 1))
    running.start()
    assert began.wait(60)
    Lowering.define(7)
    goes_on.set()
    running.join()
    assert answer(session) == 7


def test_what_a_run_changes_itself_is_run_again_where_it_is_asked_for() -> None:
    seen: list[str] = []

    def rule(call: Any) -> Any:
        seen.append(call.op.name)
        return call.args[0] * build.const(float(len(seen)), "float32")

    register_intrin_lowering("tir.exp", "llvm", rule, level=99)
    session = Lowering.opened()
    assert [answer(session), answer(session)] == [1, 2]
    assert session.provenance.line("main", 3) is not None


def test_the_interpreter_reads_intrinsics_as_they_are_now() -> None:
    _define_intrinsic(3)
    function = parse(LOOPS.replace("T.exp", "T.test_intrinsic"))
    for factor in (3, 7, 3):
        _define_intrinsic(factor)
        found = np.zeros((4, 4), "float32")
        interpret(function, np.ones((4, 4), "float32"), found)
        assert found[0, 0] == factor


def _define_intrinsic(factor: float) -> None:
    made = Scalar("test_intrinsic", 1, Result.FIRST, "times", lambda value: value * factor)
    INTRINSICS.register("test_intrinsic", made, override=True, module=__name__)


def test_steps_stay_while_what_they_read_stays(case: Case) -> None:
    case.thing.define(3)
    session = case.thing.opened()
    last = session.step(len(session) - 1)
    case.thing.define(3)  # a cell run again as it was

    @operator("test.other")
    class _Other(Operator):
        def infer(self, data: Any) -> Any:
            return data

    try:
        assert session.step(len(session) - 1) is last
    finally:
        OPERATORS.remove("test.other")


def test_only_steps_from_the_first_reader_on_are_computed_again() -> None:
    Intrinsic.define(3)
    session = Intrinsic.opened()
    assert answer(session) == 3
    before = [session.step(index) for index in range(len(session))]
    Intrinsic.define(7)
    after = [session.step(index) for index in range(len(session))]
    first = session.labels.index("Schedule")
    assert [a is b for a, b in zip(before, after, strict=True)] == [True] * first + [False] * (len(session) - first)
    assert before[first].state != after[first].state and before[first].id == after[first].id


def test_provenance_is_of_the_program_of_now() -> None:
    Intrinsic.define(3)
    session = Intrinsic.opened()
    assert answer(session) == 3
    before = session.provenance
    text = before.text(before.kernels[0], "ll")
    assert before is session.provenance
    Intrinsic.define(7)
    assert session.provenance.text(before.kernels[0], "ll") != text, "whether or not something else has run since"
    assert answer(session) == 7
    assert session.provenance is not before and session.provenance is session.provenance


def test_programs_with_another_operator_of_one_name_are_not_equal() -> None:
    prints = []
    for factor in (3, 7, 3):
        Times.define(factor)
        prints.append(Times.opened().plan.program.digest)
    assert prints[0] == prints[2] != prints[1]


def test_an_edit_that_differs_by_the_operators_code_alone_is_an_edit() -> None:
    Times.define(3)
    session = Times.opened()
    Times.define(7)
    edited = session.edit(relay=Times.opened().step(0).stage.module)
    assert answer(edited) == 7 and answer(session) == 3


def test_reload_carries_edits_to_the_operator_of_now() -> None:
    Times.define(3)
    session = Times.opened()
    edited = session.edit(relay=session.relay.script().replace("return v0", "return R.add(v0, v0)", 1))
    assert answer(edited) == 6
    Times.define(7)
    assert answer(edited.reload()) == 14 and answer(edited) == 6


def test_reload_refuses_an_operator_that_lost_an_attribute() -> None:
    @operator("test.times", override=True)
    class _Scaled(Operator):
        factor: float = 2.0
        fusion = Fusion.ELEMWISE

        def infer(self, data: Any) -> Any:
            return data

        def compute(self, data: Any) -> Any:
            return elementwise(self, lambda x: x * build.const(self.factor, x.dtype), data)

    session = Times.opened()
    assert answer(session) == 2
    Times.define(7)
    with pytest.raises(WorkbenchError, match=r"E-OPERATOR-FIELD.*factor"):
        session.reload()
    assert answer(session) == 2
