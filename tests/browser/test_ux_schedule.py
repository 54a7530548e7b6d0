"""Rows 43 to 55 of the feature matrix: the schedule editor, by clicks and keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.one_screen import OneScreen, one_screen


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
