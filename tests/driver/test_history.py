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


# --- errors of the moment -------------------------------------------------------------------------------------------


def outcome(session: Any) -> str:
    """The code of the error that a run ends in; "ran" where it does not."""
    try:
        session.run(small_inputs())
    except WorkbenchError as error:
        return error.code
    return "ran"


def test_a_time_limit_that_is_over_stops_no_later_run() -> None:
    """The first step that was out of time said so for ever, to runs without a limit and after `reload` as well."""
    session = wb.open(small_model(31))
    with wb.time_limit(1e-9):
        assert outcome(session) == "E-TIME-LIMIT"
    assert outcome(session.rerun(disabled_pass=["FuseOps"])) == "ran" and outcome(session) == "ran"


def test_a_thread_without_a_time_limit_does_not_hear_of_another_s() -> None:
    inside, go = threading.Event(), threading.Event()

    def run(module: IRModule, context: PassContext) -> IRModule:
        if not inside.is_set():
            inside.set()
            go.wait()
            raise WorkbenchError("E-TIME-LIMIT", "this takes too long")
        return module

    session = small_session().rerun(insert={"InferType": Pass(PassInfo("Takes"), run, {})})
    found: dict[str, Any] = {}
    limited, other = (
        threading.Thread(target=lambda name=name: found.update({name: session["Takes"].step.error}))
        for name in ("limited", "other")
    )
    limited.start()
    inside.wait()
    other.start()
    go.set()
    limited.join()
    other.join()
    assert found["limited"].code == "E-TIME-LIMIT"
    assert found["other"] is None, f"the other thread was answered with {found['other']}"


def test_a_limit_that_was_raised_as_told_lets_the_session_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    session = wb.open(small_model(32))
    with monkeypatch.context() as lower:
        lower.setattr(wb.limits, "operands", 3)
        assert outcome(session) == "E-LIMIT"
        failed = next(step for step in session.steps if step.error is not None)
        assert session.step(failed.name) is failed.step, "under the same limits a failed step is not computed again"
    assert outcome(session) == "ran"


@pytest.mark.parametrize("kind", [FileNotFoundError, MemoryError])
def test_what_the_machine_lacked_is_looked_for_again(kind: type[Exception]) -> None:
    there = threading.Event()

    def run(module: IRModule, context: PassContext) -> IRModule:
        if not there.is_set():
            raise kind("weights.npz")
        return module

    session = small_session().rerun(insert={"InferType": Pass(PassInfo("Reads"), run, {})})
    assert outcome(session) == "E-PASS-FAILED"
    there.set()
    assert outcome(session) == "ran"


def test_a_pass_that_counts_its_runs_may_be_run_again_after_a_failure() -> None:
    """What a failed run had written into the pass's own list was taken for a change of the pass."""
    runs: list[int] = []

    def run(module: IRModule, context: PassContext) -> IRModule:
        runs.append(1)
        if len(runs) == 1:
            raise WorkbenchError("E-TIME-LIMIT", "this takes too long")
        return module

    session = small_session().rerun(insert={"InferType": Pass(PassInfo("Counts"), run, {})})
    assert outcome(session) == "E-TIME-LIMIT"
    assert outcome(session) == "ran"


def test_reload_tries_again_what_failed() -> None:
    """What a pass finds wrong stays so; but whoever asks for a reload says that something is another now."""
    server = threading.Event()

    def run(module: IRModule, context: PassContext) -> IRModule:
        if not server.is_set():
            raise ValueError("the server is down")
        return module

    session = small_session().rerun(insert={"InferType": Pass(PassInfo("Asks"), run, {})})
    assert outcome(session) == "E-PASS-FAILED"
    server.set()
    assert outcome(session) == "E-PASS-FAILED", "an error of the pass itself is found once"
    assert outcome(session.reload()) == "ran"
