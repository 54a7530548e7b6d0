"""A loop or block of the schedule's editor is a part of the one selection, and a line says what itself does."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.one_screen import OneScreen, one_screen
from tests.schedule.programs import plain_matmul
from workbench.schedule import Schedule

CODE = ["@T.prim_func", "def main", "T.func_attr", "for i, j in", "C[i * 10 + j] = T.float32(0.0)",
        "for k_1, k_0 in", "C[i * 10 + j] = C[i * 10 + j] +"]  # fmt: skip
"""The lines of TIR."""


def product() -> Schedule:
    """As lesson 07 has it: the reduction split and its halves the other way round."""
    schedule = Schedule(plain_matmul(8, 10, 6))
    *_, k = schedule.get_loops("C")
    outer, inner = schedule.split(k, factors=[None, 2])
    schedule.reorder(inner, outer)
    return schedule


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[OneScreen]:
    with one_screen(browser, product()) as screen:
        yield screen


@pytest.fixture
def screen(opened: OneScreen) -> OneScreen:
    opened.begin(2)
    return opened


def rows(screen: OneScreen, pane: str = "B") -> Locator:
    return screen.page.get_by_role("region", name=f"pane {pane}").locator(".wb-text-row")


def lit(screen: OneScreen, mark: str = "wb-lit", pane: str = "B") -> list[int]:
    """The numbers of the lines of a pane that are marked."""
    found = rows(screen, pane).and_(screen.page.locator(f".{mark}"))
    return [int(text) for text in found.locator(".wb-no").all_inner_texts()]


def count(screen: OneScreen, layer: str) -> Locator:
    chip = screen.page.get_by_role("navigation", name="Layers").get_by_role("button", name=re.compile(rf"^\W*{layer}"))
    return chip.locator(".wb-lit-count")


def heading(screen: OneScreen) -> Locator:
    return screen.page.get_by_role("complementary", name="The selection").get_by_role("heading", level=3)


def until_lit(screen: OneScreen, lines: list[int], pane: str = "B") -> None:
    screen.harness.wait_until(lambda: lit(screen, pane=pane) == lines, f"lines {lines} are lit", 30)


@pytest.mark.parametrize(
    ("name", "inside", "around"),
    [("i", [4, 5, 6, 7], []), ("j", [4, 5, 6, 7], []), ("k_1", [6, 7], [4, 5]), ("k_0", [6, 7], [4, 5])],
)
def test_a_loop_of_the_editor_lights_its_lines_in_all_layers(
    screen: OneScreen, name: str, inside: list[int], around: list[int]
) -> None:
    screen.loop(name).click()
    until_lit(screen, inside)
    assert lit(screen, "wb-around") == around, [CODE[line - 1] for line in around]
    expect(heading(screen)).to_contain_text(f"loop {name}")
    expect(count(screen, "TIR")).to_have_text(str(len(inside)))
    for layer in ("TE", "Schedule", "LLVM", "Assembly"):
        expect(count(screen, layer)).to_be_visible(timeout=30_000)


def test_a_block_of_the_editor_lights_what_it_does(screen: OneScreen) -> None:
    screen.block("C").click()
    until_lit(screen, [5, 7])
    expect(heading(screen)).to_contain_text("block C")
    expect(screen.page.locator("[id$='-node-b:C']")).to_have_class(re.compile("wb-lit"))
    expect(screen.page.locator("[id$='-node-l:C:0']")).to_have_class(re.compile("wb-around"))


def test_a_line_chosen_before_gives_way_to_the_loop(screen: OneScreen) -> None:
    """The text's statement stayed selected beside "For loop i"."""
    screen.in_mode("Text")
    rows(screen, "A").filter(has_text="C[vi, vj] + A").click()
    expect(heading(screen)).to_have_text("C")
    until_lit(screen, [7])
    screen.in_mode("Editor")
    expect(screen.page.locator("[id$='-node-b:C']")).to_have_attribute("aria-selected", "true")
    expect(screen.page.get_by_role("region", name="Primitives")).to_contain_text("For block C")
    screen.loop("i").click()
    expect(heading(screen)).to_contain_text("loop i")
    until_lit(screen, [4, 5, 6, 7])


def test_a_line_of_code_chooses_its_loop_in_the_editor(screen: OneScreen) -> None:
    rows(screen).filter(has_text="for k_1, k_0").click()
    expect(heading(screen)).to_contain_text("loop k_1")
    expect(screen.page.locator("[id$='-node-l:C:2']")).to_have_attribute("aria-selected", "true")
    expect(screen.page.locator("[id$='-node-l:C:3']")).to_have_class(re.compile("wb-lit"))
    expect(screen.page.locator("[id$='-node-l:C:1']")).to_have_class(re.compile("wb-around"))
    rows(screen).filter(has_text="T.float32(0.0)").click()
    expect(screen.page.locator("[id$='-node-b:C']")).to_have_attribute("aria-selected", "true")


def test_the_loop_that_a_move_makes_is_selected_after_it(screen: OneScreen) -> None:
    screen.choose(screen.loop("j"), "parallel")
    expect(screen.page.locator(".wb-last").first).to_contain_text("sch.parallel(")
    expect(heading(screen)).to_contain_text("loop j")
    screen.harness.push()
    expect(rows(screen).filter(has_text="T.parallel")).to_have_class(re.compile("wb-lit"))
    expect(rows(screen).filter(has_text="for i in")).to_have_class(re.compile("wb-around"))
    expect(heading(screen)).to_contain_text("loop j")


def test_a_loop_of_a_schedule_whose_first_move_was_taken_back_lights_its_lines(screen: OneScreen) -> None:
    """All five layers said that the program shown is not of this schedule, until the move was done again."""
    mark = screen.schedule.moves.mark()
    screen.schedule.restart()
    screen.harness.push()
    screen.choose(screen.loop("j"), "parallel")
    expect(screen.page.locator(".wb-last").first).to_contain_text("sch.parallel(")
    screen.page.get_by_role("group", name="Schedule editor").get_by_role("button", name="Undo").click()
    expect(screen.page.locator("[id$='-node-l:C:1']")).not_to_contain_text("parallel")
    assert screen.schedule.trace.steps and not screen.schedule.moves.done, "what was asked before the move is there"
    screen.loop("i").click()
    expect(heading(screen)).to_contain_text("loop i")
    for layer in ("TE", "Schedule", "TIR"):
        expect(count(screen, layer)).to_be_visible(timeout=30_000)
    expect(screen.page.get_by_text("is not of this schedule")).to_have_count(0)
    screen.schedule.moves.back_to(mark)  # for the tests that follow


def test_what_the_program_has_not_yet_lights_nothing_and_says_so(screen: OneScreen) -> None:
    """The schedule is ahead: the program shown in the other layers has no such loops."""
    screen.loop("i").click()
    until_lit(screen, [4, 5, 6, 7])
    screen.harness.asked_so_far()
    with screen.harness.held(after="schedule.apply"):  # that the session has followed is told by `push`
        screen.choose(screen.loop("j"), "parallel")
        expect(screen.page.locator(".wb-last").first).to_contain_text("sch.parallel(")
        screen.loop("k_0").click()
        ladder = screen.page.get_by_role("complementary", name="The selection")
        expect(ladder).to_contain_text("It is in no other layer")
        expect(heading(screen)).to_have_text(re.compile("^loop k_0$"))
        assert lit(screen) == lit(screen, "wb-around") == [], "the old selection is gone"
    screen.harness.push()
    expect(rows(screen).filter(has_text="for k_1, k_0")).to_have_class(re.compile("wb-lit"))
    expect(ladder).not_to_contain_text("It is in no other layer")


def test_a_line_of_text_says_what_itself_does(screen: OneScreen) -> None:
    """A loop's line lit the signature and the attributes as strongly as the statements."""
    screen.in_mode("Text")
    rows(screen, "A").filter(has_text="for i, j, k_1, k_0").click()
    expect(heading(screen)).to_contain_text("loop i")
    until_lit(screen, [4, 5, 6, 7])
    assert lit(screen, pane="A") == list(range(4, 13)), "the loops and what is in them"
    rows(screen, "A").filter(has_text="C[vi, vj] + A").click()
    until_lit(screen, [7])
    assert lit(screen, pane="A") == [12]
    assert lit(screen, "wb-around", "A") == [4, 5, 6, 7, 8, 9, 10], "weaker: its loops and its block"
    assert lit(screen, "wb-around") == [4, 6]
    expect(count(screen, "Schedule")).to_have_text("1")


def test_shift_selects_no_text_of_the_page(screen: OneScreen) -> None:
    """After a click somewhere, a click with Shift on a chip marked all text between the two in blue."""
    rows(screen).filter(has_text="for k_1, k_0").click()
    chip = screen.page.get_by_role("navigation", name="Layers").get_by_role("button", name=re.compile(r"^\W*Assembly"))
    chip.click(modifiers=["Shift"])
    assert screen.page.evaluate("getSelection().toString()") == ""
    expect(screen.page.get_by_role("region", name="Assembly, pane A")).to_be_visible()
    rows(screen, "A").nth(1).click()
    rows(screen).nth(3).click(modifiers=["Shift"])
    assert screen.page.evaluate("getSelection().toString()") == ""
