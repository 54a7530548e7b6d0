"""Rows 70, 74 and 75 of the feature matrix: assembly with counts, and the share of the machine's peak."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.one_screen import OneScreen, one_screen


@pytest.fixture(scope="module")
def screen(browser: Browser) -> Iterator[OneScreen]:
    with one_screen(browser) as found:
        yield found


def layer(screen: OneScreen, name: str) -> None:
    chip = screen.page.get_by_role("navigation", name="Layers").get_by_role("button", name=name)
    chip.click(modifiers=["Shift"])


def test_ux_70_assembly_is_annotated_with_counts_and_says_where_they_come_from(screen: OneScreen) -> None:
    screen.page.get_by_role("region", name="pane A").click(position={"x": 5, "y": 5})
    layer(screen, "Assembly")
    pane = screen.page.get_by_role("region", name="Assembly, pane B")
    hottest = pane.get_by_role("button", name="Hottest")
    expect(hottest).to_have_attribute("title", re.compile("by trip counts"), timeout=30_000)
    hottest.click()
    bar = pane.locator(".wb-text-row .wb-hottest").first
    expect(bar).to_have_attribute("title", re.compile(r"runs 134,217,728 times a call"))
    expect(screen.page.get_by_role("region", name="The line")).to_contain_text("Its statement runs 134,217,728 times")


def test_ux_75_a_measured_kernel_says_its_share_of_the_machines_peak(screen: OneScreen) -> None:
    run = screen.page.locator(".wb-run")
    run.click()
    expect(run).to_contain_text(re.compile(r"[µm]s · [\d.]+% of peak"), timeout=30_000)
    expect(run).to_have_attribute("title", re.compile(r"GFLOP/s: [\d.]+% of the peak"))


def test_ux_74_llvm_says_why_a_loop_was_not_vectorised(screen: OneScreen) -> None:
    layer(screen, "LLVM")
    pane = screen.page.get_by_role("region", name=re.compile("^LLVM, pane"))
    pane.get_by_role("button", name="Remarks").click()
    said = pane.get_by_role("region", name="LLVM's remarks")
    expect(said).to_contain_text("cannot prove it is safe to reorder floating-point operations", timeout=20_000)
    expect(said.get_by_role("listitem").first).to_contain_text(re.compile(r"loop program, line \d+"))
    pane.get_by_role("button", name="Remarks").click()
    expect(said).to_have_count(0)
