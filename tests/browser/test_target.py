"""What code is made for, changed in the screen's head; and what code generation made, shown of the pane's kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

import workbench as wb
from tests.browser.screen_parts import OneScreen, one_screen
from tests.driver.programs import small_model
from tests.ui.asking import ask
from workbench.ui.workbench import Workbench

KERNEL = "fused_nn_conv2d_subtract"
WIDE = re.compile(r"%[yz]mm")
FIRST_ROW_FROM_THE_TOP = "box => { box.scrollTop = 0; return box.querySelector('.wb-line')?.textContent ?? ''; }"


@pytest.fixture
def screen(browser: Browser) -> Iterator[OneScreen]:
    with one_screen(browser, Workbench(wb.open(small_model(), target="llvm -mcpu=x86-64-v3"))) as found:
        found.ready()
        yield found


def _button(screen: OneScreen) -> Locator:
    return screen.page.get_by_role("button", name=re.compile("^Target "))


def _set(screen: OneScreen, text: str) -> None:
    _button(screen).click()
    field = screen.page.get_by_role("textbox", name="What to make code for")
    expect(field).to_be_focused()
    field.fill(text)
    field.press("Enter")


def _show_assembly(screen: OneScreen) -> Locator:
    """The assembly of a kernel that is not the first, in pane B."""
    screen.pane("B").locator(".wb-pane-head strong").click()
    screen.pane("B").get_by_role("combobox", name="Kernel").select_option(KERNEL)
    screen.chip("Assembly").click()
    return screen.page.get_by_role("region", name="Assembly, pane B")


def _scroll_to_label(screen: OneScreen, pane: Locator, kernel: str) -> None:
    """Until the first row is the label of the kernel's first function, whose name begins with the kernel's.

    Assembly begins where most is done, rows come when they are seen.
    """
    box = pane.locator(".wb-window-body")

    def first_row() -> str:
        return str(box.evaluate(FIRST_ROW_FROM_THE_TOP))

    label = re.compile(rf"^\d*\s*(wb_|__tvm_ffi_)?{kernel}(_[0-9a-f]+)?:")
    screen.harness.wait_until(lambda: bool(label.search(first_row())), f"the label of {kernel} is the first row")


def test_a_target_without_avx_has_no_wide_registers_and_undo_brings_them_back(screen: OneScreen) -> None:
    pane = _show_assembly(screen)
    hottest = pane.get_by_role("button", name="Hottest")
    hottest.click()
    expect(pane.locator(".wb-text-row", has_text=WIDE).first).to_be_visible()
    _set(screen, "llvm -mcpu=x86-64")
    screen.harness.push()
    expect(_button(screen)).to_have_text("llvm -mcpu=x86-64")
    expect(_button(screen)).to_be_focused()
    hottest.click()
    expect(pane.locator(".wb-text-row", has_text="%xmm").first).to_be_visible()
    expect(pane.locator(".wb-text-row", has_text=WIDE)).to_have_count(0)
    whole = ask(screen.screen, "whole", layer="asm", kernel=KERNEL)["text"]
    assert "%xmm" in whole and not WIDE.search(whole)
    expect(screen.page.locator(".wb-last-call")).to_have_text("s = s.rerun(target='llvm -mcpu=x86-64')")
    screen.button("Undo").click()
    screen.harness.push()
    expect(_button(screen)).to_have_text("llvm -mcpu=x86-64-v3")
    hottest.click()
    expect(pane.locator(".wb-text-row", has_text=WIDE).first).to_be_visible()


def test_a_text_that_is_no_target_is_refused_where_it_stands(screen: OneScreen) -> None:
    _set(screen, "llvm -mcpu=nothing")
    form = screen.page.get_by_role("dialog", name="Target")
    expect(form.get_by_role("alert")).to_contain_text("'nothing' is not a recognized processor")
    expect(form.get_by_role("textbox")).to_have_value("llvm -mcpu=nothing")
    form.get_by_role("textbox").press("Escape")
    expect(form).to_have_count(0)
    expect(_button(screen)).to_be_focused()
    assert str(screen.screen.session.target) == "llvm -mcpu=x86-64-v3"


def test_a_choice_is_one_press_by_keyboard_alone(screen: OneScreen) -> None:
    _button(screen).press("Enter")
    form = screen.page.get_by_role("dialog", name="Target")
    chosen = form.get_by_role("list", name="Processors and boards").get_by_role("button", name="apple-m1")
    chosen.press("Enter")
    screen.harness.push()
    expect(_button(screen)).to_have_text(re.compile("apple-m1"))
    assert screen.screen.session.target.cpu == "apple-m1"


# --- what code generation made ------------------------------------------------------------------------------------


def test_changes_of_assembly_are_those_of_the_kernel_chosen(screen: OneScreen) -> None:
    """They were the first kernel's, with all its directives, and no other could be chosen."""
    pane = _show_assembly(screen)
    lines = pane.locator(".wb-text-row .wb-line")
    expect(lines.first).to_be_visible()
    body = pane.locator(".wb-window-body")
    screen.harness.wait_until(lambda: body.evaluate("box => box.scrollTop") > 0, "it begins where most is done")
    _scroll_to_label(screen, pane, KERNEL)
    text = lines.first.inner_text()
    screen.pane("A").locator(".wb-pane-head strong").click()
    screen.page.get_by_role("listbox", name="Steps").get_by_role("option", name="Codegen").click()
    expect(pane.locator(".wb-step-name")).to_have_text("Codegen")
    expect(pane.get_by_role("combobox", name="Kernel")).to_have_value(KERNEL)
    expect(pane.locator(".wb-call")).to_contain_text(KERNEL)
    _scroll_to_label(screen, pane, KERNEL)
    assert lines.first.inner_text() == text
    assert not any(line.lstrip().startswith((".file", ".section")) for line in lines.all_inner_texts())
    pane.get_by_role("combobox", name="Kernel").select_option("fused_nn_softmax")
    expect(pane.locator(".wb-call")).to_contain_text("fused_nn_softmax")
    expect(pane.locator(".wb-hottest").first).to_be_visible()
    _scroll_to_label(screen, pane, "fused_nn_softmax")


def test_changes_of_another_step_stand_under_its_own_layer(screen: OneScreen) -> None:
    """They stood under "Assembly", whatever step was selected."""
    screen.screen.select("Import")
    screen.harness.push()
    expect(screen.page.locator(".wb-step-name")).to_have_text("Import")
    pane = _show_assembly(screen)
    pane.get_by_role("button", name="Changes").click()
    expect(screen.page.get_by_role("region", name="Relay, pane B").locator(".wb-step-name")).to_have_text("Import")
    expect(screen.page.get_by_role("region", name="Assembly, pane B")).to_have_count(0)
