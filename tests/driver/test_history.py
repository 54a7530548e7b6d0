"""The step history: equal plans share their steps, branches share prefixes, failures are steps too."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb
from tests.driver.programs import small_inputs, small_model, small_session
from workbench import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.transform import Pass, PassContext, PassInfo, PassInstrument
from workbench.driver.history import History


def failing(name: str, error: Exception) -> Pass:
    def run(module: IRModule, context: PassContext) -> IRModule:
        raise error

    return Pass(PassInfo(name), run, {})


def test_the_same_command_gives_the_same_steps() -> None:
    session = small_session()
    one, other = session.rerun(disabled_pass=["FoldScaleAxis"]), session.rerun(disabled_pass=["FoldScaleAxis"])
    assert one.plan == other.plan and hash(one.plan) == hash(other.plan)
    assert one.step(len(one) - 2) is other.step(len(other) - 2), "an equal plan was computed twice"


def test_branches_share_the_steps_before_the_fork() -> None:
    session = small_session()
    branch = session.rerun(disabled_pass=["FoldScaleAxis"])
    fork = session.labels.index("FoldScaleAxis")
    for index in range(fork):
        assert session.step(index) is branch.step(index), f"step {session.labels[index]} was computed again"
    assert session.step(fork) is not branch.step(fork)


def test_steps_are_computed_when_looked_at() -> None:
    session = wb.open(small_model(3))
    assert len(session.history) == 0
    assert session.history.peek(session.actions, 4) is None
    session["InferType"].script()
    assert len(session.history) == 2
    assert session.history.peek(session.actions, 1) is session.step(1)


def test_a_failure_is_a_step_that_keeps_the_program() -> None:
    session = small_session().rerun(replace={"SimplifyExpr": failing("Refuses", WorkbenchError("E-MINE", "no"))})
    step = session["Refuses"].step
    assert step.error is not None and step.error.code == "E-MINE"
    assert step.error.where == "pass Refuses"
    assert step.stage is step.previous.stage and not step.changed
    later = session["FuseOps"].step
    assert later.error is step.error, "steps after a failure carry its error"
    with pytest.raises(WorkbenchError) as caught:
        session.run(small_inputs())
    assert caught.value is step.error


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("y"), AssertionError(), RecursionError()])
def test_a_bug_in_a_pass_is_one_located_error(error: Exception) -> None:
    step = small_session().rerun(replace={"SimplifyExpr": failing("Breaks", error)})["Breaks"].step
    assert step.error is not None and step.error.code == "E-PASS-FAILED"
    assert "test_history.py line" in step.error.where


def test_an_empty_plan_has_no_steps() -> None:
    with pytest.raises(WorkbenchError, match="no steps"):
        History().step((), 0)


def test_labels_number_what_occurs_again() -> None:
    labels = small_session().labels
    assert [label for label in labels if label.startswith("FoldConstant")] == [
        "FoldConstant",
        "FoldConstant#2",
        "FoldConstant#3",
    ]
    assert len(set(labels)) == len(labels)


def test_a_step_times_its_work_and_logs_its_rewrites() -> None:
    session = small_session()
    handle = session["FoldConstant"]
    assert handle.milliseconds > 0
    assert handle.changed and handle.rewrites, "FoldConstant folds the batch norm's constants"
    assert not session["InferType"].changed


def test_a_broken_import_is_raised_at_once() -> None:
    broken: Any = object()
    with pytest.raises(WorkbenchError) as caught:
        wb.open(broken)
    assert caught.value.code == "E-OPEN-KIND"


def test_two_threads_compute_a_step_once() -> None:
    runs: list[int] = []
    inside = threading.Barrier(2)

    def run(module: IRModule, context: PassContext) -> IRModule:
        runs.append(1)
        try:
            inside.wait(0.1)  # a second run would come in and end the waiting at once
        except threading.BrokenBarrierError:
            pass
        return module

    session = small_session().rerun(insert={"InferType": Pass(PassInfo("Waits"), run, {})})
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(session["Waits"].step)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs) == 1 and found[0] is found[1]


class Watching:
    """Counts the branches that it is told of."""

    told = 0

    def branch_made(self, history: History) -> None:
        self.told += 1


def test_a_screen_comes_up_in_one_thread_while_another_makes_a_branch() -> None:
    session, first, later = wb.open(small_model()), Watching(), Watching()
    history = session.history

    class Watched(weakref.WeakSet[Any]):
        def __iter__(self) -> Iterator[Any]:
            for one in super().__iter__():
                thread = threading.Thread(target=history.watch, args=(later,))
                thread.start()
                thread.join(0.2)  # while the first one is looked at; afterwards where it has to wait
                yield one

    history._watchers = Watched([first])
    history.note(session.plan, session.rerun(disabled_pass=["FuseOps"]).actions)
    assert first.told == 1


def test_what_steps_are_known_by_the_identity_of_lives_as_long_as_they() -> None:
    class Watches(PassInstrument):
        def should_run(self, mod: Any, info: Any) -> bool:
            return True

    decider = Watches()
    alive = weakref.ref(decider)
    with PassContext(instruments=[decider]):
        session = wb.open(small_model(4))
    history = session.history
    session.actions  # noqa: B018
    del session, decider
    gc.collect()
    assert alive() is not None and history.plans
