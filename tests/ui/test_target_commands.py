"""What code is made for, changed on a screen: like every other change of it."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.driver.programs import small_model
from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask, refused
from workbench.schedule import Schedule
from workbench.ui import changes
from workbench.ui.journal import replay
from workbench.ui.workbench import Workbench

PLAIN = "llvm -mcpu=x86-64"
KERNEL = "fused_nn_conv2d_subtract"


pytestmark = pytest.mark.usefixtures("kept_here")


def on_a_model(target: str = "llvm -mcpu=x86-64-v3") -> Workbench:
    return Workbench(wb.open(small_model(), target=target))


def assembly(screen: Workbench, kernel: str = KERNEL) -> list[str]:
    return ask(screen, "pane", layer="asm", kernel=kernel)["text"]["chunks"][0]["lines"]


def test_another_target_is_a_change_with_undo_a_branch_and_its_python() -> None:
    screen = on_a_model()
    wide = assembly(screen)
    assert any("%ymm" in line for line in wide)
    ask(screen, "target.set", text="llvm  -mcpu=x86-64")
    told = ask(screen, "open")
    assert told["calls"] == [f"s = s.rerun(target={PLAIN!r})"]
    assert told["branches"][told["branch"]][1].startswith(f"from 0 after Import: target {PLAIN} (")
    assert ask(screen, "pipeline.open")["target"] == ask(screen, "target.open")["text"] == PLAIN
    narrow = assembly(screen)
    assert any("%xmm" in line for line in narrow)
    assert not any("%ymm" in line or "%zmm" in line for line in narrow)
    ask(screen, "pipeline.undo")
    assert assembly(screen) == wide
    ask(screen, "pipeline.redo")
    assert str(screen.session.target) == PLAIN


def test_the_python_of_it_makes_the_same_code() -> None:
    screen = on_a_model()
    ask(screen, "target.set", text=PLAIN)
    names: dict[str, Any] = {"wb": wb, "program": small_model()}
    exec(screen.session.to_python(), names)
    assert names["s"].build().get_source("asm", KERNEL) == screen.session.build().get_source("asm", KERNEL)
    assert str(names["s"].target) == PLAIN


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "E-TARGET-FORM"), ("fast", "E-TARGET-KIND"), ("llvm -fast=1", "E-TARGET-OPTION"),
        ("cuda", "E-BUILD-TARGET"), ("c", "E-BUILD-TARGET"), ("llvm -mcpu=fast", "E-CODEGEN-PROCESSOR"),
        ("llvm -mattr=+fast", "E-CODEGEN-PROCESSOR"), ("llvm -mtriple=fast", "E-CODEGEN-TRIPLE"),
        # LLVM knows these words, and ends the process over code made for them, or makes code that cannot be linked.
        ("llvm -mattr=+soft-float", "E-CODEGEN-PROCESSOR"), ("llvm -mattr=+16bit-mode", "E-CODEGEN-PROCESSOR"),
        ("llvm -mtriple=bpf", "E-CODEGEN-PROCESSOR"),
        ("llvm -opt-level=9", "E-TARGET-VALUE"),
    ],
)  # fmt: skip
def test_what_no_code_can_be_made_for_is_refused_and_changes_nothing(text: str, code: str) -> None:
    screen = on_a_model()
    before = screen.session
    assert refused(screen, "target.set", text=text)["code"] == code
    assert screen.session is before and ask(screen, "open")["undo"] == 0


def test_the_same_target_is_no_change() -> None:
    screen = on_a_model(PLAIN)
    ask(screen, "target.set", text=PLAIN)
    assert ask(screen, "open")["undo"] == 0


def test_a_page_that_has_not_seen_the_last_change_is_refused() -> None:
    screen = on_a_model()
    seen = ask(screen, "pipeline.open")["plan"]
    ask(screen, "target.set", text=PLAIN, seen=seen)
    assert refused(screen, "target.set", text="llvm", seen=seen)["code"] == "E-UI-STALE"


def test_every_target_that_is_offered_can_be_had() -> None:
    screen = Workbench(wb.open(plain_matmul(8, 8, 8)))
    offered = ask(screen, "target.open")
    texts = [text for text, _ in (*offered["own"], *offered["named"])]
    assert texts[0] == "llvm" and len(set(texts)) == len(texts) > 10
    for text in texts:
        ask(screen, "target.set", text=text)
        assert str(screen.session.target) == text
        assert assembly(screen, "main")


def test_the_selected_step_stays_selected_there_and_back() -> None:
    screen = on_a_model()
    screen.select("FuseOps")
    ask(screen, "target.set", text=PLAIN)
    assert screen.selected == "FuseOps"
    ask(screen, "pipeline.undo")
    assert screen.selected == "FuseOps"


def test_schedules_by_hand_stay() -> None:
    screen = on_a_model()
    box = ask(screen, "schedule.open", kernel=KERNEL)["tree"][0]["id"]
    ask(screen, "schedule.apply", kernel=KERNEL, primitive="unroll", selection=box)
    code = screen.session.schedule(KERNEL).code()
    ask(screen, "target.set", text="llvm -mcpu=x86-64-v3 -num-cores=1")
    assert screen.session.schedule(KERNEL).code() == code
    assert ask(screen, "schedule.open", kernel=KERNEL)["code"].strip() == code.strip()
    ask(screen, "pipeline.undo")
    assert screen.session.schedule(KERNEL).code() == code


def test_a_schedule_of_a_kernel_that_is_none_there_is_refused_at_its_step() -> None:
    """As `rerun(target=...)` refuses it; undo has it back."""
    kernel = "fused_nn_dense_nn_bias_add"  # of other processors the weights are packed, by another operator
    screen = on_a_model("llvm -mcpu=x86-64-v4")
    box = ask(screen, "schedule.open", kernel=kernel)["tree"][0]["id"]
    ask(screen, "schedule.apply", kernel=kernel, primitive="unroll", selection=box)
    code = screen.session.schedule(kernel).code()
    ask(screen, "target.set", text=PLAIN)
    layers = {layer["name"]: layer for layer in ask(screen, "open")["layers"]}
    assert (layers["schedule"]["state"], layers["schedule"]["note"]) == ("failed", "Schedule")
    assert refused(screen, "pane", layer="asm", kernel=KERNEL)["code"] == "E-EDIT-REBASE"
    ask(screen, "pipeline.undo")
    assert screen.session.schedule(kernel).code() == code


def test_it_comes_back_after_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    first = on_a_model()
    ask(first, "target.set", text=PLAIN)
    steps = ask(first, "pipeline.open")["steps"]
    ask(first, "pipeline.without", step=next(step["id"] for step in steps if step["name"] == "SimplifyExpr"))
    monkeypatch.setattr(changes, "is_alive", lambda told: False)
    second = on_a_model()
    assert ask(second, "open")["changes"]["offer"]["count"] == 2
    assert ask(second, "changes.restore") == {"restored": 2, "refused": [], "left": 0, "exact": True}
    assert str(second.session.target) == PLAIN and "SimplifyExpr" not in second.session.labels
    assert ask(second, "open")["calls"] == ask(first, "open")["calls"]


def test_a_journal_with_it_is_done_again_and_another_target_at_the_end_is_told() -> None:
    screen = on_a_model()
    ask(screen, "target.set", text=PLAIN)
    assert replay(screen.journal()).different == ()
    other = screen.journal().replace(f"target={PLAIN!r}".replace('"', '\\\\"'), "target='llvm -mcpu=x86-64-v2'")
    assert other != screen.journal() and len(replay(other).different) == 1


def test_the_schedule_that_a_cell_holds_stays_with_the_screen() -> None:
    schedule = Schedule(plain_matmul(8, 8, 8))
    screen = Workbench(wb.open(schedule), schedule=schedule)
    ask(screen, "target.set", text=PLAIN)
    schedule.parallel(schedule.get_loops("C")[0])
    assert "parallel" in screen.session.schedule("main").code() and screen.schedule is schedule
    assert str(screen.session.target) == PLAIN


def test_answers_on_a_schedule_tell_of_which_program_and_target_they_are() -> None:
    """The schedule's own state is the same for each; a move of the schedule is no other program."""
    screen = Workbench(wb.open(Schedule(plain_matmul(8, 8, 8))))

    def states() -> list[list[str]]:
        return [screen.ask(op, kernel="main").content["state"].split(" ") for op in ("schedule.open", "lens.open")]

    (schedule, beside), lens = states()
    assert lens == [schedule, beside]
    others: list[dict[str, Any]] = [{"target": "llvm -vector-width=128"}, {"disabled_pass": ["InsertPolls"]}]
    for change in others:
        before = screen.session
        screen.session = before.rerun(**change)
        assert states()[0][0] == schedule and states()[0][1] != beside, change
        screen.session = before
        assert states()[0] == [schedule, beside]
    box = ask(screen, "schedule.open", kernel="main")["tree"][0]["id"]
    ask(screen, "schedule.apply", kernel="main", primitive="parallel", selection=box)
    assert states()[0][0] != schedule and states()[0][1] == beside


def test_constants_of_assembly_stand_where_they_are_loaded_and_not_above_the_code() -> None:
    """Their labels stood alone, for the directives below them are hidden."""
    pane = ask(on_a_model(), "pane", layer="asm", kernel=KERNEL)
    lines, hidden = pane["text"]["chunks"][0]["lines"], pane["hidden"]
    left_out = {first + more for first, count in zip(hidden[::2], hidden[1::2], strict=True) for more in range(count)}
    shown = [line for number, line in enumerate(lines) if number not in left_out]
    assert any(line.startswith(".LCPI") for line in lines)
    assert KERNEL in shown[0] and not any(line.startswith(".LCPI") for line in shown)
