"""An interrupt during a command of a page: the page is answered, the program is as it was, the runner hears of it."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.driver.programs import small_session
from tests.schedule.programs import plain_matmul
from workbench.schedule import Schedule
from workbench.ui import changes_store
from workbench.ui.protocol import Answer
from workbench.ui.screen import Screen
from workbench.ui.workbench import Workbench

ROOT = Path(__file__).parents[2]


def interrupted(args: dict[str, Any]) -> Answer:
    raise KeyboardInterrupt


def request(op: str, **args: Any) -> dict[str, Any]:
    return {"v": 1, "id": 4, "op": op, "state": "", "args": args}


def test_the_page_is_answered_and_the_interrupt_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen("pipeline", {"slow": interrupted})
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(screen, "send", lambda content, buffers=None: sent.append(content))
    with pytest.raises(KeyboardInterrupt):
        screen._receive(screen, request("slow"), None)
    assert [(one["id"], one["ok"], one["err"]["code"]) for one in sent] == [(4, False, "E-UI-INTERRUPTED")]
    assert "as they were" in sent[0]["err"]["kept"]


def test_a_cell_that_asks_gets_the_interrupt_itself() -> None:
    with pytest.raises(KeyboardInterrupt):
        Screen("pipeline", {"slow": interrupted}).ask("slow")


def test_a_change_interrupted_while_it_is_shown_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interrupt comes after the stepper has the new model and before the history has the old one."""
    screen = Workbench(small_session())
    before, tell = screen.session, screen.announce
    step = next(one.id for one in screen._steps.view.steps if one.name == "FuseOps")
    once = [True]

    def announce(name: str, **args: Any) -> None:
        if name == "changed" and once:
            once.clear()
            raise KeyboardInterrupt
        tell(name, **args)

    monkeypatch.setattr(screen, "announce", announce)
    with pytest.raises(KeyboardInterrupt):
        screen.ask("pipeline.without", step=step)
    assert screen.session.plan == before.plan
    view = screen.ask("open").content["view"]
    assert (view["undo"], view["redo"], view["calls"]) == (0, 0, [])
    assert screen.ask("pipeline.without", step=step).content["ok"]
    assert screen.ask("pipeline.undo").content["ok"] and screen.session.plan == before.plan


CELL = """
import time
import workbench as wb
from tests.schedule.programs import plain_matmul
from workbench.driver.session import Session
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench

sch = Schedule(plain_matmul(8, 8, 8))
screen = Workbench(wb.open(sch), schedule=sch)
edit = Session.edit
def slow(self, *args, **options):
    print("inside", flush=True)
    time.sleep(60)
Session.edit = slow
box = screen.ask("schedule.open", kernel="main").content["view"]["tree"][0]["id"]
print(f"comm={screen.comm.comm_id} box={box}")
"""
AFTER = """
assert sch.moves.done == [] or sch.moves.done == (), sch.moves.done
Session.edit = edit
assert screen.ask("schedule.apply", kernel="main", primitive="parallel", selection=box).content["ok"]
assert len(sch.moves.done) == 1
"""


@pytest.mark.timeout(120)
def test_a_real_signal_in_a_kernel() -> None:
    """A click that takes long, the notebook's button *Interrupt*: the page hears of it, the next cell runs."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", cwd=str(ROOT), startup_timeout=60)
    try:
        told: list[str] = []

        def hear(message: dict[str, Any]) -> None:
            if message["msg_type"] == "stream":
                told.append(message["content"]["text"])

        reply = client.execute_interactive(CELL, timeout=60, output_hook=hear)
        assert reply["content"]["status"] == "ok", reply["content"]
        comm, box = (word.split("=", 1)[1] for word in "".join(told).split()[-2:])
        args = {"kernel": "main", "primitive": "parallel", "selection": box, "arguments": {}}
        data = {"method": "custom", "content": request("schedule.apply", **args)}
        client.shell_channel.send(client.session.msg("comm_msg", {"comm_id": comm, "data": data}))
        answer: dict[str, Any] = {}
        while not answer:
            message = client.get_iopub_msg(timeout=60)
            if message["msg_type"] == "stream" and "inside" in message["content"]["text"]:
                threading.Thread(target=manager.interrupt_kernel).start()
            if message["msg_type"] == "comm_msg":
                content = message["content"]["data"].get("content", {})
                answer = content if content.get("id") == 4 else {}
        assert answer["ok"] is False and answer["err"]["code"] == "E-UI-INTERRUPTED"
        checked = client.execute_interactive(AFTER, timeout=60)
        assert checked["content"]["status"] == "ok", checked["content"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_a_move_interrupted_before_the_session_has_it_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Schedule(plain_matmul(8, 8, 8))
    screen = Workbench(wb.open(schedule), schedule=schedule)
    box = screen.ask("schedule.open", kernel="main").content["view"]["tree"][0]["id"]
    before = screen.session
    monkeypatch.setattr(type(before), "edit", lambda *args, **options: interrupted({}))
    with pytest.raises(KeyboardInterrupt):
        screen.ask("schedule.apply", kernel="main", primitive="parallel", selection=box)
    assert len(schedule.moves.done) == 0 and screen.session is before


def test_an_interrupt_while_a_change_is_saved_comes_after_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The page was told that the program is as it was; it was not, and the journal did not hold the move."""
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("WORKBENCH_CHANGES", raising=False)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    write = changes_store.write_whole

    def pressed(*args: Any, **options: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        write(*args, **options)

    monkeypatch.setattr(changes_store, "write_whole", pressed)
    sch = Schedule(plain_matmul(8, 8, 8))
    screen = Workbench(wb.open(sch), schedule=sch)
    args = {"kernel": "main", "primitive": "parallel", "selection": "l:C:0", "arguments": {}}
    try:
        reply = screen._dispatcher.handle(request("schedule.apply", **args))
    finally:
        signal.signal(signal.SIGINT, before)
    assert reply is not None and reply.content["ok"] and reply.interrupt is not None
    assert "parallel" in screen.code and screen._changes.count == 1
    assert [entry.op for entry in screen._begun.journal.entries] == ["schedule.apply"]
