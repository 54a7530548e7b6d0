"""One opened screen that the tests of a file share: finding its parts, pressing its keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, expect

from tests.browser.harness import Harness
from tests.browser.pages import new_page
from workbench.ui.workbench import Workbench

NETWORK = Path(__file__).parents[2] / "notebooks" / "data" / "efficientnet_lite0.onnx"


class OneScreen:
    """A screen in a page of its own."""

    def __init__(self, harness: Harness, screen: Workbench) -> None:
        self.harness, self.page, self.screen = harness, harness.page, screen

    def chip(self, name: str) -> Locator:
        layers = self.page.get_by_role("navigation", name="Layers")
        return layers.get_by_role("button", name=re.compile(rf"^\W*{name}"))

    def pane(self, which: str) -> Locator:
        return self.page.get_by_role("region", name=f"pane {which}")

    def button(self, name: str, **options: Any) -> Locator:
        return self.page.get_by_role("button", name=name, **options)

    def tab(self, name: str) -> Locator:
        """A tab of the strip, by the beginning of its name."""
        return self.page.locator(".wb-strip-head").get_by_role("button", name=re.compile(f"^{name}"))

    def open_tab(self, name: str) -> None:
        if self.tab(name).get_attribute("aria-expanded") != "true":
            self.tab(name).click()

    def close_tab(self, name: str) -> None:
        if self.tab(name).get_attribute("aria-expanded") == "true":
            self.tab(name).click()

    def ready(self) -> None:
        """Kernels are known, texts and links are there."""
        expect(self.page.locator(".wb-text-row").first).to_be_visible(timeout=60_000)
        self.harness.wait_until(lambda: "links" in self.harness.operations(), "the link table is here", 60)


@contextmanager
def one_screen(browser: Browser, screen: Workbench, dark: bool = False, width: int = 1500) -> Iterator[OneScreen]:
    """The screen in a page in which nothing goes wrong, and which asks for nothing elsewhere."""
    harness = Harness(new_page(browser, width, 900, 10_000))
    try:
        harness.show(screen, dark)
        yield OneScreen(harness, screen)
    finally:
        harness.page.close()
    assert harness.foreign == [], "the page asked for something elsewhere"
    assert harness.errors == []
