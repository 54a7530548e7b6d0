"""Badges of a background check on a page: start, look, cancel, narrow down, save the test.

Invariant: what takes long runs in threads of its own, and pages hear of it at most ten times a second, from the
thread whose loop answers them: a comm belongs to that thread alone.

    commands = ChecksCommands(lambda: session, lambda: RunInputs({"x": photo}, "a photo"), announce)
    commands.table()          # "checks.start", "checks.state", "checks.cancel", "checks.narrow", "checks.save_test"
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from workbench.core.errors import WorkbenchError
from workbench.core.whole_file import free_path
from workbench.driver.checking import BackgroundCheck
from workbench.driver.history import identities
from workbench.ui.given import RunInputs
from workbench.ui.protocol import Answer, argument
from workbench.ui.screen import Screen
from workbench.ui.worked_out import Steady
from workbench.views.checks import ChecksView, checks_view, nothing_checked
from workbench.views.schema import ErrorView
from workbench.views.strings.tables import say

if TYPE_CHECKING:
    from workbench.driver.session import Session

APART_SECONDS: Final = 0.1
"""Between two announcements."""
REMEMBERED: Final = 4
"""Checks that are kept, each of another program or on other inputs."""
_NAME_LIMIT: Final = 200
_FILE_LIMIT: Final = 60
"""Characters of a step's name in that of a file."""


@dataclass
class _Checked:
    """The check of one program, and what is being done with it."""

    check: BackgroundCheck
    inputs: str
    narrowing: str = ""
    saving: str = ""
    saved: str = ""
    problem: ErrorView | None = None
    number: int = 0
    steady: Steady | None = None
    """How long the verdicts hold, once they are there."""


class ChecksCommands:
    """The commands of a pane of badges; `announce` tells the pages that there is something new.

    What was found out about a program is shown whenever that program is, with the inputs of then: after a change there
    are no badges, and after its undo the old ones are back.
    """

    def __init__(
        self,
        session: Callable[[], Session],
        inputs: Callable[[], RunInputs],
        announce: Callable[[], None],
        inputs_key: Callable[[], str] = str,
        alone: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        """`inputs` gives what a check that a page starts runs on; `inputs_key` the key of that alone, at no cost.

        A check that a cell has started belongs to the inputs that the screen had then; `alone` is held meanwhile.
        """
        self._session, self._inputs, self._inputs_key, self._alone = session, inputs, inputs_key, alone
        self._teller = _Teller(announce)
        self._checked: OrderedDict[tuple[str, str], _Checked] = OrderedDict()
        """By the program checked and the screen's inputs, the last one last."""

    @property
    def check(self) -> BackgroundCheck | None:
        """The check of the program shown; assigning one that a cell has started shows that."""
        with self._alone():
            shown = self._shown()
            return shown.check if shown is not None else None

    @check.setter
    def check(self, check: BackgroundCheck) -> None:
        with self._alone():
            self._take(check, say.checks.cell_inputs, self._inputs_key())

    def _take(self, check: BackgroundCheck, inputs: str, inputs_key: str) -> None:
        for checked in tuple(self._checked.values()):
            if checked.check is not check and checked.check.state == "running":
                checked.check.cancel()
        key = _program(check.session), inputs_key
        self._checked.pop(key, None)
        made = self._checked[key] = _Checked(check, inputs)
        while len(self._checked) > REMEMBERED:
            self._checked.popitem(last=False)[1].check.cancel()
        check.watch(lambda: self._changed(made))
        self._teller.here()
        self._changed(made)

    def _shown(self) -> _Checked | None:
        key = _program(self._session()), self._inputs_key()
        found = self._checked.get(key)
        if found is not None and found.steady is not None and not found.steady.holds():
            del self._checked[key]  # a user's operator or rule is another one now
            return None
        return found

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
        shown = self._shown()
        if shown is None:
            session = self._session()
            return nothing_checked(session.labels, session.heading)
        found = checks_view(
            shown.check, inputs=shown.inputs, narrowing=shown.narrowing, saving=shown.saving, saved=shown.saved,
            number=shown.number,
        )  # fmt: skip
        return found if shown.problem is None else replace(found, error=shown.problem)

    def _answer(self) -> Answer:
        self._teller.here()
        return Answer("", self.view())

    def _changed(self, checked: _Checked) -> None:
        """Something became known; called from any thread."""
        checked.number += 1
        if checked.check.state != "running" and checked.steady is None:
            checked.steady = Steady(checked.check.session)
        self._teller.tell()

    # --- commands ---

    def _start(self, args: dict[str, Any]) -> Answer:
        given = self._inputs()
        self._take(self._session().check(given.values), given.told, given.key)
        return self._answer()

    def _cancel(self, args: dict[str, Any]) -> Answer:
        self._running().check.cancel()
        return self._answer()

    def _narrow(self, args: dict[str, Any]) -> Answer:
        step, checked = argument(args, "step", str)[:_NAME_LIMIT], self._idle()
        checked.narrowing = step
        self._apart(checked, lambda: checked.check.narrow(step))
        return self._answer()

    def _save(self, args: dict[str, Any]) -> Answer:
        step, checked = argument(args, "step", str)[:_NAME_LIMIT], self._idle()
        name = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in step).strip("_").lower()

        def save() -> None:
            path = free_path(f"test_{name[:_FILE_LIMIT] or 'step'}.py", ".npz")
            checked.check.save_test(path, step)
            checked.saved = str(path.absolute())

        checked.saving = step
        self._apart(checked, save)
        return self._answer()

    def _running(self) -> _Checked:
        shown = self._shown()
        if shown is None:
            raise WorkbenchError("E-CHECK-NONE", "nothing is being checked", fix='check = s.check({"x": array})')
        return shown

    def _idle(self) -> _Checked:
        """The check, at rest."""
        checked = self._running()
        busy = checked.narrowing or checked.saving
        if busy or checked.check.state == "running":
            raise WorkbenchError(
                "E-CHECK-BUSY", f"{busy} is being looked into" if busy else "the check still runs", fix="wait for it"
            )
        return checked

    def _apart(self, checked: _Checked, work: Callable[[], object]) -> None:
        """Do what takes seconds in a thread; what is wrong with it is shown."""
        self._teller.here()
        checked.problem = None

        def run() -> None:
            problem: ErrorView | None = None
            try:
                work()
            except WorkbenchError as error:
                problem = ErrorView.of(error)
            except Exception as error:
                problem = ErrorView("E-INTERNAL", say.protocol.work_failed, found=repr(error)[:200])
            checked.narrowing, checked.saving, checked.problem = "", "", problem
            self._changed(checked)

        threading.Thread(target=run, name="workbench-checks", daemon=True).start()


def _program(session: Session) -> str:
    """What tells a session's program from others: its import and all its actions."""
    return identities(session.actions)[-1]


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
        except RuntimeError:  # the loop is closed: nobody is there to be told, until `here` finds another one
            self._loop = None
            with self._lock:
                self._due = False

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
        given = RunInputs(check.inputs, say.checks.cell_inputs)
        self._commands = ChecksCommands(
            lambda: check.session, lambda: given, lambda: self.announce("checks"),
            alone=lambda: self._dispatcher.one_at_a_time,
        )  # fmt: skip
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
