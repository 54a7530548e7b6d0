"""What can compute a kernel, on the screen: looking at it, choosing another one, the cheapest again, refusals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, expect

import workbench as wb
from tests.browser.screen_parts import OneScreen, one_screen
from tests.driver.programs import EIGHT_LANES, onnxruntime_outputs, small_inputs, small_model
from tests.schedule.programs import plain_matmul
from workbench.ui.workbench import Workbench

KERNEL = "fused_nn_conv2d_nn_bias_add_add_nn_relu"


@pytest.fixture
def screen(browser: Browser) -> Iterator[OneScreen]:
    with one_screen(browser, Workbench(wb.open(small_model(), target=EIGHT_LANES))) as found:
        found.ready()
        found.pane("B").locator(".wb-pane-head strong").click()
        found.pane("B").get_by_role("combobox", name="Kernel").select_option(KERNEL)
        yield found


def table(screen: OneScreen) -> Locator:
    return screen.pane("B").get_by_role("table", name="Candidates", exact=True)


def row(screen: OneScreen, name: str) -> Locator:
    return table(screen).get_by_role("row").filter(has=screen.page.get_by_role("rowheader", name=name, exact=True))


def look(screen: OneScreen) -> None:
    screen.pane("B").get_by_role("button", name="Candidates", exact=True).click()
    expect(table(screen)).to_be_visible()


def test_the_candidates_of_a_kernel_are_a_table_the_cheapest_first(screen: OneScreen) -> None:
    look(screen)
    titles = ["Implementation", "In use", "Cycles, estimated", "Times the cheapest", "Configuration"]
    expect(table(screen).get_by_role("columnheader")).to_have_text(titles)
    expect(table(screen).get_by_role("rowheader")).to_have_text(["conv2d.blocks", "conv2d.columns", "conv2d.plain"])
    expect(row(screen, "conv2d.blocks")).to_contain_text("✓ by cost")
    expect(row(screen, "conv2d.blocks")).to_contain_text("1.00 ×")
    expect(row(screen, "conv2d.columns").get_by_role("button", name="Choose")).to_be_visible()
    unfit = screen.pane("B").get_by_role("table", name="Candidates that do not fit")
    expect(unfit.get_by_role("row").filter(has_text="conv2d.pixels")).to_contain_text("one tap at every pixel")
    expect(unfit.get_by_role("button")).to_have_count(0)
    expect(screen.button("The cheapest again")).to_have_count(0)


def test_another_one_is_chosen_in_a_branch_with_other_loops_and_the_same_numbers(screen: OneScreen) -> None:
    text = screen.page.get_by_role("listbox", name="Schedule, pane B")
    loops = text.inner_text()
    look(screen)
    row(screen, "conv2d.columns").get_by_role("button", name="Choose").click()
    screen.harness.push()
    expect(row(screen, "conv2d.columns")).to_contain_text("✓ by hand")
    expect(row(screen, "conv2d.blocks").get_by_role("button", name="Choose")).to_be_visible()
    expect(screen.page.locator(".wb-last-call")).to_have_text(f"s = s.choose('{KERNEL}', 'conv2d.columns')")
    expect(screen.page.get_by_role("combobox", name="Branch").locator("option")).to_have_count(2)
    screen.pane("B").get_by_role("button", name="Text").click()
    expect(text).to_be_visible()
    expect(text).not_to_have_text(loops, use_inner_text=True)
    found = screen.screen.session.run(small_inputs())
    for one, wanted in zip(found.values(), onnxruntime_outputs(small_model(), small_inputs()), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-4)
    screen.button("Undo").click()
    screen.harness.push()
    look(screen)
    expect(row(screen, "conv2d.blocks")).to_contain_text("✓ by cost")


def test_configurations_open_by_key_and_one_is_chosen_and_the_cheapest_again_ends_it(screen: OneScreen) -> None:
    screen.page.keyboard.press("p")
    expect(table(screen)).to_be_visible()
    more = row(screen, "conv2d.columns").get_by_role("button", name="configurations of conv2d.columns")
    more.press("Enter")
    expect(more).to_have_attribute("aria-expanded", "true")
    view: Any = screen.screen.ask("candidates", kernel=KERNEL).content["view"]
    _, config = view["rows"][1]["configs"][1]
    told = " ".join(f"{name}={value}" for name, value in config)
    screen.pane("B").get_by_role("button", name=f"Choose conv2d.columns {told}", exact=True).press("Enter")
    screen.harness.push()
    expect(row(screen, "conv2d.columns")).to_contain_text(re.compile(f"✓ by hand.*{told}"))
    expect(screen.pane("B").get_by_role("region", name="Candidates")).to_be_focused()
    screen.button("The cheapest again").press("Enter")
    screen.harness.push()
    expect(row(screen, "conv2d.blocks")).to_contain_text("✓ by cost")
    expect(screen.page.locator(".wb-last-call")).to_have_text(f"s = s.choose('{KERNEL}')")
    assert screen.screen.session.plan.lower_row()[1].choices == ()


def test_a_refusal_is_told_in_the_pane_and_loses_nothing(screen: OneScreen) -> None:
    look(screen)
    before = screen.screen.session
    with screen.harness.held():
        row(screen, "conv2d.columns").get_by_role("button", name="Choose").click()
        screen.screen.session = before.choose(KERNEL, "conv2d.plain")  # a cell, before the kernel answers
    screen.harness.push()
    expect(screen.pane("B").get_by_role("alert")).to_contain_text("another view has changed the program")
    expect(row(screen, "conv2d.plain")).to_contain_text("✓ by hand")
    assert "candidates.choose: E-UI-STALE" in screen.harness.refused[-1]
    screen.pane("B").get_by_role("button", name="Close the message").click()
    expect(screen.pane("B").get_by_role("alert")).to_have_count(0)


def test_a_kernel_without_candidates_says_so(screen: OneScreen) -> None:
    look(screen)
    pool = next(name for name in screen.screen.session.kernels if "avg_pool" in name)
    screen.pane("B").get_by_role("combobox", name="Kernel").select_option(pool)
    expect(screen.pane("B")).to_contain_text("No operator of this kernel has implementations to choose from")
    expect(screen.pane("B").get_by_role("table")).to_have_count(0)


def test_a_program_of_loops_leaves_nothing_to_choose(browser: Browser) -> None:
    with one_screen(browser, Workbench(wb.open(plain_matmul(16, 16, 16), target=EIGHT_LANES))) as screen:
        screen.ready()
        expect(screen.pane("A").get_by_role("button", name="Lens")).to_be_visible()
        expect(screen.button("Candidates")).to_have_count(0)


def test_a_schedule_by_hand_is_told_and_goes_where_its_implementation_is_taken_with_its_own(screen: OneScreen) -> None:
    plain = screen.screen.session
    schedule = plain.schedule(KERNEL)
    schedule.annotate(schedule.get_loops("conv2d")[0], "by_hand", 1)
    screen.screen.session = plain.edit(schedule={KERNEL: schedule})
    screen.harness.push()
    look(screen)
    expect(row(screen, "conv2d.blocks")).to_contain_text("✓ scheduled by hand")
    row(screen, "conv2d.blocks").get_by_role("button", name="Choose conv2d.blocks").click()
    screen.harness.push()
    expect(row(screen, "conv2d.blocks")).to_contain_text("✓ by hand")
    assert screen.screen.session.schedule(KERNEL).code() == plain.schedule(KERNEL).code()
    screen.button("Undo").click()
    screen.harness.push()
    look(screen)
    expect(row(screen, "conv2d.blocks")).to_contain_text("✓ scheduled by hand")
