"""Row 37 and first 7 on the screen of EfficientNet-lite0: why a pass left an operator as it is."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from tests.browser.shown import Shown


def ask(shown: Shown, op: str, of: str) -> Locator:
    """Choose the first box of an operator in the imported graph and ask a pass about it."""
    shown.layers("Relay", "Schedule")
    shown.pane("A").locator(".wb-box-call", has_text=re.compile(op)).first.click()
    summary = shown.page.get_by_role("region", name="Operators").locator("summary", has_text=op).first
    chosen = summary.locator("..")
    expect(summary).to_be_visible()
    if chosen.get_attribute("open") is None:
        summary.click()
    chosen.get_by_role("combobox", name=re.compile("^Why does a pass leave")).select_option(of)
    return chosen.get_by_role("region", name=re.compile(f"^{of} at "))


def test_ux_37_a_pass_says_which_precondition_failed(shown: Shown) -> None:
    found = ask(shown, "conv2d", "SimplifyExpr")
    rule = found.get_by_role("list", name="Rule pad-into-convolution")
    expect(rule.get_by_role("listitem").filter(has_text="failed")).to_contain_text("pad is a call of nn.pad; found")
    expect(rule.get_by_role("listitem").filter(has_text="not reached").first).to_contain_text("zeros are added")
    expect(found.locator(".wb-source").first).to_have_text(re.compile(r"^one_column\.py:\d+$"))
    found.get_by_text("that fail at once").click()
    others = found.get_by_role("list", name="Rules that fail at once").get_by_role("listitem")
    expect(others.filter(has_text="add-zero")).to_contain_text("a call of add")


def test_first_7_why_did_a_pass_not_fire_at_the_chosen_operator(shown: Shown) -> None:
    """The same operator, asked of three kinds of passes: near misses, one that fired, one without rules."""
    near = ask(shown, "conv2d", "FoldScaleAxis").get_by_role("list", name="Rule scale-before")
    expect(near.get_by_role("listitem").filter(has_text="failed")).to_contain_text("a call of multiply; found")
    expect(near.get_by_role("listitem").filter(has_text="holds").first).to_contain_text("heavy: nn.conv2d(")
    packed = ask(shown, "conv2d", "PackWeights").get_by_role("listitem").filter(has_text="pack-weights")
    expect(packed).to_contain_text(re.compile(r"one group, or each has at least \d+ output channels; found .*\d"))
    expect(ask(shown, "conv2d", "FuseOps")).to_contain_text("It did fire here: fuse.")
    expect(ask(shown, "conv2d", "EliminateCommonSubexpr")).to_contain_text("decides without rules over patterns")
    constant = ask(shown, "conv2d", "FoldConstant").get_by_role("listitem").filter(has_text="constant-call")
    expect(constant).to_contain_text("operand 0 is a constant")
    chosen = shown.page.get_by_role("region", name="Operators")
    shown.page.get_by_role("combobox", name=re.compile("^Why does a pass leave")).first.select_option("")
    expect(chosen.get_by_role("region")).to_have_count(0)
