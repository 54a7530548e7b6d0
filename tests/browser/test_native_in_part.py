"""Machine code that was made to be looked at: chips, steps and the saved picture tell of it alike."""

from __future__ import annotations

import re

from playwright.sync_api import expect

import workbench as wb
from tests.browser.harness import Harness
from tests.schedule.programs import plain_matmul
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench


def test_chips_steps_and_the_saved_text_say_the_same_of_machine_code(harness: Harness) -> None:
    """The chips said that LLVM had run, the list of steps that Codegen had not, the saved text that neither had."""
    screen = Workbench(wb.open(Schedule(plain_matmul(8, 10, 6))))
    before = screen._snapshot().text
    assert "not run yet" in before and "Assembly" in before
    harness.show(screen)
    page = harness.page
    for layer in ("LLVM", "Assembly"):
        chip = page.get_by_role("navigation", name="Layers").get_by_role("button", name=re.compile(rf"^\W*{layer}"))
        expect(chip).to_contain_text("◐", timeout=30_000)
        expect(chip).to_have_attribute("title", re.compile("compiled to be looked at or measured, not yet as a whole"))
    page.get_by_role("region", name="pane A").get_by_role("button", name="Changes", exact=True).click()
    codegen = page.get_by_role("listbox", name="Steps").get_by_role("option", name=re.compile("^Codegen"))
    expect(codegen).to_contain_text("(run in part)")
    expect(codegen).to_contain_text("◐")
    after = screen._snapshot().text
    assert "not run yet" not in after and "◐ LLVM" in after
    codegen.click()  # it is run
    expect(page.get_by_role("listbox", name="Steps").get_by_role("option", name="Codegen (changed")).to_be_visible()
