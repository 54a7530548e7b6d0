"""The schedule editor of a screen: finding its boxes, choosing a primitive, whatever the screen was opened for."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page


class EditorParts:
    """Where the parts of the schedule editor in pane A are."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def in_mode(self, mode: str) -> None:
        button = self.page.get_by_role("region", name="Schedule, pane A").get_by_role("button", name=mode, exact=True)
        if button.get_attribute("aria-pressed") != "true":
            button.click()

    def loop(self, name: str) -> Locator:
        """The head of a loop's box."""
        named = self.page.locator(".wb-iter", has_text=re.compile(f"^{name}$"))
        return self.page.locator(".wb-tree .wb-box-head").filter(has=named)

    def block(self, name: str) -> Locator:
        named = self.page.locator(".wb-block-name", has_text=re.compile(f"^{name}$"))
        return self.page.locator(".wb-tree .wb-box-head").filter(has=named)

    def choose(self, box: Locator, primitive: str) -> None:
        box.click()
        self.page.get_by_role("button", name=primitive, exact=True).click()

    def apply(self) -> None:
        self.page.get_by_role("button", name="Apply", exact=True).click()
