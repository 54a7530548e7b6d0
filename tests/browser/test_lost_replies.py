"""A reply that is lost on its way: after a while the screen says that none came, and what was typed is there still."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.test_pipeline_edits import typed
from tests.ui.test_changes import of_matmul
from workbench import relay
from workbench.ui.workbench import Workbench

NO_ANSWER = "the kernel has not answered this"


@pytest.fixture
def harness(context: BrowserContext) -> Iterator[Harness]:
    """In a context of its own, which has a clock of its own."""
    harness = Harness(context.new_page())
    harness.page.clock.install()
    yield harness
    assert harness.foreign == [] and harness.errors == []


def edited(harness: Harness) -> Workbench:
    """A screen on which a text was changed, and not applied yet."""
    x = relay.var("x", shape=(3, 4), dtype="float32")
    screen = Workbench(wb.open(relay.Function([x], relay.nn.relu(relay.add(x, relay.const(np.float32(0)))))))
    harness.show(screen)
    page = harness.page
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="InferType").click()
    page.get_by_role("button", name="Edit", exact=True).click()
    typed(harness, "nn.relu", "tanh")
    harness.asked_so_far()
    return screen


def test_a_text_whose_answer_is_lost_is_applied_again(harness: Harness) -> None:
    screen, page = edited(harness), harness.page
    before = screen.session
    harness.dropped = {"pipeline.edit"}
    apply = page.get_by_role("button", name="Apply")
    apply.click()
    harness.wait_until(lambda: "pipeline.edit" in harness.operations(), "the text is sent")
    harness.dropped = set()
    page.clock.fast_forward(20_000)
    expect(page.locator("body")).not_to_contain_text(NO_ANSWER)
    page.clock.fast_forward(20_000)
    expect(page.get_by_role("group", name="Edit the program")).to_contain_text(NO_ANSWER)
    assert "tanh" in page.locator(".cm-content").inner_text(), "what was typed"
    assert screen.session is before
    apply.click()
    harness.wait_until(lambda: screen.session is not before, "the text is applied")
    expect(page.locator(".wb-outline [role=option][aria-selected=true]")).to_contain_text("Edit")
    expect(page.locator("body")).not_to_contain_text(NO_ANSWER)


def test_a_busy_kernel_is_waited_for(harness: Harness) -> None:
    screen, page = edited(harness), harness.page
    before = screen.session
    harness.busy = True
    page.get_by_role("button", name="Apply").click()
    for _ in range(8):
        page.clock.fast_forward(60_000)
    asked = [message["op"] for message in harness._held]
    assert asked[0] == "pipeline.edit" and len(asked) < 8, asked
    expect(page.locator("body")).not_to_contain_text(NO_ANSWER)
    harness.answer_held()
    harness.wait_until(lambda: screen.session is not before, "the text is applied")
    expect(page.locator(".wb-outline [role=option][aria-selected=true]")).to_contain_text("Edit")
    expect(page.locator("body")).not_to_contain_text(NO_ANSWER)


def test_a_primitive_whose_answer_is_lost_can_be_asked_for_again(harness: Harness) -> None:
    screen, page = of_matmul(), harness.page
    harness.show(screen)
    loop = page.locator('[id$="-node-l:C:0"] > .wb-box-head')
    loop.click()
    harness.asked_so_far()
    harness.dropped = {"schedule.apply"}
    button = page.get_by_role("button", name="parallel", exact=True)
    button.click()
    harness.wait_until(lambda: "schedule.apply" in harness.operations(), "it is asked for")
    harness.dropped = set()
    page.clock.fast_forward(40_000)
    expect(page.get_by_role("alert")).to_contain_text(NO_ANSWER)
    loop.click()
    button.click()
    expect(loop).to_contain_text("parallel")
    assert len(screen.schedule.moves.done) == 1
