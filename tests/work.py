"""How much work something does: calls of functions, counted by what Python itself tells of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls(action: Callable[[], Any], *functions: Any) -> int:
    """How often some functions (or methods, or classmethods) are called while `action` runs in this thread."""
    codes = {getattr(function, "__func__", function).__code__ for function in functions}
    found = 0

    def on_call(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal found
        found += event == "call" and frame.f_code in codes

    before = sys.getprofile()
    sys.setprofile(on_call)
    try:
        action()
    finally:
        sys.setprofile(before)
    return found
