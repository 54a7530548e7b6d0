"""A page in which the two real halves of a screen talk without Jupyter: only the comm is stood in for."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error, Page

from workbench.ui.screen import Screen

HERE = Path(__file__).parent
STATIC = HERE.parents[1] / "workbench" / "ui" / "static"
ORIGIN = "http://workbench.test"
# What a strict page allows: our own scripts and Blob URLs, nothing from elsewhere.
POLICY = "default-src 'none'; script-src 'self' 'unsafe-inline' blob:; style-src 'unsafe-inline'; connect-src 'none'"


class Harness:
    """A page with one screen; `asked` holds every request, `foreign` every address beyond the page's own."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.asked: list[dict[str, Any]] = []
        self.foreign: list[str] = []
        self.errors: list[str] = []
        self.refused: list[str] = []
        """What the kernel refused: command, code and message."""
        self.screen: Screen | None = None
        self.busy = False
        """Whether the kernel is at work on other cells: what is asked meanwhile is answered by `answer_held`."""
        self.dropped: set[str] = set()
        """Commands that are lost on their way: they come to no kernel, and no answer comes back."""
        self._held: list[dict[str, Any]] = []
        self._since = self._after = ""
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.route("**/*", self._serve)

    def _serve(self, route: Any) -> None:
        url = route.request.url
        if url == f"{ORIGIN}/":
            headers = {"Content-Security-Policy": POLICY}
            route.fulfill(body=(HERE / "page.html").read_text(), content_type="text/html", headers=headers)
        elif url == f"{ORIGIN}/stub.js":
            route.fulfill(body=(STATIC / "stub.js").read_text(), content_type="text/javascript")
        elif url == f"{ORIGIN}/widgets.js":
            route.fulfill(body=(STATIC / "widgets.js").read_text(), content_type="text/javascript")
        elif url.startswith(("blob:", "data:")):
            route.continue_()
        else:
            self.foreign.append(url)
            route.abort()

    def show(self, screen: Screen, dark: bool = False) -> None:
        """Draw the screen, through the stub and the bundle that it fetches, as a notebook does."""
        self.begin(screen, dark)
        self.page.wait_for_selector(".wb")

    def begin(self, screen: Screen, dark: bool = False) -> None:
        """As `show`, without waiting until something is drawn."""
        self.screen = screen
        pushed = screen.__dict__.setdefault("_pushed", [])
        object.__setattr__(screen, "send", lambda content, buffers=None: pushed.append((content, buffers)))
        self.page.expose_function("kernel", self._answer)
        self.page.goto(f"{ORIGIN}/")
        self.until_ready()
        self.page.evaluate("localStorage.clear()")  # drafts of other tests
        if dark:
            self.page.evaluate("void document.body.classList.add('dark')")
        traits = {"kind": screen.kind, "bundle_hash": screen.bundle_hash}
        self.page.evaluate("traits => void window.show(traits)", traits)

    @contextmanager
    def held(self, since: str = "", after: str = "") -> Iterator[None]:
        """The kernel is at work on other cells, and has time again after it, whatever happens: screens are shared.

        `since`: a command that it takes long for; what is asked before that one is answered.
        `after`: a command that it answers at once; what is asked after that one is not answered.
        """
        assert not (since and after), "it is held from one command on, or behind one"
        self.busy, self._since, self._after = not (since or after), since, after
        try:
            yield
        finally:
            self.answer_held()

    def answer_held(self) -> None:
        """The kernel has time again: it answers in the order it was asked in."""
        self._since = self._after = ""
        try:
            while self._held:  # what the page asks meanwhile comes behind these
                answer = self._reply(self._held.pop(0))
                if answer is not None:
                    self.page.evaluate("answer => window.model.deliver(JSON.parse(answer))", answer)
        finally:
            self._held.clear()
            self.busy = False

    def _answer(self, message: dict[str, Any]) -> str | None:
        self.busy = self.busy or message["op"] == self._since
        if self.busy:
            self._held.append(message)
            return None
        self.busy = message["op"] == self._after  # what comes behind this one is not answered
        return self._reply(message)

    def _reply(self, message: dict[str, Any]) -> str | None:
        """The reply as a kernel sends it: JSON, and buffers (playwright's own form of a value takes much longer)."""
        assert self.screen is not None
        self.asked.append(message)
        if message["op"] in self.dropped:
            return None
        reply = self.screen._dispatcher.handle(message)
        if reply is None:
            return None
        if not reply.content["ok"]:
            self.refused.append(f"{message['op']}: {reply.content['err']['code']} {reply.content['err']['message']}")
        buffers = [base64.b64encode(b).decode() for b in reply.buffers]
        return json.dumps({"content": reply.content, "buffers": buffers}, allow_nan=False)

    def push(self) -> None:
        """Deliver what the kernel has sent on its own accord."""
        assert self.screen is not None
        pushed: list[Any] = self.screen.__dict__["_pushed"]
        while pushed:
            content, _ = pushed.pop(0)
            self.page.evaluate("m => window.model.deliver({content: m, buffers: []})", content)

    def told(self) -> str:
        """What page and kernel said last, for the report of a failure: what matters most comes last, where cuts are.

        A page that hangs is not waited for.
        """
        look = "body => [body.querySelector('.wb')?.innerText.slice(0, 1500), window.pressed]"
        try:
            drawn, pressed = self.page.locator("body").evaluate(look, timeout=3_000)
        except Error as error:
            drawn, pressed = f"not to be read: {error.message}", []
        rows = {
            "drawn": drawn, "errors": self.errors[-5:], "refused": self.refused[-5:],
            "held": [message["op"] for message in self._held], "asked last": self.operations()[-25:],
            "pressed last": pressed,
        }  # fmt: skip
        return "\n".join(f"{name}: {found}" for name, found in rows.items())

    def operations(self) -> list[str]:
        return [message["op"] for message in self.asked]

    def asked_so_far(self, quiet: float = 0.4, seconds: float = 15.0) -> int:
        """How many requests there were, once none has come for `quiet` seconds: later ones are what the test does."""
        count, left = -1, int(seconds / quiet)
        while (count != len(self.asked) or self._links_to_come()) and left:
            count, left = len(self.asked), left - 1
            self.page.wait_for_timeout(quiet * 1000)
        assert left, f"the page asks on and on: {self.operations()[-8:]}"
        return count

    def _links_to_come(self) -> bool:
        """Whether the page will ask for the links of machine code, since nothing changes any more."""
        links = [message["args"] for message in self.asked if message["op"] == "links"]
        return bool(links) and links[-1].get("native") is False

    def until_ready(self) -> None:
        """The page has begun.  (A policy without unsafe-eval lets `Page.wait_for_function` ask once, and no more.)"""
        self.wait_until(lambda: bool(self.page.evaluate("window.ready === true")), "the page is ready")

    def wait_until(self, condition: Callable[[], bool], what: str, seconds: float = 10.0) -> None:
        for _ in range(int(seconds / 0.02)):
            if condition():
                return
            self.page.wait_for_timeout(20)
        pytest.fail(f"did not happen in {seconds} s: {what}")
