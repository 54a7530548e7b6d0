"""The tile lens in a real browser: dragging an edge asks nothing, releasing changes the schedule."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import BrowserContext, Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.lens_programs import followed, matmul_tiled
from tests.schedule.programs import convolution, plain_matmul
from workbench import te
from workbench.schedule import Schedule
from workbench.ui.lens import TileLens
from workbench.ui.workbench import Workbench

COUNT_FRAMES = """() => {
  const ask = window.requestAnimationFrame.bind(window);
  window.frames_asked = 0;
  window.requestAnimationFrame = (work) => { window.frames_asked++; return ask(work); };
}"""
TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))"


def opened(harness: Harness, schedule: Schedule | None = None, dark: bool = False) -> TileLens:
    screen = TileLens(schedule or matmul_tiled("IJKikj", 16, 16, 16, 64))
    harness.show(screen, dark)
    expect(harness.page.locator(".wb-lens-result strong")).to_be_visible(timeout=20_000)
    return screen


def edge(harness: Harness, name: str, which: int = 0) -> Locator:
    return harness.page.get_by_role("slider", name=f"Tile edge {name}").nth(which)


def row(harness: Harness, name: str) -> Locator:
    return harness.page.locator(".wb-lens-loops tbody tr").filter(has=harness.page.get_by_text(name, exact=True))


def result(harness: Harness) -> Locator:
    return harness.page.locator(".wb-lens-result")


def pull(harness: Harness, name: str, by: float) -> None:
    """Hold an edge and move it, without letting go."""
    box = edge(harness, name).bounding_box()
    assert box is not None
    mouse = harness.page.mouse
    mouse.move(box["x"] + 6, box["y"] + 4)
    mouse.down()
    mouse.move(box["x"] + 6 + by / 2, box["y"] + 4)
    mouse.move(box["x"] + 6 + by, box["y"] + 4)


def drawn(harness: Harness) -> list[str]:
    return harness.page.evaluate("[...document.querySelectorAll('.wb-lens canvas')].map((one) => one.toDataURL())")


def test_everything_follows_a_drag_and_the_kernel_is_not_asked(harness: Harness) -> None:
    screen = opened(harness)
    code, asked, pictures = screen.schedule.code(), harness.asked_so_far(), drawn(harness)
    expect(row(harness, "j_1")).to_contain_text("C 64 B")
    pull(harness, "j_1", 4 * 8)  # 4 pixels an element: 16 becomes 24
    expect(edge(harness, "j_1")).to_have_attribute("aria-valuenow", "24")
    expect(row(harness, "j_1")).to_contain_text("C 96 B")
    expect(harness.page.locator(".wb-lens-tiles")).to_contain_text("24 of 64, last 16")
    expect(result(harness)).to_contain_text("not applied")
    assert drawn(harness) != pictures
    assert len(harness.asked) == asked and screen.schedule.code() == code


def test_on_release_the_schedule_is_changed_and_measured(harness: Harness) -> None:
    screen = opened(harness)
    pull(harness, "j_1", 4 * 16)
    harness.page.mouse.up()
    expect(result(harness)).to_contain_text("before", timeout=20_000)
    assert "sch.split(l1, factors=[None, 32])" in screen.schedule.code()
    expect(result(harness)).to_contain_text(re.compile(r"GFLOP/s.*misses L1 [\d,]+"))
    harness.page.get_by_role("button", name="Back to j_1 = 16").click()
    harness.wait_until(lambda: "factors=[None, 32]" not in screen.schedule.code(), "the tile is as it was")
    assert len(screen.schedule.branches) == 2


def test_the_keyboard_does_the_same(harness: Harness) -> None:
    screen = opened(harness)
    before = screen.schedule.fingerprint()
    edge(harness, "i_1").focus()
    keys = harness.page.keyboard
    keys.press("ArrowRight")
    expect(edge(harness, "i_1")).to_have_attribute(
        "aria-valuetext", "17 of 64, the last tile 13, not applied: press Enter"
    )
    keys.press("Escape")
    expect(edge(harness, "i_1")).to_have_attribute("aria-valuenow", "16")
    keys.press("PageUp")
    expect(edge(harness, "i_1")).to_have_attribute("aria-valuenow", "32")
    assert screen.schedule.fingerprint() == before
    keys.press("Enter")
    expect(result(harness)).to_contain_text("before", timeout=20_000)
    assert "factors=[None, 32]" in screen.schedule.code()
    expect(edge(harness, "i_1")).to_be_focused()


def test_an_edge_dragged_to_the_whole_extent_is_dragged_back(harness: Harness) -> None:
    screen = opened(harness, followed(8))
    shown = harness.page.locator(".wb-lens-tiles label")
    edge(harness, "ax1").focus()
    harness.page.keyboard.press("End")
    harness.page.keyboard.press("Enter")
    harness.wait_until(lambda: "factors=[None, 16]" in screen.schedule.code(), "the tile is the whole axis")
    expect(shown).to_contain_text("16 of 16")
    expect(result(harness)).to_contain_text("before", timeout=20_000)
    box, array = edge(harness, "ax1").bounding_box(), harness.page.locator("canvas").nth(1).bounding_box()
    assert box is not None and array is not None
    pull(harness, "ax1", -array["width"] / 2)
    expect(shown).to_contain_text("8 of 16")
    harness.page.mouse.up()
    harness.wait_until(lambda: "factors=[None, 8]" in screen.schedule.code(), "the tile is as it was")


def test_scrubbing_shows_visit_by_visit(harness: Harness) -> None:
    opened(harness, Schedule(plain_matmul(16, 16, 16)))
    asked = harness.asked_so_far()
    scrub = harness.page.get_by_role("slider", name="Visit")
    scrub.fill("0")
    caption = harness.page.locator("figcaption").nth(1)
    expect(caption).to_contain_text("now [0, 0]")
    harness.page.get_by_role("button", name="One visit on").click()
    expect(caption).to_contain_text("now [1, 0]")
    expect(scrub).to_have_attribute("aria-valuetext", "visit 2 of 4096: i 0, j 0, k 1")
    legend = harness.page.locator(".wb-lens-legend")
    expect(legend).to_contain_text("L1 4")
    scrub.fill("4095")
    expect(legend).to_contain_text("never touched 0")
    assert len(harness.asked) == asked


def test_playing_moves_on_and_stops(harness: Harness) -> None:
    opened(harness, Schedule(plain_matmul(16, 16, 16)))
    scrub = harness.page.get_by_role("slider", name="Visit")
    scrub.fill("4000")
    harness.page.get_by_role("button", name="Play").click()
    expect(scrub).to_have_value("4095")
    expect(harness.page.get_by_role("button", name="Play")).to_have_attribute("aria-pressed", "false")


def test_reduced_motion_goes_in_steps(harness: Harness) -> None:
    harness.page.emulate_media(reduced_motion="reduce")
    opened(harness, Schedule(plain_matmul(16, 16, 16)))
    scrub = harness.page.get_by_role("slider", name="Visit")
    scrub.fill("0")
    harness.page.get_by_role("button", name="Play").click()
    expect(scrub).to_have_value("341")  # a twelfth at a time, one a second
    harness.page.wait_for_timeout(200)
    expect(scrub).to_have_value("341")


def test_a_later_move_in_the_way_is_named_and_the_tile_goes_back(harness: Harness) -> None:
    sch = Schedule(plain_matmul(24, 24, 24))
    _, j, _ = sch.get_loops(sch.get_block("C"))
    _, j_1 = sch.split(j, factors=[None, 8])
    sch.split(j_1, factors=[4, 2], disable_predication=True)
    screen = opened(harness, sch)
    before = screen.schedule.fingerprint()
    factor = harness.page.get_by_role("slider", name="Factor of j_1", exact=True)
    factor.press("ArrowRight")
    factor.press("Enter")
    expect(harness.page.get_by_role("alert")).to_contain_text("split in step 4 is refused")
    expect(factor).to_have_value("8")
    assert screen.schedule.fingerprint() == before


def test_what_a_cell_does_is_drawn(harness: Harness) -> None:
    screen = opened(harness)
    screen.schedule.change(4, factors=[None, 4])
    harness.push()
    expect(edge(harness, "j_1")).to_have_attribute("aria-valuenow", "4")


def test_what_is_refused_below_another_picture_is_told_there(harness: Harness) -> None:
    """The misses of the schedule before stayed under the picture of the next one."""
    screen = opened(harness)
    page = harness.page
    page.get_by_role("button", name="Simulate a cache").click()
    form, found = page.get_by_role("form", name="A cache"), page.get_by_role("table", name="Simulated misses")
    form.get_by_role("button", name="Run").click()
    expect(found).to_be_visible()
    form.get_by_role("spinbutton", name="ways").fill("0")  # not run: what is shown is of the ways before
    screen.schedule.change(4, factors=[None, 4])
    harness.push()
    expect(edge(harness, "j_1")).to_have_attribute("aria-valuenow", "4")
    expect(page.get_by_role("alert")).to_contain_text("E-ANALYSIS-CACHE")
    expect(found).to_have_count(0)


def test_blocks_are_chosen_and_those_without_formulas_say_why(harness: Harness) -> None:
    opened(harness, Schedule(convolution(8, 8)))
    picker = harness.page.get_by_role("combobox", name="Block")
    expect(picker).to_have_value("conv")
    pad = picker.locator("option", has_text="pad")
    expect(pad).to_be_disabled()
    expect(pad).to_contain_text("only where a condition holds")
    picker.select_option("relu")
    expect(harness.page.locator(".wb-lens-arrays")).to_contain_text("relu")
    expect(harness.page.locator(".wb-lens-none").first).to_contain_text("split a loop of this block first")


def test_colours_are_those_of_the_theme(context: BrowserContext) -> None:
    sizes: dict[bool, Any] = {}
    for dark in (False, True):
        harness = Harness(context.new_page())
        opened(harness, Schedule(plain_matmul(16, 16, 16)), dark)
        sizes[dark] = harness.page.evaluate(
            "getComputedStyle(document.querySelector('.wb-lens-legend i')).backgroundColor"
        )
        assert harness.errors == []
    assert sizes == {False: "rgb(236, 238, 241)", True: "rgb(42, 46, 54)"}


def test_in_the_one_screen_the_lens_shares_the_schedule_with_the_editor(harness: Harness) -> None:
    a, b = te.placeholder((32, 32), name="A"), te.placeholder((32, 32), name="B")
    k = te.reduce_axis((0, 32), name="k")
    c = te.compute((32, 32), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    schedule = Schedule(te.create_prim_func([a, b, c]))
    schedule.split(schedule.get_loops(schedule.get_block("C"))[1], factors=[None, 8])
    screen = Workbench(wb.open(schedule), schedule=schedule)
    harness.show(screen)
    page = harness.page
    pane = page.get_by_role("region", name="Schedule, pane A")
    pane.get_by_role("button", name="Lens").click()
    factor = page.get_by_role("slider", name="Factor of j_1", exact=True)
    factor.press("PageUp")
    factor.press("Enter")
    expect(result(harness)).to_contain_text("GFLOP/s", timeout=20_000)
    harness.wait_until(lambda: "factors=[None, 16]" in schedule.code(), "the cell's schedule has the factor")
    measure = page.locator(".wb-run")
    for press in (lambda: None, measure.click):  # one figure, whichever of the two buttons was pressed
        press()
        expect(measure).to_be_enabled()
        figure = result(harness).locator("strong").inner_text()
        assert "GFLOP/s" in figure
        expect(measure).to_have_attribute("title", f"The kernel {schedule.func_working_on}: {figure}")
        expect(measure).to_contain_text(figure.split(",")[0])
    assert "factors=[None, 16]" in screen.session.schedule(schedule.func_working_on).code()
    harness.push()
    pane.get_by_role("button", name="Editor").click()
    expect(page.locator(".wb-tree")).to_contain_text("16")


def test_an_animation_ends_with_the_lens_that_shows_it(harness: Harness) -> None:
    screen = Workbench(wb.open(Schedule(plain_matmul(64, 64, 64))), unattended=True)
    harness.show(screen)
    page = harness.page
    expect(page.locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    page.locator(".wb-pane").first.locator(".wb-text-row").first.click()
    page.keyboard.press("t")
    expect(page.locator(".wb-lens-result strong")).to_be_visible(timeout=30_000)
    page.get_by_label("pace").select_option("visit")
    page.locator(".wb-lens-scrub").fill("0")
    page.evaluate(COUNT_FRAMES)
    page.get_by_role("button", name="Play").click()
    harness.wait_until(lambda: page.evaluate("window.frames_asked") > 3, "it plays")
    page.keyboard.press("i")
    expect(page.locator(".wb-lens")).to_have_count(0)
    page.evaluate(TWO_FRAMES)
    before = page.evaluate("window.frames_asked")
    page.evaluate(TWO_FRAMES)
    assert page.evaluate("window.frames_asked") == before + 2, "frames are drawn of a lens that is not in the page"


VISITS_IN = """async (frames) => {
  const scrub = document.querySelector(".wb-lens-scrub");
  const before = Number(scrub.value);
  for (let i = 0; i < frames; i++) await new Promise((done) => requestAnimationFrame(done));
  return Number(scrub.value) - before;
}"""
"""How many visits an animation goes on by in so many frames: one in each, at the pace of visits."""


def test_an_animation_that_is_stopped_and_started_at_once_is_one(harness: Harness) -> None:
    harness.show(TileLens(Schedule(plain_matmul(64, 64, 64))))
    page = harness.page
    expect(page.locator(".wb-lens-result strong")).to_be_visible(timeout=30_000)
    page.get_by_label("pace").select_option("visit")
    page.locator(".wb-lens-scrub").fill("0")
    play = page.get_by_role("button", name="Play")
    turns = "(button) => { for (let i = 0; i < 5; i++) button.click(); }"
    play.evaluate(turns)
    frames, visits = 20, page.evaluate(VISITS_IN, 20)
    assert 0 < visits <= frames + 2, f"{visits} visits in {frames} frames: more than one animation runs"


def test_a_measurement_that_another_overtook_does_not_end_the_other(harness: Harness) -> None:
    screen = TileLens(matmul_tiled("IJKikj", 16, 16, 16, 64))
    harness.show(screen)
    page = harness.page
    result = page.locator(".wb-lens-result")
    expect(result.locator("strong")).to_be_visible(timeout=20_000)
    factor = page.get_by_role("slider", name="Factor of j_1", exact=True)
    harness.dropped.add("exact")  # both run on and on
    before = harness.operations().count("exact")
    for number in (1, 2):
        factor.press("ArrowRight")
        factor.press("Enter")
        harness.wait_until(lambda: harness.operations().count("exact") == before + number, "it measures")  # noqa: B023
        expect(result.get_by_role("button", name="Measure")).to_be_disabled(timeout=5_000)
