"""Rows 43 to 55 of the feature matrix: the schedule editor, by clicks and keys."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.one_screen import OneScreen, one_screen
from workbench.schedule.references import LoopRV
from workbench.schedule.registry import PRIMITIVES, primitive
from workbench.schedule.state import Change, ScheduleState


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[OneScreen]:
    with one_screen(browser) as found:
        yield found


@pytest.fixture
def screen(opened: OneScreen) -> OneScreen:
    opened.begin()
    expect(opened.page.get_by_role("treeitem")).to_have_count(4)
    return opened


def test_ux_43_the_loop_nest_is_drawn_as_boxes_in_one_another(screen: OneScreen) -> None:
    depths = {name: screen.loop(name).bounding_box() for name in "ijk"}
    assert all(depths.values())
    lefts = [depths[name]["x"] for name in "ijk"]  # type: ignore[index]
    assert lefts == sorted(set(lefts)), "each loop stands inside the one before"
    expect(screen.loop("k")).to_contain_text("512")
    expect(screen.block("C")).to_contain_text("reduction")


def test_ux_44_the_primitives_that_are_valid_here_are_listed_first(screen: OneScreen) -> None:
    screen.loop("k").click()
    panel = screen.page.get_by_role("region", name="Primitives")
    expect(panel.get_by_role("group", name="loop", exact=True).get_by_role("button", name="unroll")).to_be_visible()
    expect(panel.locator(".wb-off", has=screen.page.get_by_role("button", name="parallel", exact=True))).to_be_visible()
    screen.loop("i").click()
    expect(panel.get_by_role("group", name="loop", exact=True).get_by_role("button", name="parallel")).to_be_visible()


def test_ux_45_a_target_that_is_refused_says_why_and_takes_nothing(screen: OneScreen) -> None:
    screen.schedule.cache_read("C", 0, "global")
    screen.harness.push()
    expect(screen.page.locator(".wb-block-name")).to_have_count(2)
    code = screen.schedule.code()
    held, refused = screen.loop("k"), screen.page.locator(".wb-drop-refused")
    held.hover()
    screen.page.mouse.down()
    screen.loop("j").hover()
    screen.loop("ax0").hover()
    expect(screen.loop("j")).to_have_class(re.compile("wb-drop-legal"))
    expect(refused).to_have_count(2)
    expect(refused.first).to_have_attribute("title", re.compile("do not stand directly in one another"))
    screen.page.mouse.up()
    expect(screen.page.locator(".wb-held")).to_have_count(0)
    assert screen.schedule.code() == code


def test_ux_46_the_form_comes_from_the_primitives_signature(screen: OneScreen) -> None:
    screen.choose(screen.loop("j"), "split")
    form = screen.page.get_by_role("form", name="Arguments of split")
    expect(form.get_by_role("textbox", name="factors")).to_have_value("auto, 4")
    expect(form.get_by_role("checkbox")).not_to_have_count(0)
    form.get_by_role("textbox", name="factors").fill("auto, 64")
    screen.apply()
    expect(screen.loop("j_1")).to_contain_text("64")


def test_ux_48_undo_and_redo(screen: OneScreen) -> None:
    editor = screen.page.get_by_role("group", name="Schedule editor")
    screen.choose(screen.loop("i"), "parallel")
    expect(screen.loop("i")).to_contain_text("parallel")
    editor.get_by_role("button", name="Undo").click()
    expect(screen.loop("i")).not_to_contain_text("parallel")
    editor.get_by_role("button", name="Redo").click()
    expect(screen.loop("i")).to_contain_text("parallel")


def test_ux_52_what_is_done_stands_as_python_that_runs(screen: OneScreen) -> None:
    screen.choose(screen.loop("i"), "parallel")
    python = screen.page.get_by_label("The Python that leads here")
    expect(python).to_contain_text("sch.parallel(l0)")
    screen.harness.push()
    expect(screen.page.locator(".wb-last-call")).to_contain_text("sch.parallel(l0)")
    assert "sch.parallel(l0)" in screen.schedule.code()


def test_ux_55_a_stage_moves_into_anothers_loop_and_the_picture_shows_it(screen: OneScreen) -> None:
    screen.choose(screen.block("C"), "cache_write")
    screen.apply()
    expect(screen.page.locator(".wb-block-name")).to_have_count(2)
    below = screen.page.locator(".wb-block-name").nth(1).inner_text()
    before = screen.page.get_by_role("treeitem").count()
    screen.choose(screen.block(below), "reverse_compute_at")
    screen.apply()
    expect(screen.page.get_by_role("treeitem")).not_to_have_count(before)
    outermost = screen.page.locator(".wb-tree > .wb-box")
    expect(outermost).to_have_count(1)
    expect(outermost.locator(".wb-block-name")).to_have_count(2)


def python_of(screen: OneScreen) -> Locator:
    return screen.page.get_by_label("The Python that leads here")


def test_ux_45_a_loop_dragged_onto_a_loop_reorders_and_a_tile_by_its_edge(screen: OneScreen) -> None:
    screen.loop("k").drag_to(screen.loop("j"))
    expect(screen.page.locator(".wb-tree .wb-iter")).to_have_text(["i", "k", "j"])
    expect(python_of(screen)).to_contain_text("sch.reorder(l2, l1)")
    screen.loop("i").drag_to(screen.loop("j"))
    expect(screen.page.locator(".wb-tree .wb-iter")).to_have_text(["k", "j", "i"])


def test_ux_45_while_a_box_is_held_the_targets_say_whether_it_may_be_dropped(screen: OneScreen) -> None:
    screen.schedule.cache_read("C", 0, "global")
    screen.harness.push()
    expect(screen.page.locator(".wb-block-name")).to_have_count(2)
    copied = screen.page.locator(".wb-tree .wb-box-head", has=screen.page.locator(".wb-block-name")).first
    copied.hover()
    screen.page.mouse.down()
    screen.loop("i").hover()
    screen.loop("j").hover()
    expect(screen.page.locator(".wb-held")).to_have_count(1)
    expect(screen.page.locator(".wb-drop-legal")).not_to_have_count(0)
    screen.loop("j").hover()
    screen.page.mouse.up()
    expect(screen.page.locator(".wb-tree > .wb-box")).to_have_count(1)
    assert "sch.compute_at(" in screen.schedule.code()


def test_ux_46_factors_that_divide_stand_as_buttons(screen: OneScreen) -> None:
    screen.choose(screen.loop("j"), "split")
    factors = screen.page.get_by_role("group", name="Factors that divide")
    expect(factors.get_by_role("button")).to_have_text(["2", "4", "8", "16", "32", "64", "128", "256"])
    factors.get_by_role("button", name="128").click()
    expect(screen.page.get_by_role("textbox", name="factors")).to_have_value("auto, 128")
    screen.apply()
    expect(screen.loop("j_1")).to_contain_text("128")


def test_ux_47_a_step_is_looked_at_before_it_is_taken(screen: OneScreen) -> None:
    screen.choose(screen.loop("j"), "split")
    screen.page.get_by_role("button", name="Preview", exact=True).click()
    preview = screen.page.get_by_role("group", name="Preview of split")
    expect(preview).to_contain_text("not applied")
    expect(preview.locator(".wb-fresh")).to_contain_text(["j_0", "j_1"])
    expect(preview).to_contain_text("sch.split(l1, factors=[None, 4])")
    expect(screen.loop("j_1")).to_have_count(0)
    assert not screen.schedule.moves.done


def test_ux_49_every_schedule_reached_stands_in_a_tree_with_its_rate(screen: OneScreen) -> None:
    page = screen.page
    screen.choose(screen.loop("i"), "parallel")
    expect(screen.loop("i")).to_contain_text("parallel")
    page.get_by_role("group", name="Schedule editor").get_by_role("button", name="Undo").click()
    screen.loop("k").drag_to(screen.loop("j"))
    expect(page.locator(".wb-tree .wb-iter")).to_have_text(["i", "k", "j"])
    page.get_by_role("button", name="Tree", exact=True).click()
    tree = page.get_by_role("region", name="Tree of schedules")
    expect(tree.locator("[aria-current=step]")).to_contain_text("reorder")
    expect(tree.get_by_role("button", name="Go to parallel").first).to_be_visible()
    tree.get_by_role("button", name="Measure this one").click()
    expect(tree.locator("li", has=page.locator("[aria-current=step]")).locator(".wb-badge").first).to_contain_text(
        "GFLOP/s", timeout=20_000
    )
    tree.get_by_role("button", name="Go to parallel").first.click()
    expect(screen.loop("i")).to_contain_text("parallel")
    expect(page.locator(".wb-tree .wb-iter")).to_have_text(["i", "j", "k"])
    page.get_by_role("button", name="Tree", exact=True).click()


def test_ux_50_each_option_has_its_rank_by_the_model_and_no_factor(screen: OneScreen) -> None:
    screen.loop("j").click()
    screen.page.get_by_role("button", name="Rank", exact=True).click()
    panel = screen.page.get_by_role("region", name="Primitives")
    row = panel.locator(".wb-primitive", has=screen.page.get_by_role("button", name="split", exact=True))
    expect(row.locator(".wb-rank")).to_have_text(re.compile(r"^rank \d+ of \d+(, no faster than now)?$"))
    rough = re.compile("a rough model of the(ir)? cycles")
    expect(row.locator(".wb-rank")).to_have_attribute("title", rough)
    expect(screen.page.get_by_role("button", name="Rank", exact=True)).to_have_attribute("title", rough)
    told = panel.locator(".wb-rank").all_inner_texts()
    assert len(told) >= 5 and not any("×" in text or "best" in text for text in told)
    assert not screen.schedule.moves.done


def test_ux_51_each_option_is_timed_on_this_machine_when_asked(screen: OneScreen) -> None:
    screen.loop("j").click()
    screen.page.get_by_role("searchbox", name="Find a primitive").fill("vectorize")
    screen.page.get_by_role("button", name="Time each").click()
    expect(screen.page.locator(".wb-timed")).to_have_text(re.compile(r"[\d.]+ [µm]?s, [\d.]+ GFLOP/s"), timeout=20_000)
    screen.page.get_by_role("searchbox", name="Find a primitive").fill("")
    assert not screen.schedule.moves.done


def test_ux_53_the_python_is_edited_and_the_boxes_follow(screen: OneScreen) -> None:
    screen.choose(screen.loop("i"), "parallel")
    expect(screen.loop("i")).to_contain_text("parallel")
    screen.page.get_by_role("button", name="Edit the Python").click()
    text = screen.page.get_by_role("textbox", name="Python of the schedule, to edit")
    text.fill(text.input_value().replace("sch.parallel(l0)", "sch.unroll(l2)"))
    text.press("Control+Enter")
    expect(screen.loop("k")).to_contain_text("unrolled")
    expect(screen.loop("i")).not_to_contain_text("parallel")
    assert [move.name for move in screen.schedule.moves.done] == ["unroll"]


def test_ux_53_the_boxes_and_the_python_follow_a_cell_too(browser: Browser) -> None:
    with one_screen(browser) as screen:
        screen.begin()
        screen.schedule.unroll(screen.schedule.get_loops("C")[2])
        screen.harness.push()
        expect(screen.loop("k")).to_contain_text("unrolled")
        expect(python_of(screen)).to_contain_text("sch.unroll(l")
        screen.page.get_by_role("button", name="Edit the Python").click()
        text = screen.page.get_by_role("textbox", name="Python of the schedule, to edit")
        expect(text).to_have_value(re.compile(r"sch\.unroll\(l\d\)"))
        screen.page.get_by_role("button", name="Close", exact=True).click()


def test_ux_53_a_line_that_is_no_call_is_refused_with_its_number(screen: OneScreen) -> None:
    screen.page.get_by_role("button", name="Edit the Python").click()
    text = screen.page.get_by_role("textbox", name="Python of the schedule, to edit")
    text.fill("b0 = sch.get_block('C')\nimport os")
    screen.page.get_by_role("button", name="Replay").click()
    alert = screen.page.get_by_role("alert")
    expect(alert).to_contain_text("line 2")
    expect(alert).to_contain_text("unchanged")
    expect(text).to_have_value("b0 = sch.get_block('C')\nimport os")
    screen.page.get_by_role("button", name="Close", exact=True).click()


def test_first_4_a_click_is_one_line_of_python_and_a_line_of_python_is_a_click(screen: OneScreen) -> None:
    screen.choose(screen.loop("j"), "split")
    screen.apply()
    expect(python_of(screen)).to_contain_text("sch.split(l1, factors=[None, 4])")
    screen.page.get_by_role("button", name="Edit the Python").click()
    text = screen.page.get_by_role("textbox", name="Python of the schedule, to edit")
    text.fill(text.input_value().replace("[None, 4]", "[None, 32]") + "sch.vectorize(l4)\n")
    text.press("Control+Enter")
    expect(screen.loop("j_1")).to_contain_text("32")
    screen.page.get_by_role("group", name="Schedule editor").get_by_role("button", name="Undo").click()
    expect(screen.loop("j_1")).to_contain_text("32")
    expect(python_of(screen)).not_to_contain_text("vectorize")


def test_ux_54_a_primitive_of_ones_own_appears_with_its_form(browser: Browser, request: pytest.FixtureRequest) -> None:
    @primitive(category="loop")
    def keep_serial(state: ScheduleState, loop: LoopRV, times: int = 3) -> Change[None]:
        """Leave a loop as it is."""
        state.loop(loop)
        return Change(state.func)

    request.addfinalizer(lambda: PRIMITIVES.remove("keep_serial"))
    with one_screen(browser) as screen:
        screen.choose(screen.loop("i"), "keep_serial")
        form = screen.page.get_by_role("form", name="Arguments of keep_serial")
        expect(form.get_by_role("spinbutton", name="times")).to_have_value("3")
        expect(screen.page.locator(".wb-open")).to_contain_text("Leave a loop as it is.")


@pytest.mark.nightly
def test_first_5_branches_of_one_schedule_are_states_with_rates_that_one_goes_between(browser: Browser) -> None:
    with one_screen(browser) as screen:
        screen.begin()
        screen.choose(screen.loop("i"), "unroll")
        expect(screen.loop("i")).to_contain_text("unrolled")
        screen.page.get_by_role("button", name="Tree", exact=True).click()
        tree = screen.page.get_by_role("region", name="Tree of schedules")
        tree.get_by_role("button", name="as it began").click()
        expect(screen.loop("i")).not_to_contain_text("unrolled")
        screen.choose(screen.loop("k"), "unroll")
        expect(screen.loop("k")).to_contain_text("unrolled")
        states = tree.get_by_role("button", name="Go to unroll")
        expect(states).to_have_count(2)
        rates = tree.locator(".wb-badge", has_text="GFLOP/s")
        expect(rates).to_have_count(0)
        tree.get_by_role("button", name="Measure this one").click()
        expect(rates).to_have_count(1, timeout=20_000)
        states.first.click()
        expect(screen.loop("i")).to_contain_text("unrolled")
        expect(screen.loop("k")).not_to_contain_text("unrolled")
        tree.get_by_role("button", name="Measure this one").click()
        expect(rates).to_have_count(2, timeout=20_000)
        screen.page.get_by_role("button", name="Tree", exact=True).click()
