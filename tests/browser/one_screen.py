"""One opened screen for the tests of a file: a 512 matrix product whose moves are taken back before each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, expect

import workbench as wb
from tests.browser.editor_parts import EditorParts
from tests.browser.harness import Harness
from tests.browser.pages import new_page
from tests.schedule.programs import plain_matmul
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench


class OneScreen(EditorParts):
    """The screen of a schedule in its editor, as `schedule.show()` opens it."""

    def __init__(self, harness: Harness, schedule: Schedule) -> None:
        super().__init__(harness.page)
        self.harness, self.schedule = harness, schedule
        self.screen = Workbench(wb.open(schedule), schedule=schedule)
        harness.show(self.screen)
        expect(self.page.get_by_role("treeitem").first).to_be_visible(timeout=30_000)

    def begin(self, steps: int = 0) -> None:
        """As it was opened, with `steps` moves done."""
        while len(self.schedule.moves.done) > steps and self.schedule.moves.back():
            pass
        self.harness.push()
        self.in_mode("Editor")


@contextmanager
def one_screen(browser: Browser, schedule: Schedule | None = None) -> Iterator[OneScreen]:
    harness = Harness(new_page(browser, 1500, 900, 10_000))
    try:
        yield OneScreen(harness, schedule or Schedule(plain_matmul(512, 512, 512)))
    finally:
        harness.page.close()
    assert harness.foreign == [] and harness.errors == []
