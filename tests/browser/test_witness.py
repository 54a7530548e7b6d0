"""The witness of a refusal in a real browser: the two iterations drawn, their lines lit, the best way on taken."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.harness import Harness
from tests.browser.test_schedule_editor import box, opened, primitives


def test_a_student_sees_the_two_iterations_and_takes_the_best_way(harness: Harness) -> None:
    editor = opened(harness)
    page = harness.page
    box(harness, "k").click()
    page.get_by_role("button", name="What instead of vectorize?").click()
    picture = page.get_by_role("img", name=re.compile("k=0 writes C.*k=1 writes too"))
    expect(picture).to_be_visible()
    expect(picture.locator(".wb-w-axis")).to_have_text(["k →", "j ↓"])
    one, two = picture.locator(".wb-w-one").bounding_box(), picture.locator(".wb-w-two").bounding_box()
    assert one is not None and two is not None and one["x"] < two["x"], "k=0 stands left of k=1"
    assert abs(one["y"] + one["height"] / 2 - two["y"] - two["height"] / 2) < 1, "both at the same j"
    words = page.get_by_role("group", name="Two iterations that collide")
    for said in ("writes C[0, 0]", "i=0, j=0, k=1", "at the same time", "j has 512 iterations"):
        expect(words).to_contain_text(said)
    expect(words.locator(".wb-lit").last).to_contain_text("C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj] ■1 ◆2")
    best = page.locator(".wb-way").first
    expect(best).to_contain_text("legal on 16 iterations of j, split off first")
    expect(best.locator(".wb-rank")).to_have_text("no. 1 by a rough model")
    assert "×" not in page.locator(".wb-ways").inner_text(), "ranks are shown, never factors"
    best.get_by_role("button", name="Use").click()
    expect(box(harness, "j_1")).to_contain_text("vectorized")
    assert primitives(editor) == ["split", "reorder", "vectorize"] and "sch.vectorize(l4)" in editor.code


def test_shapes_and_signs_tell_the_two_apart_in_the_dark_too(harness: Harness) -> None:
    from tests.schedule.programs import plain_matmul
    from workbench.schedule import Schedule
    from workbench.ui.schedule import ScheduleEditor

    harness.show(ScheduleEditor(Schedule(plain_matmul(512, 512, 256))), dark=True)
    box(harness, "k").click()
    harness.page.get_by_role("button", name="What instead of parallel?").click()
    picture = harness.page.locator(".wb-w-picture")
    expect(picture.locator("rect.wb-w-one")).to_have_count(1)
    expect(picture.locator("polygon.wb-w-two")).to_have_count(1)
    expect(picture.locator(".wb-w-sign")).to_have_text(["1", "2"])


def test_the_drawing_keeps_its_size_in_a_narrow_pane(harness: Harness) -> None:
    """It was drawn smaller, down to letters of six pixels; now it is moved in its frame."""
    from tests.schedule.programs import plain_matmul
    from workbench.schedule import Schedule
    from workbench.ui.schedule import ScheduleEditor

    harness.page.set_viewport_size({"width": 640, "height": 800})
    harness.show(ScheduleEditor(Schedule(plain_matmul(512, 512, 256))))
    box(harness, "k").click()
    harness.page.get_by_role("button", name="What instead of parallel?").click()
    picture = harness.page.locator(".wb-w-picture")
    expect(picture).to_be_visible()
    drawn = picture.bounding_box()
    assert drawn is not None and drawn["width"] == float(picture.get_attribute("width") or 0)
    tall = picture.locator(".wb-w-tick").first.bounding_box()
    assert tall is not None and tall["height"] >= 9
