"""A kernel in two branches: the page compares, measures and goes on with the one that does the same, by any name."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from workbench import relay
from workbench.ui.workbench import Workbench

NAME = "fused_nn_conv2d_clip"


def clipped(*limits: float) -> relay.Function:
    """Equal convolutions with a clip behind each, then the other order of axes."""
    weights = relay.const(np.ones((4, 4, 3, 3), np.float32))
    y = x = relay.var("x", shape=(1, 4, 8, 8))
    for limit in limits:
        y = relay.clip(relay.nn.conv2d(y, weights, padding=(1, 1)), a_min=0.0, a_max=limit)
    return relay.Function([x], relay.transpose(y, axes=(0, 2, 3, 1)))


def comparing(harness: Harness, one: wb.Session, shown: wb.Session, kernel: str) -> Locator:
    """A pane that shows the fused graph of a session beside that of another one."""
    screen = Workbench(one)
    screen.session = shown
    harness.show(screen)
    page = harness.page
    page.get_by_role("navigation", name="Layers").get_by_role("button", name="Fused").click()
    page.get_by_role("region", name="pane B").get_by_role("combobox", name="Kernel").select_option(kernel)
    pane = page.get_by_role("region", name="pane A")
    pane.get_by_role("button", name="Compare").click()
    beside = pane.get_by_role("combobox", name="Branch to compare with")
    beside.select_option(str(list(shown.branches).index(one)))
    expect(pane.get_by_role("status")).to_have_text("not measured → not measured")
    return pane


def measured(harness: Harness) -> list[dict[str, Any]]:
    return [message["args"] for message in harness.asked if message["op"] == "measure"]


def test_both_kernels_are_measured_that_do_the_same_whatever_the_layer_shown(harness: Harness) -> None:
    """Of graphs, the kernel of the same name was measured in the other branch, which was another one."""
    session = wb.open(clipped(6.0, 6.0, 5.0))
    edited = session.edit(relay=session.relay.script().replace("a_max=6.0", "a_max=3.0", 1))
    pane = comparing(harness, session, edited, f"{NAME}_2")
    expect(pane.locator("code", has_text=re.compile(f"^{NAME}_1$"))).to_be_visible()
    pane.get_by_role("button", name="Measure both").click()
    expect(pane.get_by_role("status")).to_contain_text(re.compile(r"[µm]s → .*[µm]s"), timeout=20_000)
    assert measured(harness) == [{"kernel": f"{NAME}_1", "number": 0}, {"kernel": f"{NAME}_2", "number": 1}]


def test_what_no_kernel_of_the_other_branch_does_is_not_measured(harness: Harness) -> None:
    """The kernel of the same name was, or there was none."""
    session = wb.open(clipped(6.0))
    text = session.relay.script()
    without = re.sub(r"v1 = fused_transpose\(v0\)\s+return v1", "return v0", text)
    assert without != text
    pane = comparing(harness, session.edit(relay=without), session, "fused_transpose")
    both = pane.get_by_role("button", name="Measure both")
    expect(both).to_be_disabled()
    expect(both).to_have_attribute("title", "No kernel of that branch does this.")
    expect(pane.get_by_text("No kernel of that branch does this.")).to_be_visible()
    pane.page.get_by_role("region", name="pane B").get_by_role("combobox", name="Kernel").select_option(NAME)
    expect(both).to_be_enabled()
    assert measured(harness) == []


def test_the_kernel_read_stays_the_convolution_when_its_clip_leaves_it(harness: Harness) -> None:
    """The page went on to the clip: the convolution's kernel serves two calls then, and calls counted alike."""
    harness.show(Workbench(wb.open(clipped(6.0, 5.0)), at=f"A=fused.graph&B=schedule.text&in=A&kernel={NAME}"))
    page = harness.page
    kernel = page.get_by_role("region", name="pane B").get_by_role("combobox", name="Kernel")
    expect(kernel).to_have_value(NAME)
    page.get_by_role("navigation", name="Layers").get_by_role("button", name="Relay").click()
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="FuseOps").click()
    page.get_by_role("button", name="Leave out").click()
    harness.push()
    expect(kernel).to_have_value("fused_nn_conv2d")


def edited(session: wb.Session, limit: float) -> wb.Session:
    """With the first clip at another limit."""
    return session.edit(relay=re.sub(r"a_max=[\d.]+", f"a_max={limit}", session.relay.script(), count=1))


def test_a_chosen_branch_stays_whatever_is_changed_until_it_is_gone(harness: Harness) -> None:
    """The next change put the branch before that change in its place."""
    session = wb.open(clipped(6.0))
    one, two, three = (edited(session, limit) for limit in (1.0, 2.0, 3.0))
    kernel = two.kernels[0]
    pane = comparing(harness, one, two, kernel)
    screen = harness.screen
    assert isinstance(screen, Workbench)
    beside = pane.get_by_role("combobox", name="Branch to compare with")
    expect(beside).to_have_value("1")
    shown = pane.page.get_by_role("combobox", name="Branch", exact=True)
    for number, other in ((3, three), (4, edited(session, 4.0))):
        screen.session = other
        harness.push()
        expect(shown).to_have_value(str(number))
        expect(beside).to_have_value("1")
        expect(pane.locator(".wb-diff")).to_contain_text("a_max=1")
    pane.page.get_by_role("button", name="Branches").click()
    whole = pane.page.get_by_role("combobox", name="Branch beside the one shown")
    expect(whole).to_have_value("1")
    whole.select_option("2")
    expect(beside).to_have_value("2")
    screen.session = wb.open(clipped(5.0))
    harness.push()
    expect(pane.get_by_text("The chosen branch is gone: it was of another program.")).to_be_visible()
    expect(beside).to_have_value("0")
    beside.select_option("0")
    expect(pane.get_by_text("The chosen branch is gone")).to_have_count(0)


def test_where_nobody_chose_the_branch_shown_before_stands_beside_whoever_made_the_next(harness: Harness) -> None:
    """A cell's branch is told of before the program is drawn: its number seemed to be the one shown before."""
    first = wb.open(clipped(6.0))
    screen = Workbench(first)
    harness.show(screen)
    shown = harness.page.get_by_role("combobox", name="Branch", exact=True)
    for number in (1, 2, 3):
        screen.session = edited(screen.session, 6.0 - number)
        harness.push()
        expect(shown).to_have_value(str(number))
        harness.asked_so_far()
        pane = harness.page.get_by_role("region", name="pane A")
        pane.get_by_role("button", name="Compare").click()
        expect(pane.get_by_role("combobox", name="Branch to compare with")).to_have_value(str(number - 1))
        pane.get_by_role("button", name="Graph", exact=True).click()
