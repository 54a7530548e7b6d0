"""The changes of a step by kind, on the screen of EfficientNet-lite0."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.shown import Shown


@pytest.fixture
def fused(shown: Shown) -> Locator:
    shown.changes("FuseOps")
    diff = shown.pane("A").locator(".wb-diff")
    expect(diff.locator(".wb-kind").first).to_be_visible()
    return diff


def changed(diff: Locator) -> int:
    return diff.locator("ins.wb-line, del.wb-line").count()


def test_many_changes_are_told_by_kind_and_one_of_each_is_written_out(shown: Shown, fused: Locator) -> None:
    kinds = fused.locator(".wb-kind")
    wanted = [kind.heading for kind in shown.session["FuseOps"].diff().kinds]
    assert 6 <= len(wanted) <= 9 and sum(int(re.search(r"×(\d+)", one)[1]) for one in wanted if "×" in one) > 40
    expect(kinds).to_have_count(len(wanted))
    assert kinds.locator(".wb-kind-title").all_inner_texts() == [" ".join(one.split()) for one in wanted]
    expect(kinds.first).to_have_attribute("aria-expanded", "true")
    view = shown.screen.ask("pipeline.kinds", step=shown.session.step("FuseOps").id).content["view"]
    opened = [sign for kind in view["kinds"] for sign, _ in kind["rows"][: kind["shown"]] if sign in "+-"]
    assert 0 < len(opened) <= 40 and 0 < changed(fused) <= 40


def test_a_kind_is_opened_and_closed(shown: Shown, fused: Locator) -> None:
    first = fused.locator(".wb-kind").first
    line = fused.locator("ins.wb-line", has_text="def fused_conv2d_bias_add_clip(")
    expect(line).to_have_count(1)
    first.click()
    expect(first).to_have_attribute("aria-expanded", "false")
    expect(line).to_have_count(0)
    shown.page.keyboard.press("Enter")
    expect(first).to_have_attribute("aria-expanded", "true")
    expect(line).to_have_count(1)
    shown.page.keyboard.press("s")
    expect(fused).to_have_class(re.compile("wb-split"))
    expect(fused.locator(".wb-half ins.wb-line", has_text="def fused_conv2d_bias_add_clip(")).to_have_count(1)
    shown.page.keyboard.press("s")


def test_the_whole_text_is_one_key_away(shown: Shown, fused: Locator) -> None:
    toggle = shown.pane("A").get_by_role("button", name="By kind")
    expect(toggle).to_have_attribute("aria-pressed", "true")
    shown.page.keyboard.press("k")
    expect(toggle).to_have_attribute("aria-pressed", "false")
    expect(shown.pane("A").locator(".wb-kind")).to_have_count(0)
    whole = shown.pane("A").locator(".wb-diff")
    expect(whole.locator(".wb-row .wb-no").first).to_have_text(re.compile(r"\d"))
    shown.page.keyboard.press("k")
    expect(shown.pane("A").locator(".wb-kind").first).to_be_visible()


def test_an_import_has_nothing_before_it_to_tell_kinds_from(shown: Shown) -> None:
    shown.changes("Import")
    expect(shown.pane("A").locator("ins.wb-line").first).to_be_visible()
    expect(shown.pane("A").get_by_role("button", name="By kind")).to_have_count(0)
