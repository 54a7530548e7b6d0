"""A screen's session and its schedules agree, whoever moves them: clicks, cells, undo, branches, interrupts."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.driver.programs import small_model
from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask, refused
from workbench._lazy import session_of
from workbench.core.equal import fingerprint
from workbench.core.errors import WorkbenchError
from workbench.driver.rebase import RebaseError
from workbench.driver.session import Session
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.tir.script import script
from workbench.ui import changes
from workbench.ui.pipeline_edits import Edits
from workbench.ui.workbench import Workbench

ARM = "llvm -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu"


@pytest.fixture(autouse=True)
def _kept_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))


def of_matmul() -> tuple[Workbench, Schedule]:
    schedule = Schedule(plain_matmul(8, 8, 8))
    return Workbench(session_of(schedule), schedule), schedule


def click(screen: Workbench, primitive: str, selection: str, kernel: str = "main", **arguments: Any) -> None:
    ask(screen, "schedule.apply", kernel=kernel, primitive=primitive, selection=selection, arguments=arguments)


def agreed(screen: Workbench, schedule: Schedule) -> None:
    """The session, the editor and the cell's object are in one state; what was only asked since is no part of it."""
    name = schedule.func_working_on
    assert screen.session.schedule(name).fingerprint() == schedule.moves.state(schedule.moves.here).fingerprint
    assert ask(screen, "schedule.open", kernel=name)["state"] == schedule.fingerprint()
    steps = [screen.session.step(number) for number, label in enumerate(screen.session.labels) if label == "Schedule"]
    assert steps or not schedule.moves.done, "what was done is no step of the session"
    if steps:
        assert fingerprint(steps[-1].stage.module[name]) == fingerprint(schedule.func)


def test_undo_of_the_screen_takes_the_schedule_along() -> None:
    screen, sch = of_matmul()
    click(screen, "parallel", "l:C:0")
    ask(screen, "pipeline.undo")
    agreed(screen, sch)
    assert not sch.moves.done
    click(screen, "unroll", "l:C:2")
    agreed(screen, sch)
    assert [move.name for move in sch.moves.done] == ["unroll"]
    ask(screen, "pipeline.undo")
    ask(screen, "pipeline.redo")
    agreed(screen, sch)
    assert [move.name for move in sch.moves.done] == ["unroll"]


def test_a_branch_and_a_text_edit_take_the_schedule_along() -> None:
    screen, sch = of_matmul()
    click(screen, "parallel", "l:C:0")
    click(screen, "unroll", "l:C:2")
    ask(screen, "branch", number=0)
    agreed(screen, sch)
    assert screen.schedule is sch and not sch.moves.done
    ask(screen, "pipeline.undo")
    agreed(screen, sch)
    assert [move.name for move in sch.moves.done] == ["parallel", "unroll"]


def test_a_text_edit_and_its_undo_leave_the_schedule_where_the_session_has_it() -> None:
    screen, sch = of_matmul()
    click(screen, "parallel", "l:C:0")
    before, steps = sch.fingerprint(), ask(screen, "pipeline.open")["steps"]
    step = next(step["id"] for step in steps if step["name"] == "Schedule")
    source = ask(screen, "pipeline.source", step=step, function="main")
    text = source["text"].replace("A[vi, vk] * B[vk, vj]", "B[vk, vj] * A[vi, vk]")
    assert text != source["text"]
    ask(screen, "pipeline.edit", step=step, function="main", text=text)
    assert "B[vk, vj] * A[vi, vk]" in screen.session.tir["main"].script()
    ask(screen, "pipeline.undo")
    agreed(screen, sch)
    assert sch.fingerprint() == before
    click(screen, "unroll", "l:C:2")
    agreed(screen, sch)
    assert [move.name for move in sch.moves.done] == ["parallel", "unroll"]


@pytest.mark.parametrize("held", [True, False], ids=["a cell holds it", "the screen's"])
def test_another_target_of_the_screen_is_that_of_its_schedules(held: bool) -> None:
    """Loops of one's own name no target: the editor's schedule went on speaking of the one that it was made for."""
    session = wb.open(plain_matmul(64, 64, 64), target="llvm -mcpu=haswell")
    schedule = session.schedule("main") if held else None
    screen = Workbench(session, schedule)
    ask(screen, "schedule.open", kernel="main")
    ask(screen, "target.set", text=ARM)
    edited = screen._editors.editor("main").schedule
    assert edited.target == Target(ARM) and edited.facts().target == ARM
    assert schedule is None or edited is schedule
    drawn = ask(screen, "lens.open", kernel="main", block="")["caches"]
    counted = ask(screen, "lens.exact", kernel="main")["misses"]
    assert [level["name"] for level in drawn] == [name for name, _ in counted]
    assert [level["size"] for level in drawn] == [level.size for level in Target(ARM).cache_levels]
    ask(screen, "pipeline.undo")
    assert edited.target == Target("llvm -mcpu=haswell")


def test_every_move_of_a_cell_reaches_the_session_without_a_page() -> None:
    screen, sch = of_matmul()
    i, j, k = sch.get_loops("C")
    for move in (lambda: sch.parallel(i), lambda: sch.unroll(k), lambda: sch.vectorize(j)):
        move()
        agreed(screen, sch)
    sch.undo()
    agreed(screen, sch)
    assert ask(screen, "open")["trouble"] is None


def test_two_screens_on_one_schedule_follow_each_other() -> None:
    sch = Schedule(plain_matmul(8, 8, 8))
    one, other = (Workbench(session_of(sch), sch) for _ in range(2))
    click(one, "parallel", "l:C:0")
    agreed(other, sch)
    click(other, "unroll", "l:C:2")
    agreed(one, sch)
    ask(one, "pipeline.undo")
    agreed(one, sch)
    agreed(other, sch)
    assert [move.name for move in sch.moves.done] == ["parallel"]


def test_a_pass_left_out_and_back_leaves_the_cells_schedule_on_the_screen() -> None:
    session = wb.open(small_model())
    kernel = session.kernels[0]
    sch = session.schedule(kernel)
    screen = Workbench(session, sch)
    fuse = next(step["id"] for step in ask(screen, "pipeline.open")["steps"] if step["name"] == "FuseOps")
    ask(screen, "pipeline.without", step=fuse)
    assert kernel not in screen.session.kernels
    ask(screen, "pipeline.undo")
    sch.unroll(sch.get_loops(sch.get_child_blocks(sch.get_block("root"))[0])[-1])
    agreed(screen, sch)
    assert screen.schedule is sch


def test_a_cells_move_that_the_session_refuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, sch = of_matmul()
    session = type(screen.session)
    edit = session.edit

    def no(*args: Any, **kwargs: Any) -> Any:
        raise WorkbenchError("E-TEST", "not now")

    monkeypatch.setattr(session, "edit", no)
    sch.parallel(sch.get_loops("C")[0])
    assert ask(screen, "open")["trouble"]["code"] == "E-TEST"
    monkeypatch.setattr(session, "edit", edit)
    sch.unroll(sch.get_loops("C")[2])
    assert ask(screen, "open")["trouble"] is None
    agreed(screen, sch)


def test_what_was_refused_is_told_until_the_cell_takes_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, sch = of_matmul()
    with monkeypatch.context() as patch:
        patch.setattr(type(screen.session), "edit", _raising(WorkbenchError("E-TEST", "not now")))
        sch.parallel(sch.get_loops("C")[0])
        assert ask(screen, "open")["trouble"]["code"] == "E-TEST"
    assert ask(screen, "open")["trouble"]["code"] == "E-TEST"
    sch.moves.back()
    assert ask(screen, "open")["trouble"] is None
    agreed(screen, sch)


def test_an_interrupt_while_a_cells_move_is_taken_over_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, sch = of_matmul()
    sch.parallel(sch.get_loops("C")[0])
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Session, "edit", _raising(KeyboardInterrupt()))
        ask(screen, "open")
    agreed(screen, sch)


def test_a_cells_move_undone_on_the_screen_and_a_click_before_it_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """The undo alone was kept, and took back the click instead."""
    monkeypatch.delenv("WORKBENCH_CHANGES", raising=False)
    screen, sch = of_matmul()
    click(screen, "parallel", "l:C:0")
    sch.vectorize(sch.get_loops("C")[1])
    ask(screen, "pipeline.undo")
    monkeypatch.setattr(changes, "is_alive", lambda told: False)
    again, other = of_matmul()
    assert ask(again, "open")["changes"]["offer"]["count"] == 1
    assert ask(again, "changes.restore")["exact"]
    assert [move.name for move in other.moves.done] == [move.name for move in sch.moves.done] == ["parallel"]


def test_an_interrupted_restoring_can_be_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORKBENCH_CHANGES", raising=False)
    screen, sch = of_matmul()
    click(screen, "parallel", "l:C:0")
    click(screen, "unroll", "l:C:2")
    monkeypatch.setattr(changes, "is_alive", lambda told: False)
    again, other = of_matmul()
    ask(again, "open")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(type(screen.session), "edit", _raising(KeyboardInterrupt()))
        ask(again, "changes.restore")
    assert ask(again, "open")["changes"]["offer"]["count"] == 2
    assert ask(again, "changes.restore")["exact"]
    assert other.fingerprint() == sch.fingerprint()


def test_a_closed_lens_leaves_nothing_behind() -> None:
    screen = Workbench(session_of(Schedule(plain_matmul(8, 8, 8))))
    ask(screen, "lens.open", kernel="main")
    schedule = weakref.ref(screen._editors.editor("main").schedule)
    screen.session = session_of(Schedule(plain_matmul(4, 4, 4)))
    gc.collect()
    assert schedule() is None


def _raising(error: BaseException) -> Callable[..., Any]:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize("stopped", [WorkbenchError("E-TEST", "no"), KeyboardInterrupt()], ids=["refused", "stopped"])
@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("schedule.apply", {"primitive": "parallel", "selection": "l:C:0", "arguments": {}}),
        ("schedule.undo", {}),
        ("schedule.redo", {}),
        ("schedule.switch", {"branch": 0}),
        ("schedule.go", {"number": 0}),
    ],
    ids=["apply", "undo", "redo", "switch", "go"],
)
def test_what_the_session_refuses_leaves_the_schedule_and_its_history(
    monkeypatch: pytest.MonkeyPatch, stopped: BaseException, op: str, args: dict[str, Any]
) -> None:
    screen, sch = of_matmul()
    click(screen, "vectorize", "l:C:1")
    ask(screen, "schedule.undo", kernel="main")
    click(screen, "unroll", "l:C:2")
    if op == "schedule.redo":
        ask(screen, "schedule.undo", kernel="main")
    before = (sch.fingerprint(), sch.moves.stories, sch.moves.tree, sch.code(), sch.state)
    calls = ask(screen, "open")["calls"]

    def no(*_: Any, **__: Any) -> Any:
        raise stopped

    with monkeypatch.context() as patched:
        patched.setattr(type(screen.session), "edit", no)
        patched.setattr(Edits, "turn", no)
        try:
            assert not screen.ask(op, kernel="main", **args).content["ok"]
        except KeyboardInterrupt:
            pass
    assert (sch.fingerprint(), sch.moves.stories, sch.moves.tree, sch.code(), sch.state) == before
    assert ask(screen, "open")["calls"] == calls
    agreed(screen, sch)


def test_taking_back_another_move_than_was_seen_is_refused() -> None:
    screen, sch = of_matmul()
    click(screen, "parallel", "l:C:0")
    code = sch.moves.done[0].code
    sch.undo()
    sch.unroll(sch.get_loops("C")[2])
    before = sch.fingerprint()
    error = refused(screen, "take_back", kernel="main", number=1, code=code)
    assert error["code"] == "E-UI-STALE" and "unroll" in error["expected"]
    assert error["where"] == "schedule of main" and error["found"] and error["fix"]
    assert refused(screen, "take_back", kernel="main", number=2, code=code)["code"] == "E-UI-ARGUMENT"
    assert sch.fingerprint() == before
    seen = {"seen": "another program's"}
    code = sch.moves.done[0].code
    assert refused(screen, "take_back", kernel="main", number=1, code=code, **seen)["code"] == "E-UI-STALE"
    ask(screen, "take_back", kernel="main", number=1, code=code, seen=ask(screen, "open")["plan"])
    assert not sch.moves.done
    agreed(screen, sch)


def test_what_is_no_session_is_refused_and_nothing_is_lost() -> None:
    screen, sch = of_matmul()
    click(screen, "parallel", "l:C:0")
    for wrong in (None, sch, "model.onnx"):
        with pytest.raises(WorkbenchError, match="a screen shows sessions"):
            screen.session = wrong  # type: ignore[assignment]
    agreed(screen, sch)
    assert screen.schedule is sch


def test_another_session_lets_the_cells_schedule_go_its_own_way() -> None:
    screen, sch = of_matmul()
    other = wb.open(small_model())
    screen.session = other
    assert ask(screen, "open")["start"]["kernel"] == ""
    with pytest.raises(WorkbenchError, match="was opened for a session"):
        assert screen.schedule
    sch.parallel(sch.get_loops("C")[0])
    assert screen.session is other and ask(screen, "open")["trouble"] is None


def test_what_is_measured_is_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, _ = of_matmul()
    once = "C[vi, vj] + A[vi, vk] * B[vk, vj]"
    text = screen.session.tir["main"].script()
    screen.session = screen.session.edit(tir={"main": text.replace(once, f"{once} + A[vi, vk] * B[vk, vj]")})
    found: list[int] = []
    from workbench.ui import workbench as module

    measure: Callable[..., Any] = module.measure_kernel

    def noted(*args: Any) -> Any:
        made = measure(*args)
        found.append(made.operations)
        return made

    monkeypatch.setattr(module, "measure_kernel", noted)
    ask(screen, "measure", kernel="main")
    ask(screen, "measure", kernel="main", number=0)
    assert found[0] == 2 * found[1] == 4 * 8**3
    error = refused(screen, "measure", kernel="main", number=-1)
    assert error["code"] == "E-UI-ARGUMENT"


def test_the_subject_tells_programs_apart_and_stays_when_one_is_changed() -> None:
    """What was measured of one program is not another's, though branches and kernels are called the same."""
    screen, _ = of_matmul()
    subject = ask(screen, "open")["subject"]
    click(screen, "parallel", "l:C:0")
    assert ask(screen, "open")["subject"] == subject
    screen.session = session_of(Schedule(plain_matmul(4, 4, 4)))
    assert ask(screen, "open")["subject"] != subject


def test_the_python_of_a_replay_is_moves_that_can_be_run_elsewhere() -> None:
    """It was `sch.moves.go(8)`, the number of a state that no other schedule has."""
    screen, sch = of_matmul()
    began = ask(screen, "open")["calls"]
    click(screen, "parallel", "l:C:0")
    click(screen, "unroll", "l:C:2")
    ask(screen, "schedule.replay", kernel="main", code=sch.code().replace("unroll(l2)", "vectorize(l1)"))
    assert ask(screen, "open")["calls"][-1] == "sch.moves.back()\nsch.vectorize(l1)"
    ask(screen, "schedule.go", kernel="main", number=0)
    ask(screen, "schedule.switch", kernel="main", branch=0)
    ask(screen, "schedule.switch", kernel="main", branch=1)
    calls = ask(screen, "open")["calls"]
    assert "moves.go" not in "".join(calls) and began == []
    again = Schedule(plain_matmul(8, 8, 8))
    exec("\n".join(calls), {"sch": again})
    assert fingerprint(again.func) == fingerprint(sch.func)


def test_the_python_of_a_state_many_moves_away_begins_anew() -> None:
    screen, sch = of_matmul()
    for selection in ("l:C:0", "l:C:1", "l:C:2", "b:C"):
        click(screen, "annotate", selection, ann_key="mark", ann_val=1)
    lines = sch.code().splitlines()
    ask(screen, "schedule.replay", kernel="main", code="\n".join([*lines[:2], "sch.unroll(l2)"]))
    calls = ask(screen, "open")["calls"]
    assert calls[-1] == "\n".join(["sch.restart()", *lines[:2], "sch.unroll(l2)"])
    again = Schedule(plain_matmul(8, 8, 8))
    exec("\n".join(calls), {"sch": again})
    assert fingerprint(again.func) == fingerprint(sch.func)


def edit_after_the_schedule(screen: Workbench, old: str, new: str) -> None:
    step = next(step["id"] for step in ask(screen, "pipeline.open")["steps"] if step["name"] == "Schedule")
    text = ask(screen, "pipeline.source", step=step, function="main")["text"]
    assert old in text
    ask(screen, "pipeline.edit", step=step, function="main", text=text.replace(old, new))


def test_the_editor_says_that_the_text_was_edited_after_its_schedule_and_a_move_goes_under_the_edit() -> None:
    screen, _ = of_matmul()
    click(screen, "parallel", "l:C:0")
    assert ask(screen, "schedule.open", kernel="main")["edited"] == ""
    edit_after_the_schedule(screen, "A[vi, vk] * B[vk, vj]", "B[vk, vj] * A[vi, vk]")
    view = ask(screen, "schedule.open", kernel="main")
    assert "edited after this schedule (step Edit)" in view["edited"]
    assert "B[vk, vj] * A[vi, vk]" not in str(view["script"]), "the program below is without that edit"
    arguments = {"primitive": "unroll", "selection": "l:C:2", "arguments": {}}
    assert ask(screen, "schedule.apply", kernel="main", **arguments)["edited"] == view["edited"]
    text = screen.session.tir["main"].script()
    assert "T.unroll(8)" in text and "B[vk, vj] * A[vi, vk]" in text
    ask(screen, "pipeline.undo")
    ask(screen, "pipeline.undo")
    assert ask(screen, "schedule.open", kernel="main")["edited"] == ""


def test_a_move_that_an_edits_lines_do_not_fit_stops_at_the_edit_as_the_editor_says() -> None:
    screen, _ = of_matmul()
    click(screen, "parallel", "l:C:0")
    edit_after_the_schedule(screen, "T.parallel(8)", "T.unroll(8)")
    assert "the program stops there" in ask(screen, "schedule.open", kernel="main")["edited"]
    ask(screen, "schedule.undo", kernel="main")
    assert isinstance(screen.session.step("Edit").error, RebaseError)
    assert "the program stops there" in ask(screen, "schedule.open", kernel="main")["edited"]


def test_an_edit_before_the_schedule_and_one_of_another_kernel_are_no_edits_after_it() -> None:
    screen = Workbench(wb.open(small_model()))
    one, other = screen.session.kernels[:2]
    text = script(screen.session.step("Schedule").stage.module[one])
    screen.session = screen.session.edit(tir={one: text.replace("T.float32(0.0)", "T.float32(1.0)")}, at="Schedule")
    assert "(step Edit)" in ask(screen, "schedule.open", kernel=one)["edited"]
    assert ask(screen, "schedule.open", kernel=other)["edited"] == ""
    screen, _ = of_matmul()
    screen.session = screen.session.edit(tir={"main": screen.session.tir["main"].script().replace("0.0", "1.0")})
    click(screen, "parallel", "l:C:0")
    assert ask(screen, "schedule.open", kernel="main")["edited"] == ""


def test_moves_of_the_rules_taken_back_and_done_again_go_through_the_same_branches() -> None:
    screen = Workbench(wb.open(small_model()))
    kernel = ask(screen, "kernels")["kernels"][0]["name"]
    count = len(screen.session.schedule(kernel).moves.done)
    went: list[tuple[int, str]] = []
    for op in ["undo"] * 3 + ["redo"] * 3:
        ask(screen, f"schedule.{op}", kernel=kernel)
        went.append((ask(screen, "open")["branch"], ask(screen, "pipeline.open")["call"]))
    back = [f"sch.moves.back()  # {count - one} moves left" for one in (1, 2, 3)]
    assert went == [(1, back[0]), (2, back[1]), (3, back[2]), (2, back[1]), (1, back[0]), (0, "")]
    assert len(screen.session.branches) == 4
