"""Room at the widths that JupyterLab leaves: 993 pixels beside its file browser (one pane), 1245 without it (two)."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.test_selection_kept import two_convolutions
from tests.driver.planted_rule import planted_rule
from tests.schedule.programs import plain_matmul
from workbench import te
from workbench.schedule import Schedule
from workbench.ui.lens import TileLens
from workbench.ui.workbench import Workbench
from workbench.views.editor_forms import offered

AROUND = 32
"""Pixels that the page has beside a screen."""
WIDTHS = (993, 1245)
BROKEN = """block => [...block.querySelectorAll("*")].concat(block).flatMap((one) => [...one.childNodes])
    .filter((node) => node.nodeType === Node.TEXT_NODE)
    .flatMap((node) => [...node.data.matchAll(/\\S+/g)].filter((word) => {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        return new Set([...range.getClientRects()].map((one) => one.top)).size > 1;
    })).map((word) => word[0])"""
"""The words of a code block that are drawn on two lines."""


def shown(harness: Harness, width: int, screen: Workbench | TileLens) -> None:
    harness.page.set_viewport_size({"width": width + AROUND, "height": 900})
    harness.show(screen)


def top(found: Locator) -> float:
    box = found.bounding_box()
    assert box is not None
    return box["y"]


def inside(part: Locator, box: Locator) -> bool:
    """Whether a part is in sight within a box that scrolls."""
    held, own = box.bounding_box(), part.bounding_box()
    assert held is not None and own is not None
    return held["y"] - 1 <= own["y"] and own["y"] + min(own["height"], held["height"]) <= held["y"] + held["height"] + 1


@pytest.mark.parametrize("width", WIDTHS)
def test_the_first_wrong_rewrite_comes_into_sight(harness: Harness, width: int) -> None:
    """It appeared below the panel's edge, and of the rewrite in the program the pane had no room for the difference."""
    page = harness.page
    with planted_rule() as session:
        shown(harness, width, Workbench(session))
        expect(page.locator(".wb-graph svg").first).to_be_visible()
        page.locator(".wb-strip-head").get_by_role("button", name="Checks").click()
        red = page.locator(".wb-badge", has_text="Planted")
        expect(red).to_contain_text("wrong", timeout=20_000)
        red.click()
        detail = page.locator(".wb-check-detail")
        narrow = page.get_by_role("button", name="Find the first wrong rewrite")
        assert inside(narrow, detail), "the button is in sight without scrolling"
        facts = detail.locator("dl")
        assert top(facts.locator("dt").nth(1)) == top(facts.locator("dt").first), "facts stand in columns"
        narrow.click()
        found = page.get_by_role("group", name="What is wrong")
        expect(found.locator(".wb-del")).to_be_visible(timeout=20_000)
        for part in (found.locator("h5"), found.locator(".wb-del"), found.locator(".wb-add")):
            assert inside(part, detail)
        page.get_by_role("button", name="in the program").click()
        pane = page.get_by_role("region", name="pane A")
        expect(pane.locator(".wb-diff .wb-add")).to_be_visible()
        for part in (".wb-rule-name", ".wb-diff .wb-del", ".wb-diff .wb-add"):
            assert inside(pane.locator(part).first, pane.locator(".wb-detail")), part
        assert page.evaluate("scrollY") == 0, "the page stays where it was"


@pytest.mark.parametrize("width", [*WIDTHS, 1120])
def test_a_witness_has_the_width_of_its_pane(harness: Harness, width: int) -> None:
    """Beside another pane it had 150 pixels, and code broke inside of words."""
    page = harness.page
    schedule = Schedule(plain_matmul(512, 512, 512))
    shown(harness, width, Workbench(wb.open(schedule), schedule=schedule, at="A=schedule.editor&B=asm.text&in=A"))
    page.locator(".wb-tree .wb-box-head").nth(2).click()
    page.get_by_role("button", name="What instead of vectorize?").click()
    expect(page.locator(".wb-way").first).to_be_visible()
    panel = page.locator(".wb-panel").bounding_box()
    assert panel is not None and panel["width"] > 300
    for code in page.locator(".wb-way pre").all():
        assert "sch." in code.inner_text() and code.evaluate(BROKEN) == []
    empty = page.locator(".wb-bottom").bounding_box()
    assert empty is not None and empty["height"] < 70, "without a move there is one line of Python"


@pytest.mark.parametrize("width", WIDTHS)
def test_the_layers_stay_on_their_line_when_a_branch_comes(harness: Harness, width: int) -> None:
    page = harness.page
    session = wb.open(two_convolutions())
    screen = Workbench(session)
    shown(harness, width, screen)
    panes, assembly = page.locator(".wb-columns").first, page.locator(".wb-chip", has_text="Assembly")
    expect(assembly).to_be_visible()
    before = top(panes), top(assembly)
    screen.session = session.without("FoldScaleAxis")
    harness.push()
    expect(page.get_by_role("combobox", name="Branch", exact=True)).to_be_visible()
    assert (top(panes), top(assembly)) == before
    assert top(page.locator(".wb-chip").first) == before[1], "all layers stand on one line"


def test_the_name_of_a_step_that_failed_is_read_whole(harness: Harness, refusing: str) -> None:
    page = harness.page
    session = wb.open(two_convolutions(), passes=["InferType", "SimplifyInference", refusing])
    shown(harness, 993, Workbench(session))
    failed = page.locator(".wb-outline .wb-is-error .wb-name").first
    expect(failed).to_have_text(refusing)
    assert failed.evaluate("one => one.scrollWidth <= one.clientWidth && one.clientWidth >= 60")


def test_where_one_pane_is_shown_what_is_asked_for_beside_it_comes_into_it(harness: Harness) -> None:
    """A Shift-click filled the pane that was out of sight."""
    page = harness.page
    shown(harness, 993, Workbench(wb.open(two_convolutions()), at="A=relay.graph&B=schedule.text&in=A"))
    expect(page.locator(".wb-graph svg").first).to_be_visible()
    page.locator(".wb-chip", has_text="TIR").click(modifiers=["Shift"])
    expect(page.get_by_role("region", name="TIR, pane B")).to_be_visible()
    expect(page.get_by_role("region", name="pane A")).to_be_hidden()
    other = page.get_by_role("button", name="The other pane")
    expect(other).to_have_text("A: Relay")
    other.click()
    expect(page.get_by_role("region", name="Relay, pane A")).to_be_visible()
    expect(other).to_have_text("B: TIR")


@pytest.mark.parametrize(("width", "columns"), [(993, 2), (1245, 1)])
def test_two_programs_are_compared_in_columns_where_there_is_room(harness: Harness, width: int, columns: int) -> None:
    page = harness.page
    schedule = Schedule(plain_matmul(64, 64, 64))
    session = wb.open(schedule)
    screen = Workbench(session, at="A=asm.compare&B=tir.text&in=A")
    shown(harness, width, screen)
    schedule.vectorize(schedule.get_loops("C")[1])
    screen.session = session.edit(schedule={"main": schedule})
    harness.push()
    pane = page.get_by_role("region", name="pane A")
    expect(pane.locator(".wb-diff .wb-add").first).to_be_visible(timeout=20_000)
    expect(pane.locator(".wb-split")).to_have_count(columns - 1)
    page.get_by_role("button", name="Measure both").click()
    figures = re.compile(r"[µm]s → .* [µm]s · ([\d,]+) → ([\d,]+) cycles by the model")
    expect(pane.get_by_role("status")).to_have_text(figures, timeout=30_000)
    found = figures.search(pane.get_by_role("status").inner_text())
    assert found is not None
    before, after = (int(one.replace(",", "")) for one in found.groups())
    assert after < before, "vectors take fewer cycles"


def skinny() -> Schedule:
    """A sum over an array that is 300 times as wide as high."""
    A, r = te.placeholder((6, 2048), name="A"), te.reduce_axis((0, 2048), name="k")
    schedule = Schedule(te.create_prim_func([A, te.compute((6,), lambda i: te.sum(A[i, r], axis=r), name="B")]))
    schedule.split(schedule.get_loops("B")[1], factors=[None, 16])
    return schedule


@pytest.mark.parametrize("width", [395, 610])
def test_the_lens_has_no_picture_that_is_a_line(harness: Harness, width: int) -> None:
    page = harness.page
    shown(harness, width, TileLens(skinny()))
    expect(page.locator(".wb-lens-result strong")).to_be_visible(timeout=20_000)
    for canvas in page.locator(".wb-lens-canvas canvas").all():
        box = canvas.bounding_box()
        assert box is not None and box["height"] >= 10 and box["width"] >= 10
    back, slider = page.get_by_role("button", name="One visit back"), page.locator(".wb-lens-scrub")
    assert abs(top(back) - top(slider)) < 12, "the buttons stand beside their slider"
    told = page.locator(".wb-lens-result > span").bounding_box()
    assert told is not None and told["width"] > 300


def test_what_is_seldom_of_use_stands_last_in_its_group() -> None:
    """For a loop of lanes, `add_unit_loop` was the first thing offered."""
    names = [entry.name for entry in offered() if entry.category == "loop"]
    assert names[0] == "split" and names[-1] == "add_unit_loop"
