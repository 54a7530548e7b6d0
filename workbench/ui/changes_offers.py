"""Whom saved changes are offered to: what one screen has left to one other screen.

Invariant: of the screens of this process, and among those of processes that run, one at a time is offered a file.

    saved = taken(store, store.found(key), changes)     # `changes.withdraw()` is called where another screen takes it
    given_up(saved, changes)                            # it was answered
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol
from weakref import WeakValueDictionary

from workbench.core.host import is_alive, this_process
from workbench.ui.changes_store import ChangesStore, Saved


class Holder(Protocol):
    """What a screen that is offered something keeps of it."""

    def withdraw(self) -> None:
        """Another screen is offered it now."""
        ...


_HOLDERS: Final = WeakValueDictionary[Path, Holder]()


def taken(store: ChangesStore, found: Sequence[Saved], holder: Holder) -> Saved | None:
    """The first that no screen is offered; where there is none, the first that one of this process is offered.

    A cell that is run again makes another screen, and the one before has no page any more: nothing tells so.
    """
    found = [one for one in found if not _of_another(one)]
    free = [one for one in found if one.path not in _HOLDERS]
    chosen = next(iter(free or found), None)
    if chosen is None:
        return None
    before = _HOLDERS.get(chosen.path)
    _HOLDERS[chosen.path] = holder
    if before is not None and before is not holder:
        before.withdraw()
    store.claim(chosen, this_process())
    return chosen


def notebook() -> str:
    """The path of the notebook or document that the kernel was started for, as JupyterLab tells it; else empty."""
    return os.environ.get("JPY_SESSION_NAME", "")


def of_another_notebook(told: Any) -> bool:
    """Whether changes were made in another notebook than this one, which is still there: it offers them itself."""
    known = isinstance(told, str) and bool(told) and bool(notebook())
    return known and told != notebook() and os.path.exists(told)


def answers(saved: Saved, holder: Holder) -> bool:
    """Whether a screen may answer for a file: no other one is offered it."""
    return _HOLDERS.get(saved.path, holder) is holder and not _of_another(saved)


def given_up(saved: Saved, holder: Holder) -> None:
    """The screen is offered it no longer."""
    if _HOLDERS.get(saved.path) is holder:
        del _HOLDERS[saved.path]


def _of_another(saved: Saved) -> bool:
    """Whether a screen of another process, which runs, is offered it."""
    claimed = saved.document.get("offered")
    return claimed != this_process() and is_alive(claimed)
