"""The sessions, schedules and screens that variables hold, for the side panel of JupyterLab.

    named(globals())      # base64 of JSON: [{"name": "s", "kind": "session", "title": "a.onnx", "told": "23 steps"}]
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from workbench.driver.session import Session
from workbench.schedule.schedule import Schedule
from workbench.ui.workbench import Workbench
from workbench.views.strings.tables import say

_MOST: Final = 200
_LONG: Final = 200
"""Characters of a title."""


def named(namespace: Mapping[str, Any]) -> str:
    """The variables in their order, as base64 of JSON: what travels as a repr must hold no quotes."""
    found = [one for one in (_asked(name, value) for name, value in list(namespace.items())) if one is not None]
    return base64.b64encode(json.dumps(found[:_MOST]).encode()).decode()


def _asked(name: str, value: Any) -> dict[str, str] | None:
    """A variable may hold anything: an object that stands for another (`flask.request`) may refuse to say its class."""
    try:
        return _told(name, value)
    except Exception:
        return None


def _told(name: str, value: Any) -> dict[str, str] | None:
    if name.startswith("_"):
        return None
    if isinstance(value, Session):
        return _one(name, "session", value.heading, say.session.steps_done(len(value)))
    if isinstance(value, Schedule):
        return _one(name, "schedule", value.func_working_on, say.session.moves_done(len(value.moves.done)))
    if isinstance(value, Workbench):
        return _one(f"{name}.session", "screen", value.session.heading, say.session.on_a_screen)
    return None


def _one(name: str, kind: str, title: str, told: str) -> dict[str, str]:
    return {"name": name, "kind": kind, "title": title[:_LONG], "told": told}
