"""Rows 12 to 21 of the feature matrix on the screen of EfficientNet-lite0: programs as text."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.shown import Shown


@pytest.mark.parametrize(
    ("layer", "line", "kind", "word"),
    [
        ("Relay", 1, "key", "def"),
        ("Schedule", 5, "key", "for"),
        ("TIR", 4, "key", "for"),
        ("LLVM", 70, "key", "load"),
        ("Assembly", 60, "com", "# "),
    ],
)
def test_ux_12_programs_are_coloured_by_their_syntax(
    shown: Shown, layer: str, line: int, kind: str, word: str
) -> None:
    rows = shown.text(layer)
    shown.pane("A").locator(".wb-window-body").evaluate("(box, line) => { box.scrollTop = 19 * (line - 4); }", line)
    expect(rows.locator(".wb-t-num").first).to_be_visible()
    found = rows.locator(f".wb-t-{kind}", has_text=word).first
    expect(found).to_be_visible()
    plain = rows.locator(".wb-line").first.evaluate("node => getComputedStyle(node).color")
    assert found.evaluate("node => getComputedStyle(node).color") != plain


def test_ux_20_noise_is_hidden_until_it_is_asked_for(shown: Shown) -> None:
    shown.text("Assembly")
    body = shown.pane("A").locator(".wb-window-body")
    directives = shown.pane("A").locator(".wb-line", has_text=re.compile(r"^\s*\.(file|section|p2align)\b"))
    expect(directives).to_have_count(0)
    height = body.evaluate("box => box.scrollHeight")
    shown.pane("A").get_by_role("button", name="Every line").click()
    body.evaluate("box => { box.scrollTop = 0; }")
    expect(directives.first).to_be_visible()
    assert body.evaluate("box => box.scrollHeight") > height
    body.focus()
    shown.page.keyboard.press(".")
    expect(directives).to_have_count(0)
