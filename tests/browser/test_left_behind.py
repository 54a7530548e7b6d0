"""What belongs to the program shown before is not carried over to the next one: commands in one go, figures, drafts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.test_clicked_early import network, pane, squashed
from tests.browser.test_overtaken import drawn, rooted, tab
from tests.browser.test_pipeline_edits import typed
from tests.driver.planted_rule import planted_rule
from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask, restarted
from tests.ui.test_changes import fresh as model
from tests.ui.test_changes import of_matmul, split, step_id
from workbench import relay, teach
from workbench.driver.session import Session
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench


def clipped(limit: float) -> relay.Function:
    x = relay.var("x", shape=(3, 4), dtype="float32")
    return relay.Function([x], relay.sqrt(relay.clip(x, 0.0, limit)))


def showing(screen: Workbench, harness: Harness, session: Session) -> None:
    """A cell shows another session, and the page has drawn it."""
    screen.session = session
    harness.push()
    harness.asked_so_far()


def test_the_second_of_two_undos_is_not_done_to_the_next_program(harness: Harness) -> None:
    """The first was refused, and the second took back that a cell had shown another session."""
    screen = drawn(harness, network())
    showing(screen, harness, screen.session.rerun(disabled_pass=["SimplifyExpr"]))
    showing(screen, harness, screen.session.rerun(disabled_pass=["FoldConstant"]))
    undo = harness.page.get_by_role("button", name=re.compile("^Undo")).first
    expect(undo).to_be_enabled()
    another = wb.open(rooted())
    with harness.held():
        undo.click()
        undo.click()
        screen.session = another
        harness.push()
    harness.asked_so_far()
    assert screen.session.plan == another.plan


def test_the_second_of_two_undos_of_a_schedule_is_not_done_to_the_next_one(harness: Harness) -> None:
    schedule = Schedule(plain_matmul(16, 16, 16))
    schedule.fuse(*schedule.get_loops("C")[:2])
    schedule.split(schedule.get_loops("C")[0], factors=[None, 4])
    screen = Workbench(wb.open(schedule), schedule=schedule)
    harness.show(screen)
    page = harness.page
    harness.asked_so_far()
    undo = page.locator(".wb-schedule").get_by_role("button", name="Undo")
    other = Schedule(plain_matmul(24, 24, 24))
    other.fuse(*other.get_loops("C")[:2])
    session = wb.open(other)
    with harness.held():
        undo.click()
        undo.click()
        screen.session = session
        harness.push()
    harness.asked_so_far()
    assert screen.session.plan == session.plan


def test_the_lens_compares_with_no_figure_of_another_program(harness: Harness) -> None:
    screen = Workbench(wb.open(Schedule(plain_matmul(64, 64, 64))))
    harness.show(screen)
    expect(pane(harness, "A").locator(".wb-text-row").first).to_be_visible()
    harness.asked_so_far()
    pane(harness, "A").get_by_role("button", name="Lens").click()
    result = pane(harness, "A").locator(".wb-lens-result")
    expect(result).to_contain_text("s,", timeout=20000)
    showing(screen, harness, wb.open(Schedule(plain_matmul(16, 16, 16))))
    result.get_by_role("button", name="Measure").click()
    harness.asked_so_far()
    expect(result).not_to_contain_text("as fast")


def test_a_figure_of_another_history_stands_beside_no_kernel(harness: Harness) -> None:
    """The same model, opened again: its branches have the same numbers."""
    screen = drawn(harness, network())
    showing(screen, harness, screen.session.rerun(disabled_pass=["FuseOps"]))
    harness.page.locator(".wb-run").click()
    harness.asked_so_far()
    expect(harness.page.locator(".wb-run")).not_to_have_text("▶ Measure")
    session = wb.open(network())
    showing(screen, harness, session.rerun(disabled_pass=["FuseOps", "SimplifyExpr"]))
    expect(harness.page.locator(".wb-run")).to_have_text("▶ Measure")


def test_an_editor_in_the_place_of_a_text_goes_with_its_program(harness: Harness) -> None:
    screen = drawn(harness, clipped(6.0))
    page = harness.page
    page.get_by_role("navigation", name="Layers of the program").get_by_role("button", name="Relay").click()
    pane(harness, "A").get_by_role("button", name="Text", exact=True).click()
    harness.asked_so_far()
    pane(harness, "A").get_by_role("button", name=re.compile("^Edit")).first.click()
    harness.asked_so_far()
    expect(page.locator(".cm-content")).to_have_count(1)
    typed(harness, "sqrt", "tanh")
    another = wb.open(clipped(3.0))
    showing(screen, harness, another)
    expect(page.locator(".cm-content")).to_have_count(0)
    assert screen.session.plan == another.plan


def test_a_branch_chosen_of_one_program_is_not_gone_to_in_the_next(harness: Harness) -> None:
    screen = drawn(harness, network())
    showing(screen, harness, screen.session.rerun(disabled_pass=["SimplifyExpr"]))
    one = wb.open(squashed())
    another = one.rerun(disabled_pass=["SimplifyExpr"])
    with harness.held():
        harness.page.get_by_role("combobox", name="Branch", exact=True).select_option("0")
        screen.session = another
        harness.push()
    harness.asked_so_far()
    assert screen.session.plan == another.plan


def with_python(harness: Harness) -> tuple[Schedule, Locator]:
    """A schedule on the screen, its Python open to be edited."""
    schedule = Schedule(plain_matmul(16, 16, 16))
    harness.show(Workbench(wb.open(schedule), schedule=schedule))
    harness.asked_so_far()
    harness.page.get_by_role("button", name="Edit the Python").first.click()
    return schedule, harness.page.locator(".wb-draft-code")


def test_python_that_is_typed_after_replay_is_not_lost(harness: Harness) -> None:
    _, draft = with_python(harness)
    page, draft = harness.page, draft.locator("textarea")
    text = draft.input_value()
    one = text + '\nb0 = sch.get_block("C")\nl0, l1, l2 = sch.get_loops(b0)\nsch.unroll(l2)\n'
    draft.fill(one)
    with harness.held(since="schedule.replay"):
        page.get_by_role("button", name="Replay").click()
        harness.wait_until(lambda: harness.busy, "it is replayed")
        draft.fill(one + "# and more\n")
    harness.asked_so_far()
    expect(draft).to_have_count(1)
    expect(page.locator(".wb-draft-code").get_by_role("status")).to_have_count(0)


def test_python_that_is_being_typed_outlives_a_move_of_a_cell(harness: Harness) -> None:
    schedule, draft = with_python(harness)
    draft = draft.locator("textarea")
    draft.fill(draft.input_value() + "# mine\n")
    schedule.unroll(schedule.get_loops("C")[2])
    harness.push()
    harness.asked_so_far()
    expect(draft).to_have_value(re.compile("# mine"), timeout=2000)


def test_python_that_nobody_has_changed_follows_the_moves(harness: Harness) -> None:
    """Replayed, it took back what was done after it was opened."""
    schedule, draft = with_python(harness)
    schedule.unroll(schedule.get_loops("C")[2])
    harness.push()
    harness.asked_so_far()
    expect(draft.locator("textarea")).to_have_value(re.compile("unroll"))
    expect(draft.get_by_role("status")).to_have_count(0)
    draft.locator("textarea").fill(draft.locator("textarea").input_value() + "# mine\n")
    schedule.parallel(schedule.get_loops("C")[0])
    harness.push()
    harness.asked_so_far()
    expect(draft.locator("textarea")).to_have_value(re.compile("# mine"))
    expect(draft.get_by_role("status")).to_contain_text("begun on an earlier program")


def test_an_exercise_goes_with_its_session(harness: Harness) -> None:
    screen = teach.Task(teach.task("09_3").exercise, "ada").show()
    harness.show(screen)
    expect(harness.page.get_by_role("group", name="Exercise 09_3")).to_be_visible(timeout=20_000)
    showing(screen, harness, wb.open(Schedule(plain_matmul(16, 16, 16))))
    expect(harness.page.locator(".wb-strip").get_by_role("alert")).to_have_count(0, timeout=1500)
    expect(harness.page.get_by_role("group", name="Exercise 09_3")).to_have_count(0)


def test_a_search_for_the_wrong_rewrite_of_one_program_is_no_problem_of_the_next(harness: Harness) -> None:
    page = harness.page
    with planted_rule() as session:
        screen = Workbench(session)
        harness.show(screen)
        page.get_by_role("group", name="Workbench").get_by_role("listbox", name="Steps").focus()
        page.keyboard.press("v")
        checks = page.get_by_role("group", name="Checks")
        expect(checks.get_by_role("option", name="Planted")).to_contain_text("wrong", timeout=20_000)
        harness.asked_so_far()
        with harness.held():
            page.get_by_role("button", name="Find the first wrong rewrite").click()
            screen.session = wb.open(squashed())
            harness.push()
        harness.asked_so_far()
        expect(checks.get_by_role("alert")).to_have_count(0, timeout=1500)


def test_a_tensor_clicked_of_one_program_is_not_shown_of_the_next(harness: Harness) -> None:
    screen = drawn(harness, network())
    tab(harness, "Values").click()
    strip = harness.page.locator(".wb-strip")
    harness.asked_so_far()
    strip.get_by_role("button", name="Tensors of").click()
    harness.asked_so_far()
    with harness.held():
        strip.locator(".wb-tensors [role=option]").nth(1).click()
        screen.session = wb.open(squashed())
        harness.push()
    harness.asked_so_far()
    expect(strip.locator("svg, canvas")).to_have_count(0, timeout=1500)


def test_branches_compared_of_one_program_are_not_shown_of_the_next(harness: Harness) -> None:
    screen = drawn(harness, network())
    showing(screen, harness, screen.session.rerun(disabled_pass=["SimplifyExpr"]))
    tab(harness, "Branches").click()
    strip = harness.page.locator(".wb-strip")
    other = wb.open(squashed())
    another = other.rerun(disabled_pass=["SimplifyExpr"])
    with harness.held():
        strip.get_by_role("button", name="Compare").first.click()
        screen.session = another
        harness.push()
    harness.asked_so_far()
    expect(strip.locator("table")).to_have_count(0, timeout=1500)


def test_a_tab_that_the_next_program_lacks_is_closed(harness: Harness) -> None:
    screen = drawn(harness, network())
    tab(harness, "Run").click()
    showing(screen, harness, wb.open(Schedule(plain_matmul(16, 16, 16))))
    expect(tab(harness, "Run")).to_have_count(0)
    expect(harness.page.get_by_role("button", name="Run it")).to_have_count(0)


def test_changes_offered_for_one_program_are_not_discarded_of_the_next(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("WORKBENCH_CHANGES", raising=False)
    split(of_matmul())
    first = Workbench(model())
    ask(first, "pipeline.without", step=step_id(first, "FoldScaleAxis"))
    restarted(monkeypatch)
    screen = of_matmul()
    harness.show(screen)
    page = harness.page
    banner = page.locator(".wb-banner")
    expect(banner).to_contain_text("of an earlier time")
    with harness.held():
        page.get_by_role("button", name="Discard").click()
        screen.session = model()
        harness.push()
    harness.asked_so_far()
    expect(banner.first).to_contain_text("FoldScaleAxis", timeout=2000)
