"""The history of a screen is whole, wherever an interrupt comes and whoever looks meanwhile."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import pytest

import workbench as wb
from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask
from workbench._lazy import session_of
from workbench.schedule import Schedule
from workbench.ui import editors
from workbench.ui.changes import Changes
from workbench.ui.pipeline_edits import Edits
from workbench.ui.workbench import Workbench
from workbench.views.pipeline import SessionModel

pytestmark = pytest.mark.usefixtures("kept_here", "interruptible")


def of_matmul() -> tuple[Workbench, Schedule]:
    schedule = Schedule(plain_matmul(8, 8, 8))
    return Workbench(session_of(schedule), schedule), schedule


def names(schedule: Schedule) -> list[str]:
    return [move.name for move in schedule.moves.done]


def test_an_interrupt_while_the_screen_follows_leaves_the_cells_move(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, schedule = of_matmul()
    ask(screen, "schedule.apply", kernel="main", primitive="parallel", selection="l:C:0", arguments={})
    schedule.unroll(schedule.get_loops("C")[2])
    really = editors.Editors.shown

    def interrupted(self: editors.Editors, session: Any) -> None:
        monkeypatch.setattr(editors.Editors, "shown", really)
        raise KeyboardInterrupt

    monkeypatch.setattr(editors.Editors, "shown", interrupted)
    with pytest.raises(KeyboardInterrupt):
        assert screen.session
    assert names(schedule) == ["parallel", "unroll"]
    assert names(screen.session.schedule("main")) == ["parallel", "unroll"]
    assert ask(screen, "open")["undo"] == 2 and ask(screen, "open")["trouble"] is None


def at_every_line(inside: Sequence[Callable[..., object]], work: Callable[[], object]) -> Iterator[None]:
    """Interrupt `work` at its first line in these functions, in the next round at its second, to its last."""
    codes, reached = {function.__code__ for function in inside}, set[Any]()
    for number in count(1):
        left = [number]

        def trace(frame: Any, event: str, argument: object, left: list[int] = left) -> Any:
            if event == "line" and frame.f_code in codes:
                left[0] -= 1
                if left[0] == 0:
                    sys.settrace(None)
                    reached.add(frame.f_code)
                    signal.raise_signal(signal.SIGINT)
            return trace

        known, heard = sys.gettrace(), False
        sys.settrace(trace)
        try:
            work()
        except KeyboardInterrupt:
            heard = True
        finally:
            sys.settrace(known)
        if left[0] > 0:
            break
        assert heard, f"the interrupt at line {number} was not heard"
        yield
    assert reached == codes, "each function is interrupted"


def test_an_interrupt_at_any_line_leaves_a_move_whole_or_to_the_next_look() -> None:
    """Its undo, its Python and what is kept of it are together."""
    shown: list[tuple[Workbench, Schedule]] = []

    def follow() -> None:
        shown.append(of_matmul())
        schedule = shown[-1][1]
        schedule.unroll(schedule.get_loops("C")[2])
        assert shown[-1][0].session

    inside = (Edits.go, Edits._to, editors.Editors._follow, editors.Editors._take_over, Changes.moved_by_cell)  # type: ignore[attr-defined]
    for _ in at_every_line(inside, follow):
        screen, schedule = shown.pop()
        told = ask(screen, "open")
        assert told["undo"] == len(told["calls"]) == 1, told["calls"]
        assert names(schedule) == names(screen.session.schedule("main")) == ["unroll"]
        assert [one["op"] for one in screen._begun.record.entries] == ["schedule.replay"]
        ask(screen, "pipeline.undo")
        assert ask(screen, "open")["redo"] == 1 and names(screen.session.schedule("main")) == []


def test_an_interrupt_at_any_line_puts_another_session_there_whole_or_not_at_all() -> None:
    other = wb.open(plain_matmul(4, 4, 4))
    shown: list[Workbench] = []
    setter: Any = Workbench.session.fset  # type: ignore[attr-defined]

    def put() -> None:
        shown.append(of_matmul()[0])
        shown[-1].session = other

    found = set[tuple[object, ...]]()
    for _ in at_every_line((setter, Edits.go, Edits._to, editors.Editors.part), put):  # type: ignore[attr-defined]
        screen = shown.pop()
        told = ask(screen, "open")
        found.add((told["undo"], told["start"]["kernel"], screen.session is other, screen._begun is screen._first))
        assert (told["start"]["kernel"] == "main") == (screen._editors.known("main") is not None)
    assert found == {(0, "main", False, True), (1, "", True, False)}


def test_another_session_waits_for_what_a_page_has_asked_for() -> None:
    screen, other = of_matmul()[0], wb.open(plain_matmul(4, 4, 4))
    SessionModel(other).view()  # what takes long waits for nothing
    before = screen.session

    def put() -> None:
        screen.session = other

    with screen._dispatcher.one_at_a_time:
        thread = threading.Thread(target=put)
        thread.start()
        thread.join(1)
        assert thread.is_alive() and screen.session is before and ask(screen, "open")["start"]["kernel"] == "main"
    thread.join()
    assert screen.session is other


def test_who_is_told_of_a_change_finds_its_undo_and_its_python(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, _ = of_matmul()
    found: list[tuple[int, int, int]] = []

    def announce(name: str, **args: Any) -> None:
        told = ask(screen, "open")
        found.append((told["undo"], told["redo"], len(told["calls"])))

    monkeypatch.setattr(screen, "announce", announce)
    ask(screen, "schedule.apply", kernel="main", primitive="unroll", selection="l:C:2", arguments={})
    ask(screen, "pipeline.undo")
    ask(screen, "pipeline.redo")
    assert list(dict.fromkeys(found)) == [(1, 0, 1), (0, 1, 0)] and found[-1] == (1, 0, 1)


def test_a_cell_that_looks_while_a_page_undoes_and_redoes_is_right() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(10):
            screen, _ = of_matmul()
            ask(screen, "schedule.apply", kernel="main", primitive="parallel", selection="l:C:0", arguments={})
            wrong: list[object] = []

            def page(screen: Workbench = screen, wrong: list[object] = wrong) -> None:
                for op in ("schedule.undo", "schedule.redo") * 2:
                    reply = screen.ask(op, kernel="main").content
                    wrong.extend([] if reply["ok"] else [reply["err"]])

            def cell(screen: Workbench = screen, wrong: list[object] = wrong) -> None:
                for _ in range(100):
                    try:
                        assert screen.session
                    except Exception as error:
                        wrong.append(error)

            threads = [threading.Thread(target=work) for work in (page, cell)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            told = ask(screen, "open")
            assert wrong == [] and (told["undo"], told["redo"], len(told["calls"])) == (1, 0, 1)
    finally:
        sys.setswitchinterval(interval)
