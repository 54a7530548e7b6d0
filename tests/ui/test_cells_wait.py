"""What a cell does with a screen waits for a page's command, which may have a thread of its own: all of it is here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.browser.fakes import FakePipeline
from tests.driver.planted_rule import INPUTS, planted_rule
from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask
from tests.ui.test_editors import of_matmul
from workbench.driver.session import Session
from workbench.schedule import Schedule
from workbench.ui import tensors
from workbench.ui.checks import ChecksScreen
from workbench.ui.pipeline import PipelineStepper
from workbench.ui.schedule import ScheduleEditor
from workbench.ui.workbench import Workbench

Does = Callable[[Any], object]


class Held(Exception):
    """Another thread has the screen: here one would wait."""


class OfAnother:
    """A lock that another thread has."""

    def __enter__(self) -> None:
        raise Held

    def __exit__(self, *exception: object) -> None:
        raise AssertionError("nobody has entered")

    def acquire(self, blocking: bool = True) -> bool:
        if blocking:
            raise Held
        return False


def workbench() -> Workbench:
    return of_matmul()[0]


def setting(name: str, value: Callable[[], object]) -> Does:
    return lambda screen: setattr(screen, name, value())


def checking(screen: Any) -> None:
    screen.checks.check = None  # which check is of no matter: it waits before it looks


CASES: list[tuple[str, Callable[[], Any], Does]] = [
    ("session", workbench, lambda screen: screen.session),
    ("session =", workbench, setting("session", lambda: of_matmul()[0].session)),
    ("inputs =", workbench, setting("inputs", lambda: {"A": np.ones(2)})),
    ("journal()", workbench, lambda screen: screen.journal()),
    ("schedule", workbench, lambda screen: screen.schedule),
    ("code", workbench, lambda screen: screen.code),
    ("selected", workbench, lambda screen: screen.selected),
    ("select()", workbench, lambda screen: screen.select("Import")),
    ("selection", workbench, lambda screen: screen.selection),
    ("selection =", workbench, setting("selection", lambda: (0,))),
    ("checks.check", workbench, lambda screen: screen.checks.check),
    ("checks.check =", workbench, checking),
    ("stepper.model =", lambda: PipelineStepper(FakePipeline()), setting("model", FakePipeline)),
    ("stepper.view", lambda: PipelineStepper(FakePipeline()), lambda screen: screen.view),
    ("stepper.selected", lambda: PipelineStepper(FakePipeline()), lambda screen: screen.selected),
    ("stepper.select()", lambda: PipelineStepper(FakePipeline()), lambda screen: screen.select("FuseOps")),
    ("editor.schedule =", lambda: ScheduleEditor(Schedule(plain_matmul())),
     setting("schedule", lambda: Schedule(plain_matmul(8, 8, 8)))),
]  # fmt: skip


@pytest.mark.parametrize(("made", "does"), [one[1:] for one in CASES], ids=[one[0] for one in CASES])
def test_a_cell_waits_for_the_command_that_a_page_has_asked(
    made: Callable[[], Any], does: Does, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = made()
    monkeypatch.setattr(screen._dispatcher, "one_at_a_time", OfAnother())
    with pytest.raises(Held):
        does(screen)


def test_a_screen_of_checks_alone_waits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with planted_rule() as session:
        check = session.check(INPUTS).wait()
        screen = ChecksScreen(check)
        monkeypatch.setattr(screen._dispatcher, "one_at_a_time", OfAnother())
        with pytest.raises(Held):
            assert screen.check
        with pytest.raises(Held):
            screen.check = check


def test_a_check_is_of_the_inputs_that_it_ran_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs that come between the check and its filing: it stood under these, and was shown as theirs."""
    with planted_rule() as session:
        screen = Workbench(session)
        screen.inputs = INPUTS
        begin = Session.check

        def overtaken(self: Session, *args: Any, **options: Any) -> Any:
            made = begin(self, *args, **options)
            screen.inputs = {name: array + 1 for name, array in INPUTS.items()}  # in this thread, which has the screen
            return made

        monkeypatch.setattr(Session, "check", overtaken)
        shown = ask(screen, "checks.start")
        assert shown["state"] == "none", "the check of the inputs before is shown as one of those now"
        screen.inputs = INPUTS
        check = screen.checks.check
        assert check is not None, "the check is not filed under what it ran on"
        for name, array in INPUTS.items():
            np.testing.assert_array_equal(check.inputs[name], array)
        check.wait()


def test_tensors_are_kept_under_the_inputs_that_they_are_of(monkeypatch: pytest.MonkeyPatch) -> None:
    with planted_rule() as session:
        screen = Workbench(session)
        screen.inputs = INPUTS
        step = ask(screen, "tensors.steps")["graph"][0]
        told_apart = tensors.identities

        def overtaken(*args: Any) -> Any:  # after those that are run on were read, and before they are told apart
            screen.inputs = {name: array + 1 for name, array in INPUTS.items()}
            return told_apart(*args)

        monkeypatch.setattr(tensors, "identities", overtaken)
        before = ask(screen, "tensors.look", step=step, number=0)["facts"]
        monkeypatch.undo()
        assert ask(screen, "tensors.look", step=step, number=0)["facts"] != before, "tensors of the inputs before"
