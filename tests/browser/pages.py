"""Pages for screens, in one context and one process of the browser: to start one takes longer than most tests.

    page = new_page(browser)          # of a size of its own; close it when it is done with

Clocks, permissions and storage are a context's.  A test that touches those takes the fixture `context`.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.harness import ORIGIN

ARGUMENTS = ("--process-per-site",)
"""What the browser is started with, so that pages of one site are in one process, as long as one of them is open."""
LIGHTS = [pytest.param(False, id="light"), pytest.param(True, id="dark", marks=pytest.mark.nightly)]
"""Values of `dark`: a state of the screen in the light colours in every run, in the dark ones too at night."""
_shared: WeakKeyDictionary[Browser, BrowserContext] = WeakKeyDictionary()


def new_page(browser: Browser, width: int = 1280, height: int = 800, patience: float = 20_000) -> Page:
    """A page that waits `patience` milliseconds for what a test expects."""
    if browser not in _shared:
        _shared[browser] = browser.new_context(device_scale_factor=1)
        stays = _shared[browser].new_page()
        stays.route("**/*", lambda route: route.fulfill(body="", content_type="text/html"))
        stays.goto(f"{ORIGIN}/")
    page = _shared[browser].new_page()
    page.set_viewport_size({"width": width, "height": height})
    page.set_default_timeout(patience)
    return page
