"""Links of machine code take a compilation: while moves follow each other the page does without, and asks when they
are over, or at once where machine code is what it shows."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Browser, expect

from tests.browser.one_screen import OneScreen, one_screen
from tests.schedule.programs import plain_matmul
from workbench.schedule import Schedule


def links(screen: OneScreen, since: int) -> list[Any]:
    return [asked["args"] for asked in screen.harness.asked[since:] if asked["op"] == "links"]


def moved(screen: OneScreen) -> int:
    """A move is made in a cell; how much the page had asked before."""
    before = screen.harness.asked_so_far()
    schedule = screen.schedule
    schedule.unroll(schedule.get_loops(schedule.get_block("C"))[-1])
    screen.harness.push()
    return before


def opened(browser: Browser) -> Any:
    return one_screen(browser, Schedule(plain_matmul(16, 16, 16)))


def test_a_move_is_linked_down_to_its_loops_and_machine_code_follows(browser: Browser) -> None:
    with opened(browser) as screen:
        screen.page.locator(".wb-tree .wb-block-name").first.click()
        ladder = screen.page.get_by_role("complementary", name="The selection")
        before = moved(screen)
        screen.harness.wait_until(lambda: bool(links(screen, before)), "links are asked for")
        assert links(screen, before) == [{"kernel": "main", "native": False}]
        screen.page.locator(".wb-text-row", has_text="T.unroll").click()
        screen.harness.wait_until(lambda: len(links(screen, before)) == 2, "machine code is linked")
        assert links(screen, before)[-1] == {"kernel": "main"}
        expect(ladder).to_contain_text("Assembly")
        expect(ladder).not_to_contain_text("…")


def test_where_assembly_is_shown_it_is_linked_at_once(browser: Browser) -> None:
    with opened(browser) as screen:
        screen.page.get_by_role("navigation", name="Layers of the program").get_by_role(
            "button", name="Assembly"
        ).click(modifiers=["Shift"])
        before = moved(screen)
        screen.harness.wait_until(lambda: bool(links(screen, before)), "links are asked for")
        assert links(screen, before) == [{"kernel": "main"}]


def test_layers_whose_lines_are_linked_are_told_as_compiled(browser: Browser) -> None:
    """LLVM was "not run" beside the count of its lines and the finished assembly."""
    with opened(browser) as screen:
        chips = screen.page.get_by_role("navigation", name="Layers of the program")
        screen.page.locator(".wb-tree .wb-block-name").first.click()
        screen.page.locator(".wb-text-row", has_text=" = ").first.click()
        for name in ("LLVM", "Assembly"):
            chip = chips.get_by_role("button", name=name)
            expect(chip.locator(".wb-lit-count")).to_be_visible()
            expect(chip).to_have_attribute("title", re.compile("compiled to be looked at"))
            expect(chip).not_to_have_class(re.compile("not-run"))
