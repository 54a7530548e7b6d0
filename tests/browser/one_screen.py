"""One opened screen for the tests of a file: a 512 matrix product whose moves are taken back before each test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.schedule.programs import plain_matmul
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench


class OneScreen:
    """The screen of a schedule in its editor, as `schedule.show()` opens it."""

    def __init__(self, harness: Harness, schedule: Schedule) -> None:
        self.harness, self.page, self.schedule = harness, harness.page, schedule
        self.screen = Workbench(wb.open(schedule), schedule=schedule)
        harness.show(self.screen)
        expect(self.page.get_by_role("treeitem").first).to_be_visible(timeout=30_000)

    def begin(self, steps: int = 0) -> None:
        """As it was opened, with `steps` moves done."""
        while len(self.schedule.moves.done) > steps and self.schedule.moves.back():
            pass
        self.harness.push()
        self.in_mode("Editor")

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


@contextmanager
def one_screen(browser: Browser, schedule: Schedule | None = None) -> Iterator[OneScreen]:
    context = browser.new_context(viewport={"width": 1500, "height": 900}, device_scale_factor=1)
    context.set_default_timeout(10_000)
    harness = Harness(context.new_page())
    yield OneScreen(harness, schedule or Schedule(plain_matmul(512, 512, 512)))
    assert harness.foreign == [] and harness.errors == []
    context.close()
