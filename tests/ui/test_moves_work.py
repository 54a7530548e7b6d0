"""What a move of one kernel's schedule costs the screen of a network: work on that kernel, and on no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.ui.asking import ask
from tests.work import calls
from workbench import relay
from workbench.analysis.operations import flops
from workbench.core.node import pre_order
from workbench.driver import branches, plan
from workbench.driver.call_alignment import _entry_calls
from workbench.lower.provider import default_provider
from workbench.schedule.running import replayed
from workbench.ui.workbench import Workbench

KERNEL = "fused_nn_dense_nn_relu"


@pytest.fixture(autouse=True)
def _kept_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))


def network() -> Any:
    """Four kernels, one of them a dense layer with its activation."""
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(16, 8))
    body = relay.nn.relu(relay.nn.dense(x, w))
    body = relay.nn.softmax(body)
    body = relay.nn.dense(body, relay.var("v", shape=(8, 16)))
    return relay.Function(relay.analysis.free_vars(body), relay.nn.softmax(body))


def opened() -> Workbench:
    """A screen whose page has looked at all that a move draws anew."""
    screen = Workbench(wb.open(wb.IRModule.from_expr(network())))
    for op in ("open", "kernels", "pipeline.open"):
        ask(screen, op)
    ask(screen, "schedule.open", kernel=KERNEL)
    return screen


def boxes(screen: Workbench) -> list[str]:
    """The loops that nothing is done to yet."""
    found: list[str] = []
    waiting = list(ask(screen, "schedule.open", kernel=KERNEL)["tree"])
    while waiting:
        node = waiting.pop(0)
        found += [node["id"]] if node["kind"] == "loop" else []
        waiting += node["children"]
    return found


def serial(screen: Workbench) -> list[str]:
    ways = ((box, ask(screen, "schedule.reasons", kernel=KERNEL, selection=box)) for box in boxes(screen))
    return [box for box, view in ways if view["reasons"].get("unroll", "") is None]


def move(screen: Workbench, box: str) -> None:
    ask(screen, "schedule.apply", kernel=KERNEL, primitive="unroll", selection=box, arguments={})


def page(screen: Workbench) -> None:
    """What the page asks after a move."""
    for op in ("open", "kernels", "pipeline.open"):
        ask(screen, op)
    ask(screen, "schedule.open", kernel=KERNEL)


def test_a_move_makes_no_default_schedule_again() -> None:
    screen = opened()
    box = serial(screen)[0]
    assert calls(lambda: move(screen, box), default_provider) == 0
    assert calls(lambda: ask(screen, "schedule.undo", kernel=KERNEL), default_provider) == 0
    assert calls(lambda: page(screen), default_provider) == 0


def test_a_move_carries_out_what_is_new_of_the_trace_and_taking_it_back_nothing() -> None:
    screen = opened()
    first, second = serial(screen)[:2]
    move(screen, first)
    before = len(screen._editors.editor(KERNEL).schedule.trace.steps)
    count = calls(lambda: move(screen, second), replayed)
    assert 0 < count <= len(screen._editors.editor(KERNEL).schedule.trace.steps) - before
    assert calls(lambda: ask(screen, "schedule.undo", kernel=KERNEL), replayed) == 0
    assert calls(lambda: ask(screen, "schedule.redo", kernel=KERNEL), replayed) == 0


def test_what_other_kernels_are_is_not_looked_at_again() -> None:
    """Their operations, statements and nodes are counted once, and so is the order of the entry's calls."""
    screen = opened()
    box = serial(screen)[0]
    move(screen, box)
    page(screen)
    box = serial(screen)[0]
    assert calls(lambda: move(screen, box), _entry_calls) == 0
    assert calls(lambda: page(screen), flops) == 0
    ask(screen, "schedule.undo", kernel=KERNEL)
    move(screen, serial(screen)[1])
    stages = [step.stage for step in screen.session.history.computed(screen.session.actions)]
    own = {id(stage.module[KERNEL]): stage.module[KERNEL] for stage in stages if KERNEL in stage.module}
    looked = calls(lambda: ask(screen, "pipeline.open"), pre_order)
    assert 0 < looked <= sum(sum(1 for _ in pre_order(function)) + 2 for function in own.values())


def test_the_spine_asks_nothing_of_passes_and_old_branches_again() -> None:
    screen = opened()
    for _ in range(3):
        move(screen, serial(screen)[0])
        ask(screen, "open")
    assert calls(lambda: ask(screen, "open"), plan.default_rows, branches._nearness) == 0
    lines = ask(screen, "open")["branches"]
    assert [line for _, line in lines] == [line[5:] for line in str(screen.session.branches).split("\n")]
    assert len(lines) == 4 and all("~Schedule" in line for _, line in lines[1:])


def test_the_page_shows_what_a_session_shows_that_was_made_at_once() -> None:
    """Moves, some taken back, against the same schedule handed to a session that has seen none of them."""
    screen = opened()
    move(screen, serial(screen)[0])
    move(screen, serial(screen)[0])
    ask(screen, "schedule.undo", kernel=KERNEL)
    move(screen, serial(screen)[-1])
    trace = screen._editors.editor(KERNEL).schedule.trace
    fresh = wb.open(wb.IRModule.from_expr(network()))
    schedule = fresh.schedule(KERNEL, default=False)
    trace.apply_to(schedule)
    other = Workbench(fresh.edit(schedule={KERNEL: schedule}))
    for op in ("kernels", "links", "pane te", "pane schedule", "pane tir", "pane llvm", "schedule.open"):
        name, _, layer = op.partition(" ")
        args = {"kernel": KERNEL} | ({"layer": layer} if layer else {})
        shown, wanted = ask(screen, name, **args), ask(other, name, **args)
        if op == "schedule.open":
            drawn = ("state", "tree", "code", "script")
            shown, wanted = ({key: view[key] for key in drawn} for view in (shown, wanted))
        assert shown == wanted, op
    for one in (screen, other):
        one._steps._view = None  # with the loop steps, which have run by now
    counts = [
        [(step["name"], step["ops_before"], step["ops_after"]) for step in ask(one, "pipeline.open")["steps"]]
        for one in (screen, other)
    ]
    assert counts[0] == counts[1]
