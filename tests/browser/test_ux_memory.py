"""Rows 62 to 68 of the feature matrix: what a loop nest touches, when, and in which cache it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.one_screen import OneScreen, one_screen
from tests.schedule.programs import plain_matmul
from workbench.schedule import Schedule


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[OneScreen]:
    schedule = Schedule(plain_matmul(32, 32, 32))
    i, j, k = schedule.get_loops("C")
    j_0, j_1 = schedule.split(j, factors=[None, 16])
    schedule.reorder(i, j_0, k, j_1)
    with one_screen(browser, schedule) as found:
        yield found


@pytest.fixture
def screen(opened: OneScreen) -> OneScreen:
    opened.begin(2)
    opened.in_mode("Lens")
    expect(opened.page.get_by_role("slider", name="Visit")).to_be_visible(timeout=20_000)
    return opened


def legend(screen: OneScreen) -> Locator:
    return screen.page.get_by_label("What the colours say")


def test_ux_62_the_order_of_visits_is_played(screen: OneScreen) -> None:
    scrub = screen.page.get_by_role("slider", name="Visit")
    scrub.fill("0")
    caption = screen.page.locator("figcaption").nth(1)
    expect(caption).to_contain_text("now [0, 0]")
    screen.page.get_by_role("button", name="One visit on").click()
    expect(caption).to_contain_text("now [0, 1]")
    scrub.fill("32700")
    screen.page.get_by_role("button", name="Play").click()
    expect(scrub).to_have_value("32767")


def test_ux_67_a_tiles_slider_moves_the_picture_at_once(screen: OneScreen) -> None:
    asked = screen.harness.asked_so_far()
    pictures = "[...document.querySelectorAll('.wb-lens canvas')].map((one) => one.toDataURL())"
    screen.page.get_by_role("slider", name="Visit").fill("5000")
    before = screen.page.evaluate(pictures)
    factor = screen.page.get_by_role("slider", name="Factor of j_1", exact=True)
    factor.press("PageUp")
    expect(factor).to_have_value("32")
    screen.harness.wait_until(lambda: screen.page.evaluate(pictures) != before, "the picture moves")
    assert len(screen.harness.asked) == asked, "dragging asks nothing"
    factor.press("Escape")
    expect(factor).to_have_value("16")


def test_ux_68_each_loops_working_set_stands_beside_the_caches(screen: OneScreen) -> None:
    rows = screen.page.locator(".wb-lens-loops tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text("A 4 KiB + B 4 KiB + C 4 KiB")
    for row in rows.all():
        expect(row.locator("td").last).to_have_text(re.compile(r"^(L1|L2|L3|memory), [\d.]+ (?:[KM]i)?B$"))


def test_first_9_the_tile_lens_changes_the_real_schedule_and_measures_it(screen: OneScreen) -> None:
    factor = screen.page.get_by_role("slider", name="Factor of j_1", exact=True)
    factor.press("PageUp")
    factor.press("Enter")
    result = screen.page.locator(".wb-lens-result")
    expect(result).to_contain_text(re.compile(r"GFLOP/s.*misses L1 [\d,]+"), timeout=20_000)
    assert "factors=[None, 32]" in screen.schedule.code()
    screen.page.get_by_role("button", name="Back to j_1 = 16").click()
    screen.harness.wait_until(lambda: "factors=[None, 16]" in screen.schedule.code(), "the tile is as it was")


def test_ux_63_reuse_distances_and_what_each_line_of_a_cache_holds(screen: OneScreen) -> None:
    expect(legend(screen)).to_contain_text(re.compile(r"L1 [\d,]+"))
    screen.page.get_by_role("button", name="Reuse distances").click()
    table = screen.page.get_by_role("table", name="Reuse distances")
    expect(table.get_by_role("row")).not_to_have_count(1)
    expect(table).to_contain_text("first touch")
    expect(table.get_by_role("row", name=re.compile("^first touch"))).to_contain_text("192")


def test_ux_64_a_cache_of_chosen_size_line_and_ways_is_simulated(screen: OneScreen) -> None:
    screen.page.get_by_role("button", name="Simulate a cache").click()
    form = screen.page.get_by_role("form", name="A cache")
    form.get_by_role("spinbutton", name="KiB").fill("64")
    form.get_by_role("spinbutton", name="ways").fill("16")
    form.get_by_role("button", name="Run").click()
    found = screen.page.get_by_role("table", name="Simulated misses")
    expect(found.get_by_role("row", name=re.compile("^all"))).to_contain_text("192")
    form.get_by_role("spinbutton", name="KiB").fill("1")
    form.get_by_role("spinbutton", name="ways").fill("1")
    form.get_by_role("button", name="Run").click()
    expect(found.get_by_role("row", name=re.compile("^all"))).not_to_contain_text("192")
    expect(found.get_by_role("row", name=re.compile("^B"))).to_be_visible()


def test_ux_65_buffers_live_from_their_first_write_to_their_last_use(screen: OneScreen) -> None:
    screen.schedule.cache_write("C", 0, "global")
    screen.harness.push()
    screen.page.get_by_role("button", name="Lifetimes").click()
    table = screen.page.get_by_role("table", name="Lifetimes")
    row = table.get_by_role("row", name=re.compile("^C_global"))
    expect(row).to_contain_text("C to C_global_copy")
    expect(row).to_contain_text("4 KiB")
    expect(table.get_by_role("row", name=re.compile("^A "))).to_contain_text("parameter")


def test_ux_66_the_iterations_are_points_in_the_order_of_visits_with_dependences(screen: OneScreen) -> None:
    screen.page.get_by_role("button", name="Iterations").click()
    plot = screen.page.get_by_role("img", name=re.compile("^Iterations of C over"))
    expect(plot.locator(".wb-it-point")).to_have_count(256)
    expect(plot.locator(".wb-it-arrow")).not_to_have_count(0)
    screen.page.get_by_role("combobox", name="Down").select_option("k")
    expect(screen.page.get_by_role("img", name=re.compile("^Iterations of C over .* and k"))).to_be_visible()


def test_ux_106_the_elements_of_large_arrays_are_painted_on_canvases(browser: Browser) -> None:
    """Three arrays of 65,536 elements: the page has canvases for them, and as few nodes as for small ones."""
    schedule = Schedule(plain_matmul(256, 256, 256))
    schedule.split(schedule.get_loops("C")[1], factors=[None, 64])
    with one_screen(browser, schedule) as screen:
        screen.in_mode("Lens")
        expect(screen.page.get_by_role("slider", name="Visit")).to_be_visible(timeout=20_000)
        canvases = screen.page.locator(".wb-lens canvas")
        expect(canvases).to_have_count(3)
        pixels = "one.getContext('2d').getImageData(0, 0, one.width, one.height).data.buffer"
        painted = f"one => new Set(new Uint32Array({pixels})).size"
        assert all(canvas.evaluate(painted) >= 2 for canvas in canvases.all()), "touched and untouched elements differ"
        assert screen.page.locator(".wb-lens *").count() < 1_000
        before = [canvas.evaluate("one => one.toDataURL()") for canvas in canvases.all()]
        screen.page.get_by_role("slider", name="Visit").fill("9000000")
        now = "[...document.querySelectorAll('.wb-lens canvas')]"
        moved = f"before => {now}.some((one, at) => one.toDataURL() !== before[at])"
        screen.harness.wait_until(lambda: bool(screen.page.evaluate(moved, before)), "the picture moves")
