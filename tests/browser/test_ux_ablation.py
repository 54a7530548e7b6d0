"""First 6 on the screen of EfficientNet-lite0: what the program would be without each of its passes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.shown import Shown
from workbench.driver.ablation import graph_passes, without


def opened(shown: Shown) -> Locator:
    tab = shown.page.locator(".wb-strip-head").get_by_role("button", name="Ablation")
    if tab.get_attribute("aria-expanded") != "true":
        tab.click()
    return shown.page.get_by_role("group", name="Ablation")


def row(pane: Locator, step: str) -> Locator:
    return pane.get_by_role("row").filter(has=pane.page.get_by_role("rowheader", name=step, exact=True))


@pytest.mark.nightly
def test_first_6_one_click_shows_what_each_pass_does(shown: Shown) -> None:
    pane = opened(shown)
    branches = len(shown.session.branches)
    pane.get_by_role("button", name="What does each pass do?").click()
    expect(row(pane, "InferType")).to_be_visible(timeout=30_000)
    expect(pane.get_by_role("button", name="Cancel")).to_be_visible()  # answers are shown while others are on their way
    passes = graph_passes(shown.session)
    expect(pane.get_by_role("status")).to_have_text(f"{len(passes)} of {len(passes)} passes", timeout=150_000)
    fused = without(shown.session, "FuseOps").figures
    base = shown.session.ablation().base
    assert fused is not None and fused.bytes is not None and base.bytes is not None
    assert fused.kernels > base.kernels and fused.bytes > 2 * base.bytes
    cells = row(pane, "FuseOps").get_by_role("cell")
    expect(cells.nth(1)).to_have_text(f"+{fused.kernels - base.kernels}")
    expect(cells.nth(2)).to_have_text(f"+{fused.bytes - base.bytes:,}")
    expect(cells.nth(3)).to_have_text(re.compile(r"^\+[\d,]+ *$"))
    expect(cells.nth(2).locator(".wb-ablated-more")).to_have_attribute("style", re.compile("width: 48px"))
    gains = [cell for cell in pane.get_by_role("cell").all() if (cell.text_content() or "").startswith("−")]
    assert gains, "without some pass something is less"
    assert all(cell.locator(".wb-ablated-less").count() == 1 for cell in gains), "what is less is drawn otherwise"
    expect(row(pane, "FoldScaleAxis").get_by_role("cell").first).to_have_text("same")
    expect(pane.get_by_role("columnheader", name="Cycles, estimated")).to_be_visible()
    expect(pane.get_by_role("columnheader", name="Time, median")).to_have_count(0)
    assert len(shown.session.branches) == branches, "what is only tried is no branch"


@pytest.mark.nightly
def test_first_6_measuring_is_cancelled_and_the_screen_answers(shown: Shown) -> None:
    pane = opened(shown)
    pane.get_by_role("button", name="Measure it too").click()
    expect(row(pane, "nothing")).to_contain_text(re.compile(r"[\d.]+ ms \([\d.]+ ms to [\d.]+ ms\)"), timeout=150_000)
    same = row(pane, "InferType").get_by_role("cell").last
    expect(same).to_have_text("same code", timeout=60_000)
    expect(same.locator(".wb-ablated")).to_have_count(0)
    pane.get_by_role("button", name="Cancel").click()
    expect(pane.get_by_role("button", name="What does each pass do?")).to_be_visible()
    told = pane.get_by_role("status").text_content() or ""
    assert int(told.split()[0]) < len(graph_passes(shown.session))
    shown.changes("FuseOps")
    expect(pane.get_by_role("status")).to_have_text(told)
