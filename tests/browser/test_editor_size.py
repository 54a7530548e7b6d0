"""What is in sight of the schedule editor and of texts: whole lines of Python, nothing cut off or left over."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

import workbench as wb
from tests.browser.harness import Harness
from tests.schedule.programs import plain_matmul
from workbench import relay, te
from workbench.schedule import Schedule
from workbench.ui.schedule import ScheduleEditor
from workbench.ui.workbench import Workbench

LINE = 19
SIDEWAYS = """() => [...document.querySelectorAll(".wb-schedule, .wb-schedule *")]
    .filter(one => ["auto", "scroll"].includes(getComputedStyle(one).overflowX) && one.clientWidth > 0)
    .filter(one => one.scrollWidth > one.clientWidth)
    .map(one => `${one.className}: ${one.scrollWidth} in ${one.clientWidth}`)"""

ON_TOP = """one => {
    const box = one.getBoundingClientRect();
    const seen = document.elementFromPoint(box.left + box.width / 2, box.top + Math.min(10, box.height / 2));
    return one.contains(seen);
}"""


def tiled() -> Schedule:
    """A product of ten loops in one another."""
    schedule = Schedule(plain_matmul(512, 512, 512))
    levels = [schedule.split(loop, factors=[None, 4, 8]) for loop in schedule.get_loops("C")]
    schedule.reorder(*(loops[depth] for depth in range(3) for loops in levels))
    schedule.split(levels[2][2], factors=[None, 2])
    return schedule


def opened(harness: Harness, schedule: Schedule) -> None:
    harness.show(Workbench(wb.open(schedule), schedule=schedule))
    expect(harness.page.get_by_role("treeitem").first).to_be_visible(timeout=30_000)


@pytest.mark.parametrize("width", [1400, 1000, 640])
def test_nothing_of_the_editor_is_scrolled_sideways(harness: Harness, width: int) -> None:
    page = harness.page
    page.set_viewport_size({"width": width, "height": 800})
    opened(harness, tiled())
    expect(page.get_by_role("treeitem")).to_have_count(11)
    assert page.evaluate(SIDEWAYS) == []
    page.locator(".wb-tree .wb-box-head").first.click()
    page.get_by_role("button", name="reorder", exact=True).click()
    expect(page.get_by_role("form", name="Arguments of reorder")).to_be_visible()
    page.locator(".wb-tree .wb-box-head").last.click()
    page.get_by_role("button", name="cache_write", exact=True).click()
    expect(page.get_by_role("form", name="Arguments of cache_write")).to_be_visible()
    assert page.evaluate(SIDEWAYS) == []
    names = page.locator(".wb-tree .wb-iter, .wb-tree .wb-block-name").all()
    assert len(names) == 11, "each loop and each block has its name"
    for name in names:
        place, tree = name.bounding_box(), page.locator(".wb-tree").bounding_box()
        assert place is not None and tree is not None
        assert tree["x"] <= place["x"] and place["x"] + place["width"] <= tree["x"] + tree["width"]


@pytest.mark.parametrize("width", [1400, 640])
def test_what_is_wrong_with_a_form_leaves_the_form_in_sight(harness: Harness, width: int) -> None:
    """With a tab open below, the message left no height for the form that it was about."""
    page = harness.page
    page.set_viewport_size({"width": width, "height": 800})
    opened(harness, Schedule(plain_matmul(64, 64, 64)))
    page.locator(".wb-strip-head").get_by_role("button", name="Checks").click()
    expect(page.locator(".wb-strip-checks")).to_be_visible()
    page.locator(".wb-tree .wb-box-head").nth(1).click()
    page.get_by_role("button", name="split", exact=True).click()
    field = page.get_by_role("textbox", name="factors")
    field.fill("3, 5")
    field.press("Enter")
    message = page.get_by_role("alert").filter(has_text="the factors do not cover j")
    expect(message).to_be_visible()
    for part in (message, field, page.get_by_role("button", name="Apply", exact=True)):
        part.scroll_into_view_if_needed()
        assert part.evaluate(ON_TOP), "it is covered, or has no room"
    form, told = page.locator(".wb-schedule .wb-primitives").bounding_box(), message.bounding_box()
    assert form and told and form["height"] > 100 and form["y"] >= told["y"] + told["height"]
    assert page.evaluate(SIDEWAYS) == []
    page.get_by_role("button", name="Close the message").click()
    expect(message).to_have_count(0)
    field.fill("auto, 8")
    field.press("Enter")
    expect(page.get_by_role("treeitem")).to_have_count(5)


def python_lines(harness: Harness) -> float:
    """How many lines of the schedule's Python are in sight."""
    field = harness.page.get_by_label("The Python that leads here").locator("pre")
    return field.evaluate(f"one => one.clientHeight / {LINE}")


@pytest.mark.parametrize("alone", [False, True], ids=["in a pane", "alone"])
def test_the_python_of_the_schedule_shows_whole_lines_one_without_moves_then_four_and_more_for_more(
    harness: Harness, alone: bool
) -> None:
    schedule = Schedule(plain_matmul(64, 64, 64))
    harness.page.set_viewport_size({"width": 1400, "height": 800})
    if alone:
        harness.show(ScheduleEditor(schedule))
    else:
        opened(harness, schedule)
    expect(harness.page.locator(".wb-bottom")).to_be_visible()
    assert harness.page.locator(".wb-code-line").first.evaluate("one => one.offsetHeight") == LINE
    assert alone or python_lines(harness) == 1
    first = schedule.split(schedule.get_loops("C")[0], factors=[None, 32])[1]
    harness.push()
    expect(harness.page.locator(".wb-bottom section").first.locator(".wb-code-line")).to_have_count(3)
    assert python_lines(harness) == 4 or (alone and python_lines(harness) in range(4, 9))
    for factor in (16, 8):
        first = schedule.split(first, factors=[None, factor])[1]
    harness.push()
    expect(harness.page.locator(".wb-bottom section").first.locator(".wb-code-line")).to_have_count(5)
    assert python_lines(harness) == 5 or (alone and python_lines(harness) in range(5, 9))
    for loop in schedule.get_loops("C"):
        for number in range(4):
            schedule.annotate(loop, f"mark{number}", number)
    harness.push()
    expect(harness.page.locator(".wb-last")).to_contain_text("mark3")
    assert python_lines(harness) in range(6, 9)
    expect(harness.page.locator(".wb-last")).to_be_in_viewport()
    harness.page.get_by_role("button", name="Edit the Python").click()
    field = harness.page.get_by_role("textbox", name="Python of the schedule, to edit")
    assert field.evaluate(f"one => one.clientHeight / {LINE}") in range(4, 9)
    inside, section = field.bounding_box(), harness.page.locator(".wb-bottom section").first.bounding_box()
    assert inside is not None and section is not None
    assert inside["x"] + inside["width"] <= section["x"] + section["width"]


def test_a_text_edited_after_the_schedule_is_told_in_the_editor(harness: Harness) -> None:
    sch = Schedule(plain_matmul(8, 8, 8))
    sch.parallel(sch.get_loops("C")[0])
    screen = Workbench(wb.open(sch), schedule=sch)
    harness.show(screen)
    editor = harness.page.get_by_role("group", name="Schedule editor")
    expect(editor.get_by_role("treeitem").first).to_be_visible(timeout=30_000)
    expect(editor.get_by_role("note")).to_have_count(0)
    sch.unroll(sch.get_loops("C")[2])
    harness.push()
    text = screen.session.tir["main"].script()
    edited = text.replace("A[vi, vk] * B[vk, vj]", "B[vk, vj] * A[vi, vk]")
    steps = screen.ask("pipeline.open").content["view"]["steps"]
    step = next(step["id"] for step in steps if step["name"] == "Schedule")
    assert screen.ask("pipeline.edit", step=step, function="main", text=edited).content["ok"]
    harness.push()
    expect(editor.get_by_role("note")).to_contain_text("The loop text was edited after this schedule (step Edit)")


def test_line_numbers_of_three_digits_are_whole_when_a_text_is_scrolled_sideways(harness: Harness) -> None:
    stage = te.placeholder((8, 8), name="A")
    stages = [stage]
    for number in range(24):
        stages.append(te.compute((8, 8), lambda i, j, s=stages[-1]: s[i, j] * 2.0 + s[j, i], name=f"S{number}"))
    page = harness.page
    page.set_viewport_size({"width": 1400, "height": 800})
    opened(harness, Schedule(te.create_prim_func([stage, stages[-1]])))
    pane = page.get_by_role("region", name="Schedule, pane A")
    pane.get_by_role("button", name="Text", exact=True).click()
    body = pane.locator(".wb-window-body")
    expect(body.locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    body.evaluate(f"one => {{ one.scrollTop = 120 * {LINE}; one.scrollLeft = 15; }}")
    number = body.locator(".wb-no", has_text=re.compile("^125$"))
    expect(number).to_be_visible()
    assert body.evaluate("one => one.scrollLeft") == 15
    digits = number.evaluate(
        "one => { const range = document.createRange(); range.selectNodeContents(one);"
        " return range.getBoundingClientRect().left - one.closest('.wb-window-body').getBoundingClientRect().left; }"
    )
    assert digits >= 0, "the first digit is cut off"
    on_top = number.evaluate(
        "one => { const box = one.getBoundingClientRect();"
        " const seen = document.elementFromPoint(box.left + 12, box.top + 9);"
        " return seen === one && getComputedStyle(one).backgroundColor; }"
    )
    assert on_top and on_top != "rgba(0, 0, 0, 0)", "the text goes under the number"


def test_what_is_told_of_a_box_goes_when_the_view_is_changed_by_key(harness: Harness) -> None:
    x = relay.var("x", shape=(4, 8))
    harness.show(Workbench(wb.open(wb.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))))))
    page = harness.page
    page.get_by_role("navigation", name="Layers").get_by_role("button", name=re.compile(r"^\W*Relay")).click()
    box = page.get_by_role("region", name="Relay, pane A").locator(".wb-graph .wb-box-call").first
    expect(box).to_be_visible(timeout=30_000)
    box.hover()
    tip = page.get_by_role("tooltip")
    expect(tip).to_be_visible()
    page.keyboard.press("i")
    expect(page.get_by_role("region", name="Relay, pane A").locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    expect(tip).to_have_count(0)
