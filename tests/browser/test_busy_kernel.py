"""Screens whose kernel is at work on other cells, or gone: they say so, and are drawn when it answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.fakes import FakePipeline
from tests.browser.harness import Harness
from workbench.ui.pipeline import PipelineStepper


@pytest.fixture
def harness(context: BrowserContext) -> Iterator[Harness]:
    """In a context of its own, which has a clock of its own."""
    harness = Harness(context.new_page())
    yield harness
    assert harness.foreign == [] and harness.errors == []


WAITING = "Waiting for the kernel"


def test_a_busy_kernel_is_waited_for_whatever_it_takes(harness: Harness) -> None:
    """After a minute the screen was dead, and stayed so when the answer came."""
    page = harness.page
    page.clock.install(time=0)
    page.clock.pause_at(1_000)  # it goes on by `fast_forward` alone, however long the page takes to open
    harness.busy = True
    harness.begin(PipelineStepper(FakePipeline()))
    harness.wait_until(lambda: bool(harness._held), "the bundle is asked for")
    page.clock.fast_forward(3_000)
    expect(page.locator("#screen")).to_be_empty()
    page.clock.fast_forward(600_000)
    expect(page.locator("#screen")).to_contain_text(WAITING)
    page.clock.resume()
    harness.answer_held()
    expect(page.get_by_role("option")).to_have_count(12)
    expect(page.locator("#screen")).not_to_contain_text(WAITING)
    assert harness.errors == []


def test_a_screen_does_not_wait_for_what_a_dead_kernel_was_asked(harness: Harness) -> None:
    """All screens of a page share one bundle: where the first that asked gets none, the next asks itself."""
    page = harness.page
    page.clock.install()
    harness.busy = True
    screen = PipelineStepper(FakePipeline())
    harness.begin(screen)
    page.clock.fast_forward(10_000)
    expect(page.locator("#screen")).to_contain_text(WAITING)
    harness.busy = False  # a new kernel; the cell is run again
    page.evaluate("traits => void window.show(traits)", {"kind": screen.kind, "bundle_hash": screen.bundle_hash})
    page.clock.fast_forward(10_000)
    expect(page.get_by_role("option")).to_have_count(12)
    assert harness.operations()[0] == "bundle" and harness.errors == []


def test_what_the_kernel_refuses_is_told(harness: Harness) -> None:
    page = harness.page
    harness.busy = True
    harness.begin(PipelineStepper(FakePipeline()))
    harness.wait_until(lambda: bool(harness._held), "the bundle is asked for")
    content = {"id": harness._held[0]["id"], "ok": False, "err": {"message": "no such file"}}
    refused = {"content": content, "buffers": []}
    page.evaluate("answer => window.model.deliver(answer)", refused)
    expect(page.locator("#screen")).to_contain_text("cannot be shown here (no such file)")
