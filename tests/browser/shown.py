"""One opened screen on a real model, which the tests of a file share: each goes first to where it wants to be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.harness import Harness
from tests.browser.pages import new_page
from workbench.ui.workbench import Workbench


class Shown:
    """A page with the workbench on a session, and where its parts are."""

    def __init__(self, page: Page, session: Any) -> None:
        self.page, self.session = page, session
        self.harness = Harness(page)
        self.screen = Workbench(session)
        self.harness.show(self.screen)
        expect(self.pane("B").locator(".wb-text-row").first).to_be_visible(timeout=60_000)
        self.harness.wait_until(lambda: "links" in self.harness.operations(), "the link table is here")

    def chip(self, name: str) -> Locator:
        return self.page.get_by_role("navigation", name="Layers of the program").get_by_role(
            "button", name=re.compile(rf"^\W*{name}")
        )

    def pane(self, which: str) -> Locator:
        return self.page.get_by_role("region", name=f"pane {which}")

    def step(self, name: str) -> Locator:
        return self.page.get_by_role("listbox", name="Steps").get_by_role("option", name=name).first

    def box(self, which: str, text: str) -> Locator:
        return self.pane(which).locator(".wb-box", has_text=text)

    def rows(self, which: str) -> Locator:
        return self.pane(which).locator(".wb-text-row")

    def button(self, name: str, **options: Any) -> Locator:
        return self.page.get_by_role("button", name=name, **options)

    def focus(self, which: str) -> None:
        """Make a pane the one that keys and chips speak of."""
        self.pane(which).locator(".wb-pane-head strong").click()

    def layers(self, a: str, b: str = "") -> None:
        """Show layers in the panes, the usual way of each; returns when both are drawn."""
        self.focus("A")
        self.chip(a).click()
        if b:
            self.chip(b).click(modifiers=["Shift"])
        for layer, which in ((a, "A"), (b, "B")):
            if layer:  # what is clicked before that is of the layer shown before
                expect(self.page.get_by_role("region", name=re.compile(rf"^{layer}.*, pane {which}$"))).to_be_visible()

    def text(self, layer: str, which: str = "A") -> Locator:
        """A layer as text, its lines there."""
        self.focus(which)
        self.chip(layer).click()
        self.turn("Text", which)
        expect(self.rows(which).first).to_be_visible(timeout=30_000)
        return self.rows(which)

    def turn(self, mode: str, which: str = "A") -> None:
        """How a pane shows its layer; layers that have one way only have no such button."""
        found = self.pane(which).locator(".wb-pane-head").get_by_role("button", name=mode, exact=True)
        if found.count():
            found.click()

    def changes(self, step: str, which: str = "A", layer: str = "Fused") -> None:
        """What a step changed, in a pane; the other shows its layer."""
        self.focus(which)
        self.chip(layer).click()
        self.turn("Changes", which)
        self.step(step).click()
        expect(self.pane(which).locator(".wb-step-name")).to_have_text(step)

    def back(self) -> None:
        """Show the session again that the screen was opened for."""
        if self.screen.session is not self.session:
            self.screen.session = self.session
            self.harness.push()

    def settled(self) -> None:
        """Fail for what the page complained of."""
        assert self.harness.foreign == [], "the page asked for something elsewhere"
        assert self.harness.errors == []


@contextmanager
def opened(browser: Browser, session: Any) -> Iterator[Shown]:
    """The screen in a page of its own."""
    shown = Shown(new_page(browser, 1500, 900), session)
    try:
        yield shown
        shown.settled()
    finally:
        shown.page.close()
