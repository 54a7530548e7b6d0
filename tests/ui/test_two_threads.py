"""A cell and a page's command in two threads, as JupyterLab has it: neither takes back or loses what the other does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask
from tests.ui.test_editors import agreed, click, of_matmul
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench


def names(schedule: Any) -> list[str]:
    return [step.primitive for step in schedule.trace.steps if not step.primitive.startswith("get_")]


def meanwhile(work: Callable[[], object]) -> None:
    """Do it in another thread, to its end."""
    found: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # told here
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "it waits for ever"
    assert not found, found


@pytest.mark.parametrize("first", ["restart", "unroll"])
def test_what_a_cell_goes_on_to_do_while_the_screen_follows_stays(
    first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, sch = of_matmul()
    click(screen, "parallel", "l:C:0")
    edits: Any = screen._steps.edits
    to = edits._to

    def overtaken(*args: Any) -> Any:
        monkeypatch.setattr(edits, "_to", to)
        meanwhile(lambda: sch.vectorize(sch.get_loops("C")[1]))
        return to(*args)

    monkeypatch.setattr(edits, "_to", overtaken)
    if first == "restart":
        sch.restart()
    else:
        sch.unroll(sch.get_loops("C")[2])
    meanwhile(lambda: ask(screen, "schedule.open", kernel="main"))
    expected = ["vectorize"] if first == "restart" else ["parallel", "unroll", "vectorize"]
    assert names(sch) == expected, "the cell's move was taken back"
    agreed(screen, sch)
    assert names(screen.session.schedule("main")) == expected


def test_a_command_waits_for_a_step_and_a_step_for_a_command() -> None:
    sch = Schedule(plain_matmul(8, 8, 8))
    loops = sch.get_loops("C")
    inside, go_on = threading.Event(), threading.Event()
    done: list[str] = []

    def holding() -> None:
        with sch.alone():
            inside.set()
            assert go_on.wait(20)
            sch.parallel(loops[0])
            done.append("parallel")

    def stepping() -> None:
        sch.vectorize(loops[1])
        done.append("vectorize")

    one, other = threading.Thread(target=holding), threading.Thread(target=stepping)
    one.start()
    assert inside.wait(20)
    other.start()
    other.join(0.3)
    assert other.is_alive() and done == []
    go_on.set()
    one.join(20)
    other.join(20)
    assert done == ["parallel", "vectorize"] and names(sch) == ["parallel", "vectorize"]


def test_steps_of_several_threads_are_all_there_and_replayed() -> None:
    sch = Schedule(plain_matmul(64, 64, 64))
    loops = sch.get_loops("C")

    def annotated(number: int) -> None:
        for at in range(10):
            sch.annotate(loops[number], f"remark_{number}_{at}", at)

    threads = [threading.Thread(target=annotated, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(names(sch)) == 30
    again = Schedule(plain_matmul(64, 64, 64))
    again.replay(sch.trace)
    assert again.script() == sch.script()


def test_clicks_and_a_cells_moves_are_all_there() -> None:
    screen, sch = of_matmul()
    for number, loop in enumerate(sch.get_loops("C")):
        sch.annotate(loop, "own", number)
    stop = threading.Event()
    troubles: list[Any] = []

    def asking() -> None:
        while not stop.is_set():
            try:
                ask(screen, "schedule.open", kernel="main")
            except Exception as error:  # told below
                troubles.append(error)

    thread = threading.Thread(target=asking)
    thread.start()
    try:
        for at in range(8):
            sch.restart()
            for number, loop in enumerate(sch.get_loops("C")):
                sch.annotate(loop, f"turn_{at}", number)
            assert names(sch) == ["annotate"] * 3, f"turn {at}: a move was taken back"
    finally:
        stop.set()
        thread.join(60)
    assert troubles == []
    assert names(sch) == ["annotate"] * 3
    agreed(screen, sch)


def test_who_watches_is_told_after_the_step_and_may_look_at_the_screen() -> None:
    """A watcher that waits for the screen, in the cell's thread, while a command holds the screen and waits for it."""
    screen, sch = of_matmul()
    seen: list[Workbench] = []

    class Watcher:
        def moved(self) -> None:
            seen.append(screen)
            assert screen.session is not None

    watcher = Watcher()
    sch.watch(watcher.moved)
    threads = [
        threading.Thread(target=lambda: click(screen, "unroll", "l:C:2")),
        threading.Thread(target=lambda: sch.annotate(sch.get_loops("C")[0], "mine", 1)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads), "they wait for each other"
    assert sorted(names(sch)) == ["annotate", "unroll"] and seen
