"""A screen asked as its page asks it, and a kernel that is gone."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.ui import changes
from workbench.ui.screen import Screen


def ask(screen: Screen, op: str, **args: Any) -> Any:
    """The view that a command answers with; long ones come packed."""
    reply = screen.ask(op, **args)
    assert reply.content["ok"], reply.content["err"]
    return reply.view()


def refused(screen: Screen, op: str, **args: Any) -> dict[str, Any]:
    """The error that a command is refused with."""
    reply = screen.ask(op, **args).content
    assert not reply["ok"], reply
    return reply["err"]


def restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel that did what was done so far is gone."""
    monkeypatch.setattr(changes, "is_alive", lambda told: False)
