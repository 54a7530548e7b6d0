"""What is clicked before it is known what it is a part of: marked at once, selected when its links are here."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.one_screen import one_screen
from tests.schedule.programs import plain_matmul
from workbench import relay
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench


def network() -> relay.Function:
    x = relay.var("x", shape=(4, 16), dtype="float32")
    weight = relay.const(np.linspace(-1, 1, 8 * 16, dtype=np.float32).reshape(8, 16))
    return relay.Function([x], relay.nn.softmax(relay.tanh(relay.nn.dense(x, weight))))


def squashed() -> relay.Function:
    """Another program."""
    x = relay.var("x", shape=(4, 16), dtype="float32")
    return relay.Function([x], relay.nn.softmax(relay.sqrt(x)))


def ladder(harness: Harness) -> Locator:
    return harness.page.get_by_role("complementary", name="The selection")


def pane(harness: Harness, which: str) -> Locator:
    return harness.page.get_by_role("region", name=f"pane {which}")


def box(harness: Harness, name: str) -> Locator:
    return pane(harness, "A").locator(".wb-box-call", has_text=name)


def lit(harness: Harness, which: str) -> Locator:
    return pane(harness, which).locator(".wb-text-row.wb-lit")


def names(harness: Harness) -> Locator:
    return ladder(harness).locator(".wb-ladder-names")


def test_a_box_that_is_drawn_before_kernels_are_made(harness: Harness) -> None:
    """On a slow machine the first click on a graph was lost: its boxes had no classes yet."""
    screen = Workbench(wb.open(network()))
    with harness.held(since="kernels"):
        harness.show(screen)
        box(harness, "softmax").click()
        expect(box(harness, "softmax")).to_have_attribute("aria-pressed", "true")
        expect(box(harness, "dense")).to_have_attribute("aria-pressed", "false")
        expect(ladder(harness).locator(".wb-wait")).to_be_visible()
    expect(names(harness)).to_have_text("nn.softmax")
    expect(lit(harness, "B").first).to_be_visible()
    expect(ladder(harness).locator(".wb-wait")).to_have_count(0)
    harness.wait_until(lambda: bool(screen.selection), "the kernel knows what is selected")


def test_the_last_of_several_clicks_is_carried_out(harness: Harness) -> None:
    with harness.held(since="kernels"):
        harness.show(Workbench(wb.open(network())))
        box(harness, "softmax").click()
        box(harness, "dense").focus()
        harness.page.keyboard.press("Enter")
        expect(box(harness, "softmax")).to_have_attribute("aria-pressed", "false")
    expect(names(harness)).to_contain_text("dense")
    expect(names(harness)).not_to_contain_text("softmax")


def test_a_click_is_not_carried_over_to_another_program(harness: Harness) -> None:
    screen = Workbench(wb.open(network()))
    with harness.held(since="kernels"):
        harness.show(screen)
        box(harness, "softmax").click()
        screen.session = wb.open(squashed())
        harness.push()
    expect(box(harness, "sqrt")).to_be_visible()
    expect(pane(harness, "B").locator(".wb-text-row").first).to_be_visible()
    harness.asked_so_far()
    expect(lit(harness, "B")).to_have_count(0)
    expect(ladder(harness)).to_contain_text("Click a box or a line")


def test_of_a_program_that_another_one_overtakes_nothing_is_asked_any_more(harness: Harness) -> None:
    """The page looked again when kernels had come: another program was shown by then, of which theirs were asked."""
    screen = Workbench(wb.open(network()))
    harness.show(screen)
    expect(pane(harness, "B").locator(".wb-text-row").first).to_be_visible()
    harness.asked_so_far()
    with harness.held(after="kernels"):
        x = relay.var("x", shape=(4, 16), dtype="float32")
        screen.session = wb.open(relay.Function([x], relay.sqrt(x)))
        harness.push()
        harness.wait_until(lambda: harness.busy, "the kernels of the second program are told")
        screen.session = wb.open(network())
        harness.push()
    expect(box(harness, "softmax")).to_be_visible()
    expect(pane(harness, "B").locator(".wb-text-row").first).to_be_visible()
    harness.asked_so_far()
    assert harness.refused == []
    expect(harness.page.locator(".wb-problem")).to_have_count(0)


def test_back_where_a_kernel_was_shown_that_is_gone_its_program_s_own_stays(harness: Harness) -> None:
    screen = Workbench(wb.open(network()))
    harness.show(screen)
    expect(pane(harness, "B").locator(".wb-text-row").first).to_be_visible()
    harness.asked_so_far()
    x = relay.var("x", shape=(4, 16), dtype="float32")
    screen.session = wb.open(relay.Function([x], relay.sqrt(x)))
    harness.push()
    expect(box(harness, "sqrt")).to_be_visible()
    harness.asked_so_far()
    harness.page.get_by_role("button", name="Back", exact=True).click()
    harness.asked_so_far()
    expect(pane(harness, "B").get_by_role("combobox", name="Kernel")).to_have_value("fused_sqrt")
    expect(pane(harness, "B").locator(".wb-text-row").first).to_be_visible()
    assert harness.refused == []


def test_a_box_of_a_program_that_cannot_be_lowered(harness: Harness) -> None:
    """What will not come is not waited for."""
    session = wb.open(network()).rerun(insert={"EliminateCommonSubexpr": "ToANormalForm"})  # Lower takes no let
    with harness.held(since="kernels"):
        harness.show(Workbench(session))
        box(harness, "softmax").click()
        expect(ladder(harness).locator(".wb-wait")).to_be_visible()
    expect(pane(harness, "B").locator(".wb-problem")).to_be_visible()
    expect(ladder(harness).locator(".wb-wait")).to_have_count(0)
    expect(ladder(harness)).to_contain_text("Click a box or a line")
    box(harness, "dense").click()  # nothing is on its way any more
    harness.page.wait_for_timeout(100)
    expect(ladder(harness).locator(".wb-wait")).to_have_count(0)
    expect(box(harness, "dense")).to_have_attribute("aria-pressed", "false")


def test_a_box_of_a_step_that_is_not_shown_any_more(harness: Harness) -> None:
    """Boxes of two steps' graphs have the same numbers: the other one would be selected."""
    with harness.held(since="kernels"):
        harness.show(Workbench(wb.open(network())))
        box(harness, "softmax").click()
        pane(harness, "A").get_by_role("combobox", name="The graph after").select_option("Import")
        expect(ladder(harness).locator(".wb-wait")).to_have_count(0)
    expect(box(harness, "tanh")).to_be_visible()
    harness.asked_so_far()
    expect(pane(harness, "A").locator(".wb-box[aria-pressed=true]")).to_have_count(0)


def test_a_line_whose_links_cannot_be_had(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waited for ever."""
    screen = Workbench(wb.open(network()))
    answer = screen._dispatcher.handle

    def refusing(message: dict[str, object]) -> object:
        return answer({**message, "args": {"kernel": "none"}}) if message["op"] == "links" else answer(message)

    monkeypatch.setattr(screen._dispatcher, "handle", refusing)
    harness.show(screen)
    expect(harness.page.locator(".wb-problem").first).to_be_visible()
    pane(harness, "B").locator(".wb-text-row", has_text="dense_init").first.click()
    expect(ladder(harness).locator(".wb-wait")).to_have_count(0)


def test_a_line_that_is_read_before_its_links_are_here(harness: Harness) -> None:
    screen = Workbench(wb.open(network()))
    with harness.held(since="links"):
        harness.show(screen)
        row = pane(harness, "B").locator(".wb-text-row", has_text="T.tanh")
        pane(harness, "B").get_by_role("listbox").focus()
        harness.page.keyboard.press("End")  # how far down it is depends on the processor
        row.click()
        expect(ladder(harness).locator(".wb-wait")).to_be_visible()
    expect(names(harness)).to_contain_text("tanh")
    expect(row).to_have_class(re.compile("wb-lit"))


def test_a_line_of_machine_code_whose_links_come_last(browser: Browser) -> None:
    """While moves follow each other the links of machine code are left out: until then its lines selected nothing."""
    with one_screen(browser, Schedule(plain_matmul(16, 16, 16))) as screen:
        chips = screen.page.get_by_role("navigation", name="Layers of the program")
        before = screen.harness.asked_so_far()
        never = "() => { const real = setTimeout; window.setTimeout = (f, t) => t === 700 ? 0 : real(f, t) }"
        screen.page.evaluate(never)  # links of machine code come with its pane, not after a rest
        schedule = screen.schedule
        schedule.unroll(schedule.get_loops(schedule.get_block("C"))[-1])
        screen.harness.push()

        def asked() -> list[object]:
            return [one["args"] for one in screen.harness.asked[before:] if one["op"] == "links"]

        screen.harness.wait_until(lambda: asked() == [{"kernel": "main", "native": False}], "linked to its loops")
        with screen.harness.held(since="links"):
            chips.get_by_role("button", name="Assembly").click(modifiers=["Shift"])
            row = screen.page.locator(".wb-text-row", has_text=re.compile("mul|fmadd|fmla")).first
            row.click()
            waiting = screen.page.get_by_role("complementary", name="The selection").locator(".wb-wait")
            expect(waiting).to_be_visible()
        expect(waiting).to_have_count(0)
        expect(screen.page.locator(".wb-text-row.wb-lit").first).to_be_visible()


def test_items_of_a_graph_in_words_that_was_made_before_its_kernels(harness: Harness) -> None:
    """Such a tree kept items without classes: a click on one selected nothing, however often."""
    screen = Workbench(wb.open(network()))
    harness.show(screen)
    pane(harness, "A").get_by_role("button", name="Tree").click()
    item = pane(harness, "A").get_by_role("treeitem", name="softmax")
    expect(item).to_be_visible()
    harness.asked_so_far()
    with harness.held(since="kernels"):
        screen.session = wb.open(squashed())
        harness.push()
        expect(pane(harness, "A").get_by_role("treeitem", name="sqrt")).to_be_visible()
        item.click()
        expect(ladder(harness).locator(".wb-wait")).to_be_visible()
    expect(names(harness)).to_have_text("nn.softmax")
    expect(lit(harness, "B").first).to_be_visible()
    pane(harness, "A").get_by_role("treeitem", name="sqrt").click()
    expect(names(harness)).to_have_text("sqrt")
