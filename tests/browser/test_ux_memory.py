"""Rows 62 to 68 of the feature matrix: what a loop nest touches, when, and in which cache it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.one_screen import OneScreen, one_screen
from tests.schedule.programs import plain_matmul
from workbench.schedule import Schedule


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[OneScreen]:
    schedule = Schedule(plain_matmul(64, 64, 64))
    schedule.split(schedule.get_loops("C")[1], factors=[None, 16])
    with one_screen(browser, schedule) as found:
        yield found


@pytest.fixture
def screen(opened: OneScreen) -> OneScreen:
    opened.begin(1)
    opened.in_mode("Lens")
    expect(opened.page.get_by_role("slider", name="Visit")).to_be_visible(timeout=20_000)
    return opened


def legend(screen: OneScreen) -> Locator:
    return screen.page.get_by_label("What the colours say")


def test_ux_62_the_order_of_visits_is_played(screen: OneScreen) -> None:
    scrub = screen.page.get_by_role("slider", name="Visit")
    scrub.fill("0")
    caption = screen.page.locator("figcaption").nth(1)
    expect(caption).to_contain_text("now [0, 0]")
    screen.page.get_by_role("button", name="One visit on").click()
    expect(caption).to_contain_text("now [1, 0]")
    scrub.fill("262000")
    screen.page.get_by_role("button", name="Play").click()
    expect(scrub).to_have_value("262143")


def test_ux_67_a_tiles_slider_moves_the_picture_at_once(screen: OneScreen) -> None:
    asked = len(screen.harness.asked)
    pictures = "[...document.querySelectorAll('.wb-lens canvas')].map((one) => one.toDataURL())"
    screen.page.get_by_role("slider", name="Visit").fill("100000")
    screen.page.get_by_role("button", name=re.compile("^(i|j_0)$")).last.click()
    before = screen.page.evaluate(pictures)
    factor = screen.page.get_by_role("slider", name="Factor of j_1", exact=True)
    factor.press("PageUp")
    expect(factor).to_have_value("32")
    screen.page.wait_for_function(f"before => String({pictures}) !== String(before)", arg=before)
    assert len(screen.harness.asked) == asked, "dragging asks nothing"
    factor.press("Escape")
    expect(factor).to_have_value("16")


def test_ux_68_each_loops_working_set_stands_beside_the_caches(screen: OneScreen) -> None:
    rows = screen.page.locator(".wb-lens-loops tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text("A 16 KB + B 16 KB + C 16 KB")
    for row in rows.all():
        expect(row.locator("td").last).to_have_text(re.compile(r"^(L1|L2|L3|memory), [\d.]+ [KM]?B$"))


def test_first_9_the_tile_lens_changes_the_real_schedule_and_measures_it(screen: OneScreen) -> None:
    factor = screen.page.get_by_role("slider", name="Factor of j_1", exact=True)
    factor.press("PageUp")
    factor.press("Enter")
    result = screen.page.locator(".wb-lens-result")
    expect(result).to_contain_text(re.compile(r"GFLOP/s.*misses L1 [\d,]+"), timeout=20_000)
    assert "factors=[None, 32]" in screen.schedule.code()
    screen.page.get_by_role("button", name="Back to j_1 = 16").click()
    screen.harness.wait_until(lambda: "factors=[None, 16]" in screen.schedule.code(), "the tile is as it was")
