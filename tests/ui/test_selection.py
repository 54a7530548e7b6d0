"""What a cell reads of the selection: numbers of the program shown, never of one that was shown before."""

from __future__ import annotations

import workbench as wb
from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask
from tests.ui.commands import graph_screen
from workbench import relay
from workbench._lazy import session_of
from workbench.core.transform import PASSES
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench


def another() -> wb.Session:
    x = relay.var("x", shape=(4, 8))
    return wb.open(wb.IRModule.from_expr(relay.Function([x], relay.tanh(relay.exp(x)))))


def test_numbers_of_another_program_are_not_those_of_the_one_shown() -> None:
    screen = graph_screen()
    ask(screen, "select", classes=[0])
    assert screen.selection == (0,)
    first, screen.session = screen.session, another()
    assert screen.selection == (), "numbers of the program before: they name other things here"
    ask(screen, "select", classes=[1])
    assert screen.selection == (1,) and len(screen.session.provenance.links.things(screen.selection)) == 1
    screen.session = first
    assert screen.selection == ()


def test_numbers_stay_where_the_classes_are_numbered_alike() -> None:
    """A move of a schedule and another target make other programs, of the same statements and expressions."""
    schedule = Schedule(plain_matmul(8, 8, 8))
    screen = Workbench(session_of(schedule), schedule)
    ask(screen, "select", classes=[0])
    schedule.parallel(schedule.get_loops("C")[0])
    assert "Schedule" in screen.session.labels and screen.selection == (0,)
    screen = graph_screen()
    ask(screen, "select", classes=[0])
    screen.session = screen.session.rerun(target="llvm -mcpu=x86-64-v2")
    assert screen.selection == (0,)


def test_what_was_selected_is_there_again_with_its_program() -> None:
    screen = graph_screen()
    ask(screen, "select", classes=[0])
    screen.session = another()
    assert screen.selection == ()
    ask(screen, "pipeline.undo")
    assert screen.selection == (0,)


def test_a_program_that_fails_has_nothing_selected() -> None:
    screen = graph_screen()
    ask(screen, "select", classes=[0])

    @relay.transform.function_pass(opt_level=0, name="Failing")
    def Failing(function: object, mod: object, ctx: object) -> object:
        raise ValueError("not today")

    x = relay.var("x", shape=(4, 8))
    try:
        screen.session = wb.open(relay.Function([x], relay.tanh(x)), passes=["InferType", Failing, "FuseOps"])
        assert screen.selection == ()
    finally:
        PASSES.remove("Failing")


def test_a_cell_selects() -> None:
    screen = graph_screen()
    screen.selection = (0,)
    assert screen.selection == (0,)
