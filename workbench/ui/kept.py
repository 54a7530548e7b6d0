"""The outputs that a notebook keeps beside a live screen, and how they follow what is done on it.

A page that has lost its kernel shows "model not found" in place of a widget, whatever else that output holds; so the
snapshot stands in outputs of its own.  Where the screen is live, its style hides them (`.wb-kept`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from typing import Any, Final
from uuid import uuid4

from workbench.core.errors import WorkbenchError
from workbench.views.snapshot import Snapshot
from workbench.views.strings.tables import say

_PAUSE: Final = 2.0
"""Seconds without a request after which the notebook's outputs follow: nobody waits for them."""
_DISPLAYS: Final = 8
"""Times that a screen was displayed whose outputs follow: the last ones."""


@dataclass
class _Displayed:
    """The outputs of one time that the screen was displayed."""

    ids: list[str]
    shown: Any
    """The key of what they show."""

    def bring(self, outputs: list[dict[str, str]], shown: Any) -> None:
        """Show others in their place."""
        from IPython.display import update_display

        self.shown = shown
        for number, name in enumerate(self.ids):
            bundle = outputs[number] if number < len(outputs) else {"text/plain": ""}
            update_display(bundle, raw=True, display_id=name)


class Kept:
    """The snapshot of one screen; `key()` says what it depends on, so that it is made again only where that differs."""

    def __init__(
        self, title: Callable[[], str], make: Callable[[], Snapshot], key: Callable[[], Any] = lambda: None
    ) -> None:
        self._title, self._make, self._key = title, make, key
        self.alone = RLock()
        """Held while the screen is looked at; the screen puts its own here."""
        self._displayed: deque[_Displayed] = deque(maxlen=_DISPLAYS)
        """What is in the notebook, once for each time that the screen was displayed."""
        self._made: Any = None
        """The key of the outputs that were made last."""
        self._waiting: asyncio.TimerHandle | None = None

    @property
    def told(self) -> str:
        """What stands for the live view where widgets are not shown."""
        return say.snapshot.live(self._title())

    def outputs(self) -> list[dict[str, str]]:
        """What the notebook keeps of the screen as it is now."""
        with self.alone:
            self._made = self._key()
            return self.snapshot().outputs()

    def display(self, outputs: list[dict[str, str]]) -> None:
        """Put them into the notebook, right behind the live view: pages hide them there."""
        from IPython.display import display

        ids = [uuid4().hex for _ in outputs]
        self._displayed.append(_Displayed(ids, self._made))
        for bundle, name in zip(outputs, ids, strict=True):
            display(bundle, raw=True, display_id=name)

    def snapshot(self) -> Snapshot:
        """The screen as it is now; never an error, since a screen must show all the same."""
        try:
            return self._make()
        except WorkbenchError as error:
            return Snapshot.of_text("workbench", str(error))

    def follow(self) -> bool:
        """Bring the outputs up to date; whether that was needed.  While the screen is at work, later."""
        if not self.alone.acquire(blocking=False):
            self.soon()
            return False
        try:
            now = self._key()
            behind = [one for one in self._displayed if one.shown != now]
            outputs = self.outputs() if behind else []
        finally:
            self.alone.release()
        for one in behind:
            one.bring(outputs, now)
        return bool(behind)

    def soon(self) -> None:
        """Follow when nothing has been asked for a while."""
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        if not self._displayed:
            return
        try:
            self._waiting = asyncio.get_running_loop().call_later(_PAUSE, self.follow)
        except RuntimeError:  # no event loop: not in a notebook's kernel
            return
