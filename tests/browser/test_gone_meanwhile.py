"""What a person has open while a cell changes the program: texts, searches, forms, messages, pressed buttons."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.test_clicked_early import network, pane
from tests.browser.test_figures_of_another import NARROW, shown
from tests.browser.test_overtaken import drawn, editing, step, tab
from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.driver.session import Session
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench

MINE = "T.float32(1.0)"


def chip(page: Page, layer: str) -> Locator:
    return page.get_by_role("navigation", name="Layers").get_by_role("button", name=re.compile(rf"^\W*{layer}"))


def in_place(harness: Harness, write: bool = True) -> Locator:
    """The text of the loops after all passes, edited in pane A."""
    page = harness.page
    chip(page, "TIR").click()
    pane(harness, "A").locator(".wb-text-row").nth(3).dblclick()
    content = pane(harness, "A").locator(".cm-content")
    expect(content).to_be_focused()
    if write:
        text = "\n".join(page.locator(".cm-line").all_inner_texts())
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(text.replace("T.float32(0.0)", MINE))
        harness.asked_so_far()
        expect(content).to_contain_text(MINE)
    return content


def moved_to(harness: Harness, screen: Workbench, session: Session) -> None:
    screen.session = session
    harness.push()
    harness.asked_so_far()


# --- a text that is edited in its place ---


@pytest.mark.parametrize(
    ("left_out", "outdated"), [("FlattenBuffer", True), ("LowerIntrinsics", False), ("InsertPolls", False)]
)
def test_a_text_is_applied_to_the_program_that_a_cell_has_made(harness: Harness, left_out: str, outdated: bool) -> None:
    """The step of the text had another id by then, or was gone, and no text could be applied any more."""
    screen = shown(harness)
    content = in_place(harness)
    moved_to(harness, screen, screen.session.without(left_out))
    expect(content).to_contain_text(MINE)
    expect(content).to_be_focused()
    expect(pane(harness, "A").get_by_text("begun on an earlier program")).to_have_count(int(outdated))
    harness.page.keyboard.press("Control+Enter")
    harness.asked_so_far()
    assert not any("E-STEP-UNKNOWN" in told for told in harness.refused)
    if not outdated:
        assert screen.session.labels[-2].startswith("Edit"), screen.session.labels
        expect(pane(harness, "A").locator(".cm-content")).to_have_count(0)


def test_what_is_typed_on_then_is_a_draft_of_that_step(harness: Harness) -> None:
    screen = shown(harness)
    content = in_place(harness)
    moved_to(harness, screen, screen.session.without("LowerIntrinsics"))
    harness.page.keyboard.insert_text("  # and more")
    expect(content).to_contain_text("# and more")
    harness.page.keyboard.press("Escape")
    pane(harness, "A").get_by_role("button", name="Edit text (draft)").click()
    expect(content).to_contain_text("# and more")


def test_a_text_that_nobody_has_touched_is_that_of_the_program(harness: Harness) -> None:
    screen = shown(harness)
    content = in_place(harness, write=False)
    before = content.inner_text()
    moved_to(harness, screen, screen.session.without("FlattenBuffer"))
    assert content.inner_text() != before
    expect(pane(harness, "A").locator(".wb-edit")).to_contain_text("not changed")
    expect(pane(harness, "A").get_by_text("begun on an earlier program")).to_have_count(0)


def test_a_text_whose_place_is_gone_is_there_to_be_copied(harness: Harness, refusing: str) -> None:
    screen = drawn(harness, network())
    content = in_place(harness)
    passes = {one["name"]: one["id"] for one in ask(screen, "pipeline.open")["steps"]}
    ask(screen, "pipeline.insert", step=passes["SimplifyExpr"], name=refusing)
    harness.push()
    harness.asked_so_far()
    expect(content).to_contain_text(MINE)
    expect(pane(harness, "A").get_by_role("alert")).to_contain_text("this text cannot be applied")
    expect(pane(harness, "A").get_by_role("button", name="Apply")).to_be_disabled()
    ask(screen, "pipeline.undo")
    harness.push()
    harness.asked_so_far()
    expect(content).to_contain_text(MINE)
    expect(pane(harness, "A").get_by_role("alert")).to_have_count(0)
    pane(harness, "A").get_by_role("button", name="Apply").click()
    harness.asked_so_far()
    assert screen.session.labels[-2].startswith("Edit"), screen.session.labels


# --- a text that is sought ---


def test_what_is_sought_is_sought_in_the_text_that_is_shown(harness: Harness) -> None:
    shown(harness)
    page, loops = harness.page, pane(harness, "A")
    loops.locator(".wb-text-row").first.click()
    page.keyboard.press("Control+f")
    field = loops.get_by_role("textbox", name="Find in the text")
    told = loops.get_by_role("search").get_by_role("status")
    field.fill("@T.prim_func")
    expect(told).to_have_text("1 of 1 lines")
    chip(page, "Assembly").click()
    expect(loops).to_have_accessible_name(re.compile("Assembly"))
    expect(told).to_have_text("nowhere")
    expect(loops.locator(".wb-hit")).to_have_count(0)
    chip(page, "Schedule").click()
    expect(told).to_have_text("1 line")
    expect(loops.locator(".wb-hit")).to_have_count(1)
    for key, found in (("Shift+Enter", "1 of 1 lines"), ("Enter", "1 of 1 lines")):
        field.press(key)
        expect(told).to_have_text(found)


def test_what_is_sought_is_sought_in_the_kernel_that_is_shown(harness: Harness) -> None:
    screen = drawn(harness, network())
    page, loops = harness.page, pane(harness, "B")
    loops.locator(".wb-text-row").first.click()
    page.keyboard.press("Control+f")
    told = loops.get_by_role("search").get_by_role("status")
    one, other = sorted(screen.session.kernels, key=lambda name: "softmax" in name)
    kernel = loops.get_by_role("combobox", name="Kernel")
    kernel.select_option(other)
    loops.get_by_role("textbox", name="Find in the text").fill("softmax_max")
    expect(told).to_contain_text(re.compile("^1 of"))
    kernel.select_option(one)
    expect(told).to_have_text("nowhere")


# --- the form of the target ---


def test_a_form_of_targets_that_cannot_be_opened_says_why(harness: Harness) -> None:
    screen = shown(harness)
    commands = screen._dispatcher._commands
    opens = commands["target.open"]

    def refuse(args: dict[str, Any]) -> Any:
        raise WorkbenchError("E-UI-INTERRUPTED", "the command was interrupted")

    commands["target.open"] = refuse
    button = harness.page.locator(".wb-target")
    button.click()
    alert = harness.page.get_by_role("alert")
    expect(alert).to_contain_text("the command was interrupted")
    commands["target.open"] = opens
    button.click()
    expect(harness.page.get_by_role("dialog", name="Target")).to_be_visible()
    expect(alert).to_have_count(0)


@pytest.mark.parametrize("typed", ["", "llvm -mcpu=mine"])
def test_a_form_of_targets_follows_a_cell_and_keeps_what_was_typed(harness: Harness, typed: str) -> None:
    screen = shown(harness)
    page = harness.page
    page.locator(".wb-target").click()
    field = page.get_by_role("dialog", name="Target").get_by_role("textbox")
    expect(field).to_have_value("llvm")
    if typed:
        field.fill(typed)
    moved_to(harness, screen, screen.session.rerun(target=NARROW))
    expect(page.locator(".wb-targets [aria-current=true]")).to_have_text(NARROW)
    expect(field).to_have_value(typed or NARROW)


# --- messages ---


def test_why_a_cell_was_not_followed_goes_with_what_it_did(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Schedule(plain_matmul(16, 16, 16))
    harness.show(Workbench(wb.open(schedule), schedule=schedule))
    expect(harness.page.get_by_role("treeitem").first).to_be_visible()
    harness.asked_so_far()

    def refuse(self: Session, **edits: Any) -> Session:
        raise WorkbenchError("E-TESTS-REFUSED", "this session takes nothing")

    with monkeypatch.context() as patched:
        patched.setattr(Session, "edit", refuse)
        schedule.parallel(schedule.get_loops("C")[0])
        harness.push()
        harness.asked_so_far()
    expect(harness.page.locator(".wb-problem")).to_contain_text("this session takes nothing")
    schedule.moves.back()
    harness.push()
    harness.asked_so_far()
    expect(harness.page.locator(".wb-problem")).to_have_count(0)


def test_an_error_of_one_tab_is_none_of_another(harness: Harness) -> None:
    screen = drawn(harness, network())

    def refuse(args: dict[str, Any]) -> Any:
        raise WorkbenchError("E-TESTS-REFUSED", "no view is kept")

    screen._dispatcher._commands["views.keep"] = refuse
    strip = harness.page.locator(".wb-strip")
    tab(harness, "Views").click()
    harness.page.get_by_label("Name of this view").fill("here")
    harness.page.get_by_role("button", name="Keep this view").click()
    expect(strip.get_by_role("alert")).to_contain_text("no view is kept")
    for name in ("Branches", "Share"):
        tab(harness, name).click()
        expect(strip.get_by_role("alert")).to_have_count(0)


# --- what is pressed twice ---


def test_a_step_is_left_out_once_however_often_its_key_is_pressed(harness: Harness) -> None:
    """The second one told that another view had changed the program, and that there is no such step."""
    screen = drawn(harness, network())
    step(harness, "FoldConstant").first.click()
    harness.asked_so_far()
    undo = len(screen._steps.edits.calls)
    with harness.held():
        for _ in range(3):
            harness.page.keyboard.press("x")
    harness.push()
    harness.asked_so_far()
    assert harness.refused == []
    expect(harness.page.locator(".wb-problem")).to_have_count(0)
    assert len(screen._steps.edits.calls) == undo + 1


def test_a_change_is_undone_by_a_key_that_is_pressed_before_it_is_drawn(harness: Harness) -> None:
    screen = drawn(harness, network())
    before = screen.session
    step(harness, "FoldConstant").first.click()
    harness.asked_so_far()
    with harness.held():
        harness.page.keyboard.press("x")
        harness.page.keyboard.press("Control+z")
    harness.push()
    harness.asked_so_far()
    assert harness.refused == [] and screen.session.plan == before.plan
    assert harness.operations().count("pipeline.undo") == 1


def test_a_text_is_applied_once(harness: Harness) -> None:
    page = editing(harness, "tanh")
    with harness.held():
        for _ in range(2):
            page.keyboard.press("Control+Enter")
    harness.push()
    harness.asked_so_far()
    assert harness.refused == [] and harness.operations().count("pipeline.edit") == 1
    expect(page.locator(".wb-problem")).to_have_count(0)


def test_of_branches_chosen_one_after_the_other_the_last_is_shown(harness: Harness) -> None:
    screen = drawn(harness, network())
    for name in ("SimplifyExpr", "FoldConstant"):
        moved_to(harness, screen, screen.session.rerun(disabled_pass=[name]))
    choice = harness.page.get_by_role("combobox", name="Branch", exact=True)
    with harness.held():
        for number in ("0", "1"):
            choice.select_option(number)
    harness.push()
    harness.asked_so_far()
    assert harness.refused == []
    expect(choice).to_have_value("1")


def test_what_a_step_changed_is_asked_of_the_program_that_has_it(harness: Harness) -> None:
    """Between the answers to both parts of the page the list of steps was still the one of before."""
    screen = drawn(harness, network())
    step(harness, "EliminateCommonSubexpr").click()
    harness.asked_so_far()
    assert "spoken" in harness.operations()
    with harness.held(since="pipeline.open"):
        screen.session = screen.session.without("EliminateCommonSubexpr")
        harness.push()
        harness.wait_until(lambda: harness.busy, "the list of steps is asked for")
    harness.asked_so_far()
    assert not any("spoken" in told for told in harness.refused), harness.refused
    expect(harness.page.locator(".wb-problem")).to_have_count(0)


# --- answers that do not come ---


def test_lines_of_a_difference_are_asked_for_again(harness: Harness) -> None:
    """An interrupt, and its rows were empty for ever."""
    deep = relay.var("x", shape=(4, 16), dtype="float32")
    program = deep
    for _ in range(210):  # longer than what is sent whole
        program = relay.tanh(relay.sqrt(program))
    screen = drawn(harness, relay.Function([deep], program))
    step(harness, "SimplifyInference").click()
    page = harness.page
    commands = screen._dispatcher._commands
    texts, asked = commands["pipeline.text"], list[dict[str, Any]]()

    def interrupted(args: dict[str, Any]) -> Any:
        asked.append(args)
        raise WorkbenchError("E-UI-INTERRUPTED", "the command was interrupted")

    commands["pipeline.text"] = interrupted
    rows = page.locator(".wb-diff .wb-window-body")
    rows.evaluate("box => { box.scrollTop = box.scrollHeight; }")
    page.locator(".wb-fold").first.click()
    rows.evaluate("box => { box.scrollTop = box.scrollHeight; }")
    expect(page.get_by_role("alert")).to_contain_text("the command was interrupted")
    harness.asked_so_far()
    assert len(asked) < 5, "a page does not ask on and on for what is refused"
    commands["pipeline.text"] = texts
    turns = iter(range(1, 1000))

    def filled() -> bool:
        rows.evaluate("(box, turn) => { box.scrollTop = box.scrollHeight - 500 - turn % 2; }", next(turns))
        return page.locator(".wb-diff .wb-line", has_text=re.compile("^…$")).count() == 0

    expect(page.locator(".wb-diff .wb-line", has_text=re.compile("^…$")).first).to_be_visible()
    harness.wait_until(filled, "the lines in sight are there")
    expect(page.locator(".wb-diff .wb-line", has_text="tanh").first).to_be_visible()
