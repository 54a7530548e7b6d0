"""Journeys 2 and 3 by keyboard alone: no pointer is used; `-s` prints the key presses and seconds."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.one_screen import OneScreen, one_screen
from tests.browser.shown import Shown, opened

LONG = 60_000
"""Milliseconds that a kernel at work beside other tests may take."""
TABS = 120
"""Presses of Tab after which a thing counts as out of reach."""


class Keys:
    """A person without a pointer, whose key presses are counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.presses, self.begun = page, 0, time.perf_counter()

    def press(self, key: str, times: int = 1) -> None:
        for _ in range(times):
            self.presses += 1
            self.page.keyboard.press(key)

    def write(self, text: str) -> None:
        self.presses += len(text)
        self.page.keyboard.type(text)

    def reach(self, what: Locator, back: bool = False) -> None:
        """Tab, or Shift-Tab, until the thing has the focus, which must be seen."""
        expect(what).to_be_visible(timeout=LONG)
        for _ in range(TABS):
            if what.evaluate("node => node === document.activeElement"):
                assert what.evaluate("node => node.matches(':focus-visible')"), "the focus is drawn"
                return
            self.press("Shift+Tab" if back else "Tab")
        pytest.fail(f"not reached in {TABS} presses: {what}")

    def use(self, what: Locator, back: bool = False) -> None:
        self.reach(what, back)
        self.press("Enter")

    def still_the_screens(self) -> None:
        """The focus stayed inside of the screen, so that its keys go on working."""
        assert self.page.evaluate("document.activeElement.closest('.wb') !== null"), "the focus fell off the screen"

    def end(self, journey: str) -> None:
        print(f"\njourney {journey} by keys: {self.presses} presses, {time.perf_counter() - self.begun:.1f} s")


@pytest.fixture
def product(browser: Browser) -> Iterator[OneScreen]:
    with one_screen(browser) as found:
        yield found


@pytest.fixture
def network(browser: Browser, efficientnet: Any) -> Iterator[Shown]:
    with opened(browser, efficientnet) as found:
        yield found


def test_journey_2_by_keys_a_student_vectorises_a_reduction(product: OneScreen) -> None:
    """Refused with two iterations drawn and lines lit; the best way is taken; cell and screen hold one Python."""
    page = product.page
    keys = Keys(page)
    tree = page.get_by_role("tree", name="Loop tree")
    keys.reach(tree)
    chosen = page.locator("[role=treeitem][aria-selected=true] > .wb-box-head .wb-iter")
    for _ in range(6):
        if chosen.all_inner_texts() == ["k"]:
            break
        keys.press("ArrowDown")
    expect(page.get_by_role("region", name="Primitives").locator(".wb-panel-head .wb-iter")).to_have_text("k")
    keys.press("/")
    expect(page.get_by_role("searchbox", name="Find a primitive")).to_be_focused()
    keys.write("vectorize")
    keys.use(page.get_by_role("button", name="What instead of vectorize?"))
    picture = page.locator(".wb-w-picture")
    expect(picture.locator(".wb-w-one")).to_be_visible(timeout=LONG)
    expect(picture.locator(".wb-w-two")).to_be_visible()
    words = page.get_by_role("group", name="Two iterations that collide")
    expect(words).to_contain_text("i=0, j=0, k=1")
    expect(words.locator(".wb-lit").last).to_contain_text("C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]")
    keys.use(page.locator(".wb-way").first.get_by_role("button", name="Use"))
    expect(product.loop("j_1")).to_contain_text("vectorized", timeout=LONG)
    assert [move.name for move in product.schedule.moves.done] == ["split", "reorder", "vectorize"]
    last = product.schedule.code().strip().splitlines()[-1]
    expect(page.get_by_label("The Python that leads here")).to_contain_text(last)
    keys.still_the_screens()
    keys.press("Control+z", times=3)  # the way was three steps
    expect(product.loop("j_1")).to_have_count(0)
    keys.end("2")


def test_journey_3_by_keys_an_engineer_takes_a_step_back_and_keeps_a_branch(network: Shown) -> None:
    """From the hottest line of assembly to its ONNX node and the move behind it; both measured; back again."""
    page, shown = network.page, network
    keys = Keys(page)
    keys.reach(shown.chip("Assembly"))
    keys.press("Enter")
    expect(shown.pane("A").locator(".wb-pane-head strong")).to_have_text("Assembly")
    expect(shown.rows("A").first).to_be_visible(timeout=LONG)
    keys.press("h")
    line = page.get_by_role("region", name="The line")
    take = line.get_by_role("button", name=re.compile("^Take (vectorize|unroll|parallel) ")).last
    expect(take).to_be_visible(timeout=LONG)
    expect(page.get_by_role("complementary", name="The selection")).to_contain_text(re.compile(r"Conv#\d"))
    known = len(shown.screen.session.branches)  # the session is shared: other tests may have left some
    here = page.get_by_role("combobox", name="Branch", exact=True)
    begun = here.input_value() if here.count() else "0"
    keys.use(take)
    both = page.get_by_role("button", name="Measure both")
    expect(page.locator("del.wb-line, ins.wb-line").first).to_be_visible(timeout=LONG)
    keys.still_the_screens()
    keys.use(both)
    told = page.get_by_role("status").filter(has_text="→")
    expect(told).to_contain_text(re.compile(r"[µm]s → .*[µm]s"), timeout=LONG)
    expect(here).to_have_value(str(known))
    keys.still_the_screens()
    keys.press("Control+z")
    expect(here).to_have_value(begun)
    assert len(shown.screen.session.branches) == known + 1, "both branches are kept"
    keys.end("3")
