"""The list at the side: where it stands when the program changes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

import workbench as wb
from tests.browser.harness import Harness
from workbench import relay
from workbench.ui.workbench import Workbench

COUNT = 20
IN_SIGHT = """one => {
    const [box, list] = [one.getBoundingClientRect(), one.closest("[role=listbox]").getBoundingClientRect()];
    return list.top <= box.top + 1 && box.bottom <= list.bottom + 1;
}"""
ABOVE = """() => {
    document.body.insertAdjacentHTML("afterbegin", '<div style="height: 900px"></div>');
    scrollTo(0, 0);
}"""


def pooled() -> relay.Function:
    """As many kernels as there are sizes."""
    y = x = relay.var("x", shape=(1, 2, COUNT + 2, COUNT + 2), dtype="float32")
    for _ in range(COUNT):
        y = relay.nn.max_pool2d(y, pool_size=(2, 2))
    return relay.Function([x], y)


@pytest.mark.parametrize("width", [1400, 640])
def test_the_list_of_kernels_stays_where_it_is_when_the_program_changes(harness: Harness, width: int) -> None:
    """It went to its top, and what was chosen out of sight; on a narrow screen it was no list that scrolls at all."""
    session = wb.open(pooled())
    screen = Workbench(session, at="A=schedule.text&B=tir.text&in=A")
    page = harness.page
    page.set_viewport_size({"width": width, "height": 800})
    harness.show(screen)
    if width < 700:
        page.get_by_role("button", name="Outline").click()
    kernels = page.get_by_role("listbox", name="Kernels")
    expect(kernels.get_by_role("option")).to_have_count(COUNT, timeout=30_000)
    kernels.get_by_role("option").nth(COUNT - 3).click()
    chosen = kernels.get_by_role("option", selected=True)
    kernel = chosen.get_attribute("title") or ""
    expect(page.get_by_role("region", name="pane A").locator(".wb-text-row").first).to_be_visible()
    kernels.evaluate("one => { one.scrollTop += 20; }")
    page.evaluate(ABOVE)
    before = kernels.evaluate("one => one.scrollTop")
    assert before > 0 and chosen.evaluate(IN_SIGHT)
    strip, list_ = page.locator(".wb-strip").bounding_box(), kernels.bounding_box()
    assert strip and list_ and list_["y"] + list_["height"] <= strip["y"] + 1
    harness.asked_so_far()
    name = next(one for one in session.kernels if re.search(rf"\b{one}\b", kernel))
    text = session.tir[name].script()
    edited = text.replace('T.float32("-inf")', "-1000.0")
    assert edited != text
    asked = len(harness.asked)
    screen.session = session.edit(tir={name: edited})
    harness.push()
    harness.wait_until(lambda: "kernels" in harness.operations()[asked:], "the kernels are asked for again")
    expect(kernels.get_by_role("option")).to_have_count(COUNT)
    expect(chosen).to_have_attribute("title", kernel)
    assert kernels.evaluate("one => one.scrollTop") == before
    assert chosen.evaluate(IN_SIGHT)
    assert page.evaluate("scrollY") == 0, "the notebook stays where it is"
