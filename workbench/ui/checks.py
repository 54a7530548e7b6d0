"""Badges of a background check on a page: start, look, cancel, narrow down, save the test.

Invariant: what takes long runs in threads of its own, and pages hear of it at most ten times a second, from the
thread whose loop answers them: a comm belongs to that thread alone.

    commands = ChecksCommands(lambda: session, {"x": photo}, announce)
    commands.table()          # "checks.start", "checks.state", "checks.cancel", "checks.narrow", "checks.save_test"
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench.core.errors import WorkbenchError
from workbench.driver.checking import BackgroundCheck
from workbench.ui.protocol import Answer, argument
from workbench.ui.screen import Screen
from workbench.views.checks import ChecksView, checks_view, nothing_checked
from workbench.views.schema import ErrorView

if TYPE_CHECKING:
    from workbench.driver.session import Session

APART_SECONDS: Final = 0.1
"""Between two announcements."""
_NAME_LIMIT: Final = 200


class ChecksCommands:
    """The commands of a pane of badges; `announce` tells the pages that there is something new."""

    def __init__(
        self,
        session: Callable[[], Session],
        inputs: Callable[[], Mapping[str, Any]] | None,
        announce: Callable[[], None],
    ) -> None:
        """`inputs` gives what a check that a page starts runs on; None where only cells start one."""
        self._session, self._inputs = session, inputs
        self._teller = _Teller(announce)
        self._check: BackgroundCheck | None = None
        self._narrowing = ""
        self._saving = ""
        self._saved = ""
        self._problem: ErrorView | None = None
        self._number = 0

    @property
    def check(self) -> BackgroundCheck | None:
        """The check shown; assigning one that a cell has started shows that."""
        return self._check

    @check.setter
    def check(self, check: BackgroundCheck) -> None:
        if self._check is not None and self._check is not check:
            self._check.cancel()
        self._check, self._narrowing, self._saving, self._saved, self._problem = check, "", "", "", None
        check.watch(lambda: self._changed(check))
        self._teller.here()
        self._changed(check)

    def table(self) -> dict[str, Callable[[dict[str, Any]], Answer]]:
        """The commands by name."""
        return {
            "checks.start": self._start,
            "checks.state": lambda args: self._answer(),
            "checks.cancel": self._cancel,
            "checks.narrow": self._narrow,
            "checks.save_test": self._save,
        }

    def view(self) -> ChecksView:
        """What is known now."""
        if self._check is None:
            session = self._session()
            return nothing_checked(session.labels, session.heading)
        found = checks_view(
            self._check, narrowing=self._narrowing, saving=self._saving, saved=self._saved, number=self._number
        )
        if self._problem is None:
            return found
        fields = {name: getattr(found, name) for name in found.__slots__}
        return ChecksView(**{**fields, "error": self._problem})

    def _answer(self) -> Answer:
        self._teller.here()
        return Answer("", self.view())

    def _changed(self, check: BackgroundCheck) -> None:
        """Something became known; called from any thread."""
        if check is self._check:
            self._number += 1
            self._teller.tell()

    # --- commands ---

    def _start(self, args: dict[str, Any]) -> Answer:
        if self._inputs is None:
            raise WorkbenchError(
                "E-CHECK-INPUTS", "there are no inputs to check with", fix='check = s.check({"x": array}) in a cell',
            )  # fmt: skip
        self._teller.here()
        self.check = self._session().check(self._inputs())
        return self._answer()

    def _cancel(self, args: dict[str, Any]) -> Answer:
        self._running().cancel()
        return self._answer()

    def _narrow(self, args: dict[str, Any]) -> Answer:
        check, step = self._idle(), argument(args, "step", str)[:_NAME_LIMIT]
        self._narrowing = step
        self._apart(check, lambda: check.narrow(step))
        return self._answer()

    def _save(self, args: dict[str, Any]) -> Answer:
        check, step = self._idle(), argument(args, "step", str)[:_NAME_LIMIT]
        name = "".join(letter if letter.isalnum() else "_" for letter in step).strip("_").lower()
        path = Path(f"test_{name}.py")

        def save() -> None:
            check.save_test(path, step)
            self._saved = str(path.absolute())

        self._saving = step
        self._apart(check, save)
        return self._answer()

    def _running(self) -> BackgroundCheck:
        if self._check is None:
            raise WorkbenchError("E-CHECK-NONE", "nothing is being checked", fix='check = s.check({"x": array})')
        return self._check

    def _idle(self) -> BackgroundCheck:
        """The check, at rest."""
        check = self._running()
        busy = self._narrowing or self._saving
        if busy or check.state == "running":
            said = f"{busy} is being looked into" if busy else "the check still runs"
            raise WorkbenchError("E-CHECK-BUSY", said, fix="wait for it")
        return check

    def _apart(self, check: BackgroundCheck, work: Callable[[], object]) -> None:
        """Do what takes seconds in a thread; what is wrong with it is shown."""
        self._teller.here()
        self._problem = None

        def run() -> None:
            problem: ErrorView | None = None
            try:
                work()
            except WorkbenchError as error:
                problem = ErrorView.of(error)
            except Exception as error:
                problem = ErrorView("E-INTERNAL", "the workbench itself failed at this", found=repr(error)[:200])
            if check is self._check:
                self._narrowing, self._saving, self._problem = "", "", problem
            self._changed(check)

        threading.Thread(target=run, name="looking for what is wrong", daemon=True).start()


class _Teller:
    """Calls `announce` in the thread of the loop that was running when `here` was called, at most every 0.1 s."""

    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce = announce
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._due = False

    def here(self) -> None:
        """The loop that runs in this thread is the one that announces; without one, pages ask by themselves."""
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            return

    def tell(self) -> None:
        with self._lock:
            due, self._due = self._due, self._loop is not None
        if due or self._loop is None:
            return
        try:
            self._loop.call_soon_threadsafe(self._later)
        except RuntimeError:  # the loop is closed: nobody is there to be told
            self._loop = None

    def _later(self) -> None:
        assert self._loop is not None
        self._loop.call_later(APART_SECONDS, self._now)

    def _now(self) -> None:
        with self._lock:
            self._due = False
        self._announce()


class ChecksScreen(Screen):
    """The badges of one check as a screen of their own."""

    def __init__(self, check: BackgroundCheck) -> None:
        inputs = check.inputs
        self._commands = ChecksCommands(lambda: check.session, lambda: inputs, lambda: self.announce("checks"))
        super().__init__("checks", self._commands.table())
        self._commands.check = check

    @property
    def check(self) -> BackgroundCheck:
        """The check shown: the last one that the page or a cell has started."""
        found = self._commands.check
        assert found is not None
        return found

    @check.setter
    def check(self, check: BackgroundCheck) -> None:
        self._commands.check = check
