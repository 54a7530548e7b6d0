"""Badges of a check in a real browser: they come, the red one is opened, the wrong rewrite is found, the test saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Harness
from tests.driver.planted_rule import INPUTS, planted_rule
from tests.driver.test_numerics_of_edits import averaged, given, shortened
from workbench.ui.checks import ChecksScreen
from workbench.ui.workbench import Workbench


def test_from_the_red_badge_to_the_rule_and_a_test_that_fails(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = harness.page
    with planted_rule() as session:
        harness.show(ChecksScreen(session.check(INPUTS, native=False)))
        red = page.get_by_role("option", name="Planted")
        expect(red).to_contain_text("wrong", timeout=20_000)
        expect(red).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("option", name="FuseOps")).to_contain_text("keeps an earlier error")
        detail = page.get_by_role("region", name="Check of Planted")
        for said in ("First wrong tensor", "expected", "3 of 3 elements"):
            expect(detail).to_contain_text(said)
        page.get_by_role("button", name="Find the first wrong rewrite").click()
        found = page.get_by_role("group", name="What is wrong")
        expect(found).to_contain_text("drop-one", timeout=20_000)
        expect(found).to_contain_text("planted_rule.py:")
        expect(found.locator(".wb-del").first).to_contain_text("add(")
        page.get_by_role("button", name="Save the test").click()
        expect(detail).to_contain_text("test_planted.py", timeout=20_000)
        assert (tmp_path / "test_planted.py").is_file()


def test_wrong_native_code_names_the_range_and_the_edit_in_it(harness: Harness) -> None:
    page = harness.page
    harness.show(ChecksScreen(shortened(averaged()).check(given())))
    expect(page.get_by_role("option", name="Codegen")).to_contain_text("wrong, from Lower on", timeout=30_000)
    detail = page.get_by_role("region", name="Check of Codegen")
    expect(detail).to_contain_text("Something from Lower to Codegen is wrong")
    expect(detail).to_contain_text("made by hand, so look there first: Edit")
    steps = page.get_by_role("listbox", name="Steps").get_by_role("option")
    left = steps.filter(has_text="not checked").count()
    known = f"{steps.count() - left} of {steps.count()} steps"
    expect(page.get_by_role("status").first).to_have_text(f"checked · {known} · 1 wrong")
    page.get_by_role("button", name="Find the first wrong rewrite").click()
    expect(page.get_by_role("group", name="What is wrong")).to_contain_text("this edit, made by hand", timeout=20_000)
    expect(page.get_by_role("option", name="Edit")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("option", name="Codegen")).to_contain_text("not checked")


def test_badges_are_walked_by_keys_and_cancelled_by_a_button(harness: Harness) -> None:
    from tests.driver.programs import small_inputs, small_session

    page = harness.page
    check = small_session().check(small_inputs())
    harness.show(ChecksScreen(check), dark=True)
    cancel = page.get_by_role("button", name="Cancel")
    if check.state == "running" and cancel.count():
        cancel.click()
    expect(page.get_by_role("button", name="Check again")).to_be_visible(timeout=20_000)
    page.get_by_role("listbox").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option", name="Import")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option", name="InferType")).to_have_attribute("aria-selected", "true")


def test_the_one_screen_checks_its_steps_and_forgets_what_was_changed(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = harness.page
    with planted_rule() as session:
        screen = Workbench(session)
        harness.show(screen)
        page.get_by_role("group", name="Workbench").get_by_role("listbox", name="Steps").focus()
        page.keyboard.press("v")
        checks = page.get_by_role("group", name="Checks")
        red = checks.get_by_role("option", name="Planted")
        expect(red).to_contain_text("wrong", timeout=20_000)
        expect(checks).to_contain_text("on random inputs")
        in_outline = page.get_by_role("listbox", name="Steps").first.get_by_role("option", name="Planted")
        expect(in_outline).to_contain_text("checked: wrong")
        page.get_by_role("button", name="Checks (1 wrong)").wait_for()
        page.get_by_role("button", name="Find the first wrong rewrite").click()
        found = page.get_by_role("group", name="What is wrong")
        expect(found).to_contain_text("drop-one", timeout=20_000)
        found.get_by_role("button", name="in the program").click()
        expect(page.get_by_role("region", name="The selected step")).to_contain_text("drop-one")
        assert screen.selected == "Planted" and screen.selected_rewrite is not None
        page.get_by_role("button", name="Save the test").click()
        expect(checks).to_contain_text("test_planted.py", timeout=20_000)

        checked = screen.session
        screen.session = checked.without("Planted")
        harness.push()
        expect(checks).to_contain_text("not checked yet")
        expect(page.get_by_role("button", name="Checks", exact=True)).to_be_visible()
        screen.session = checked
        harness.push()
        expect(checks.get_by_role("option", name="Planted")).to_contain_text("wrong")
        assert not harness.errors


def test_what_the_screen_checks_on_is_the_cells_to_give(harness: Harness) -> None:
    page = harness.page
    with planted_rule() as session:
        screen = Workbench(session)
        screen.inputs = {"x": INPUTS["x"][:2]}
        harness.show(screen)
        page.get_by_role("button", name="Checks").click()
        expect(page.get_by_role("alert")).to_contain_text("shape")
        screen.inputs = INPUTS
        page.get_by_role("button", name="Check", exact=True).click()
        expect(page.get_by_role("group", name="Checks")).to_contain_text("on screen.inputs")
        expect(page.get_by_role("option", name="Planted").last).to_contain_text("wrong", timeout=20_000)
        screen.inputs = {"x": INPUTS["x"] + 1}
        harness.push()
        expect(page.get_by_role("group", name="Checks")).to_contain_text("not checked yet")
        screen.inputs = INPUTS
        harness.push()
        expect(page.get_by_role("option", name="Planted").last).to_contain_text("wrong")
