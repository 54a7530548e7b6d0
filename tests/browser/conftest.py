"""A headless Chromium for all browser tests, and a page of its own for each."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Playwright, expect, sync_playwright

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.pages import ARGUMENTS, new_page
from tests.browser.shown import Shown, opened
from workbench.core.transform import PASSES

HERE = Path(__file__).parent
PATIENCE = 20_000
"""Milliseconds that a test waits for what it expects: a machine may do other things as well."""
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Of one engine; the first has no window to draw beside the page, and takes a tenth less time for all these tests."""
HOW_TO_INSTALL = "the browser tests need Chromium: apt-get install -y --no-install-recommends chromium-headless-shell"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(180))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """A failure tells what page and kernel said last: one that is seen once has to be understood from its report."""
    report = yield
    given = getattr(item, "funcargs", {})
    harness = given.get("harness") or getattr(given.get("shown"), "harness", None)
    if report.failed and call.when == "call" and isinstance(harness, Harness):
        report.sections.append(("page", harness.told()))
    return report


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as found:
        yield found


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.fail(HOW_TO_INSTALL, pytrace=False)
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *ARGUMENTS]
    browser = playwright.chromium.launch(executable_path=path, args=arguments, timeout=40_000)
    yield browser
    browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, device_scale_factor=1)
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


@pytest.fixture
def harness(browser: Browser) -> Iterator[Harness]:
    harness = Harness(new_page(browser, patience=PATIENCE))
    yield harness
    harness.page.close()
    assert harness.foreign == [], "the page asked for something elsewhere"
    assert harness.errors == []


@pytest.fixture(scope="session")
def efficientnet() -> Any:
    """EfficientNet-lite0, opened once: sessions are values, and what one test computes the next one finds."""
    return wb.open(str(HERE.parents[1] / "notebooks" / "data" / "efficientnet_lite0.onnx"))


@pytest.fixture(scope="module")
def shown(browser: Browser, efficientnet: Any) -> Iterator[Shown]:
    """The screen on EfficientNet-lite0, one for all tests of a file."""
    with opened(browser, efficientnet) as shown:
        yield shown


@pytest.fixture
def refusing() -> Iterator[str]:
    """The name of a graph pass that fails."""

    @wb.relay.transform.function_pass(opt_level=0, name="RefusesAll")
    def RefusesAll(function: wb.relay.Function, mod: wb.IRModule, ctx: object) -> wb.relay.Function:
        raise wb.WorkbenchError("E-TESTS-REFUSED", "this pass takes nothing")

    yield "RefusesAll"
    PASSES.remove("RefusesAll")
