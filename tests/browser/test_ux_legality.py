"""Rows 56 to 61 of the feature matrix: why a step is refused, where, by which iterations, and what instead."""

from __future__ import annotations

import re
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
    opened.loop("i").click()
    opened.loop("k").click()
    return opened


def asked(screen: OneScreen, primitive: str = "vectorize") -> None:
    screen.page.get_by_role("button", name=f"What instead of {primitive}?").click()
    expect(screen.page.get_by_role("group", name=f"Instead of {primitive}")).to_be_visible()


def test_ux_56_an_illegal_step_is_rejected_and_nothing_changes(screen: OneScreen) -> None:
    screen.choose(screen.loop("j"), "split")
    screen.page.get_by_role("textbox", name="factors").fill("3, 7")
    screen.apply()
    alert = screen.page.get_by_role("alert")
    expect(alert).to_contain_text("E-SCHEDULE-SPLIT-PRODUCT")
    expect(alert).to_contain_text("unchanged")
    expect(screen.page.get_by_role("treeitem")).to_have_count(4)
    assert not screen.schedule.moves.done


def test_ux_57_the_offending_lines_are_lit(screen: OneScreen) -> None:
    asked(screen)
    lit = screen.page.get_by_label("The lines concerned").locator(".wb-lit")
    expect(lit.last).to_contain_text("C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]")


def test_ux_58_the_dependence_is_drawn_as_an_arrow(screen: OneScreen) -> None:
    asked(screen)
    picture = screen.page.get_by_role("img", name=re.compile("k=0 writes C.*k=1 writes too"))
    expect(picture.locator(".wb-w-arrow")).to_have_count(1)
    expect(picture.locator(".wb-w-axis")).to_have_text(["k →", "j ↓"])


def test_ux_59_two_iterations_that_collide_are_named(screen: OneScreen) -> None:
    asked(screen)
    words = screen.page.get_by_role("group", name="Two iterations that collide")
    expect(words.get_by_role("listitem")).to_have_count(2)
    expect(words.get_by_role("listitem").first).to_contain_text("i=0, j=0, k=0")
    expect(words.get_by_role("listitem").nth(1)).to_contain_text("i=0, j=0, k=1")


def test_ux_60_what_cannot_be_done_here_is_grey_and_says_why(screen: OneScreen) -> None:
    refused = screen.page.get_by_role("button", name="vectorize", exact=True)
    expect(refused).to_have_attribute("aria-disabled", "true")
    expect(screen.page.locator("[id$='-why-vectorize']")).to_contain_text("its iterations depend on each other")
    expect(screen.page.locator("[id$='-why-cache_write']")).to_have_text("not for a loop")


def test_ux_61_a_legal_way_is_suggested_and_taken(screen: OneScreen) -> None:
    asked(screen)
    way = screen.page.locator(".wb-way", has_text="legal on loop j instead")
    way.get_by_role("button", name="Use").click()
    expect(screen.loop("j")).to_contain_text("vectorized")
    assert "sch.vectorize(l1)" in screen.schedule.code()


def test_first_2_illegal_with_a_witness_and_the_nearest_legal_way(screen: OneScreen) -> None:
    asked(screen, "parallel")
    words = screen.page.get_by_role("group", name="Two iterations that collide")
    for said in ("writes C[0, 0]", "k=0", "k=1"):
        expect(words).to_contain_text(said)
    points = screen.page.locator(".wb-w-picture rect.wb-w-one, .wb-w-picture polygon.wb-w-two")
    expect(points).to_have_count(2)
    expect(screen.page.get_by_label("The lines concerned").locator(".wb-lit")).not_to_have_count(0)
    expect(screen.page.locator(".wb-way").first.get_by_role("button", name="Use")).to_be_enabled()


def test_first_3_every_primitive_is_listed_the_refused_ones_with_a_reason(screen: OneScreen) -> None:
    rows = screen.page.locator(".wb-primitives .wb-primitive")
    expect(rows.filter(has=screen.page.get_by_role("button", name="split", exact=True))).to_be_visible()
    reasons = screen.page.locator(".wb-off .wb-reason").all_inner_texts()
    assert len(reasons) >= 10 and all(reason.strip() for reason in reasons)
    assert rows.count() == len({row.split("\n")[0] for row in rows.all_inner_texts()}), "each stands there once"
