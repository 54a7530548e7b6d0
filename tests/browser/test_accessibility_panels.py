"""The panels of the one screen against axe-core: below the lens, values, remarks, cards, checks, banner, words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.pages import LIGHTS
from tests.browser.screen_parts import OneScreen, one_screen
from tests.browser.test_accessibility import grave
from tests.browser.test_ux_text import word
from tests.driver.planted_rule import planted_rule
from tests.driver.programs import small_session
from tests.schedule.programs import plain_matmul
from tests.ui.asking import restarted
from tests.ui.test_changes import of_matmul, split
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench

pytestmark = [pytest.mark.timeout(120), pytest.mark.parametrize("dark", LIGHTS)]


def test_what_is_below_the_lens(browser: Browser, dark: bool) -> None:
    schedule = Schedule(plain_matmul(32, 32, 32))
    schedule.split(schedule.get_loops("C")[1], [None, 16])
    with one_screen(browser, Workbench(wb.open(schedule), schedule=schedule), dark) as shown:
        page = shown.page
        expect(page.get_by_role("treeitem").first).to_be_visible(timeout=30_000)
        page.get_by_role("region", name="Schedule, pane A").get_by_role("button", name="Lens", exact=True).click()
        more = page.get_by_role("region", name="More about memory")
        expect(more).to_be_visible(timeout=20_000)
        opening = [button.inner_text() for button in more.get_by_role("button", expanded=False).all()]
        assert len(opening) == 4
        for name in opening:
            more.get_by_role("button", name=name, exact=True).first.click()
            expect(more.get_by_role("button", name=name, exact=True).first).to_have_attribute("aria-expanded", "true")
            shown.harness.wait_until(lambda: not more.locator("[aria-busy=true]").count(), f"{name} is here")
            page.wait_for_timeout(500)
            assert grave(shown.harness) == [], name


@pytest.fixture
def small(browser: Browser, dark: bool) -> Iterator[OneScreen]:
    with one_screen(browser, Workbench(small_session()), dark) as shown:
        shown.ready()
        yield shown


def test_values_and_a_tensor(small: OneScreen, dark: bool) -> None:
    small.open_tab("Values")
    small.button("Compare outputs").click()
    expect(small.page.get_by_role("table", name="Outputs after")).to_be_visible(timeout=30_000)
    small.button("Tensors of").click()
    expect(small.page.get_by_role("listbox", name="Tensors of")).to_be_visible(timeout=30_000)
    assert grave(small.harness) == []
    small.page.get_by_role("listbox", name="Tensors of").get_by_role("option").nth(1).click()
    expect(small.page.get_by_role("region", name="Tensor 1")).to_be_visible(timeout=20_000)
    assert grave(small.harness) == []


def test_remarks_and_the_passes_of_llvm(small: OneScreen, dark: bool) -> None:
    small.chip("LLVM").click()
    small.page.get_by_role("button", name="Remarks").first.click()
    expect(small.page.get_by_role("region", name="LLVM's remarks")).to_be_visible(timeout=20_000)
    assert grave(small.harness) == []
    small.page.get_by_role("button", name="Passes", exact=True).first.click()
    expect(small.page.get_by_role("listbox", name="Steps").last).to_be_visible(timeout=20_000)
    assert grave(small.harness) == []


def test_the_cards_of_te(small: OneScreen, dark: bool) -> None:
    small.chip("TE").click()
    small.pane("A").get_by_role("button", name="Formulas").click()
    expect(small.page.get_by_role("list", name="Stages")).to_be_visible(timeout=20_000)
    assert grave(small.harness) == []


def test_views_share_and_branches(small: OneScreen, dark: bool) -> None:
    for tab in ("Views", "Share"):
        small.open_tab(tab)
        expect(small.page.get_by_role("group", name=tab)).to_be_visible()
        assert grave(small.harness) == [], tab


def test_what_a_word_means(small: OneScreen, dark: bool) -> None:
    small.chip("TIR").click()
    row = small.page.locator(".wb-text-row", has_text=re.compile(r"T\.(serial|parallel|vectorized)\(")).first
    found = re.search(r"T\.\w+", row.locator(".wb-line").inner_text())
    assert found is not None
    middle = word(row, found[0])
    small.page.mouse.move(middle["x"], middle["y"])
    expect(small.page.get_by_role("tooltip")).to_be_visible(timeout=10_000)
    assert grave(small.harness) == []


def test_checks_with_a_wrong_step(
    browser: Browser, dark: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with planted_rule() as session, one_screen(browser, Workbench(session), dark) as shown:
        shown.ready()
        shown.open_tab("Checks")
        page, checks = shown.page, shown.page.get_by_role("group", name="Checks")
        expect(checks.get_by_role("option", name="Planted")).to_contain_text("wrong", timeout=60_000)
        assert grave(shown.harness) == []
        page.get_by_role("button", name="Find the first wrong rewrite").click()
        expect(page.get_by_role("group", name="What is wrong")).to_contain_text("drop-one", timeout=30_000)
        assert grave(shown.harness) == []


def test_the_banner_of_changes_kept(
    harness: Harness, dark: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("WORKBENCH_CHANGES", raising=False)
    split(of_matmul())
    restarted(monkeypatch)
    harness.show(of_matmul(), dark)
    banner = harness.page.locator(".wb-banner")
    expect(banner).to_contain_text("of an earlier time")
    banner.locator("summary").click()
    assert grave(harness) == []
    harness.page.get_by_role("button", name="Restore").click()
    expect(banner).to_contain_text("restored.")
    assert grave(harness) == []
